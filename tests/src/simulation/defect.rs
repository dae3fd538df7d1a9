//! Deliberate defects, which prove that the oracles detect what they are for.

use super::oracle::Oracle;

/// A defect that is injected around the SDK or the mock. Neither crate is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Each attempt of a call has an idempotency key of its own.
    NewKeyOnRetry,
    /// Requests carry no idempotency key.
    KeyDropped,
    /// A submit that may have been carried out is sent again, whatever its retry class.
    RetryAfterAmbiguousFailure,
    /// Calls have a time limit ten times as long as the caller set.
    TimeoutIgnored,
    /// The client does not see `Retry-After`.
    RetryAfterIgnored,
    /// The client does not see the `ratelimit-*` headers.
    RateLimitIgnored,
    /// Downloads carry the API key.
    CredentialSentToMedia,
    /// Redirects are followed with the API key.
    CredentialSentOnRedirect,
    /// The application submits again under another submission id.
    NewIdOnResubmit,
    /// The application settles what is undecided as not carried out, without looking.
    UndecidedTakenAsUnsent,
    /// A request is sent before its intent is durable.
    SentBeforeSync,
    /// The journal begins an intent whatever other generations there are.
    GenerationNotCompared,
    /// The journal records a conflict with an earlier attempt as a refusal.
    ConflictTakenAsRefused,
    /// Each process takes the intents of the others for its own.
    OwnershipIgnored,
    /// What is reserved is compared with the limit before it is written.
    ReservationNotAtomic,
    /// The age of an idempotency key is counted from its last attempt.
    ExpiryFromLastAttempt,
    /// What has ended stays reserved.
    HoldNotReleased,
    /// A call of a tool that may have run is sent again without an idempotency key.
    ToolCallRepeated,
    /// The service carries out a repeated submit a second time.
    ReplayExecuted,
    /// The tools document an idempotency key that the service does not recognize.
    ToolKeyIgnored,
    /// A restored service has forgotten its idempotency keys.
    KeysLostOnRestore,
    /// A service is restored from an older snapshot.
    OldSnapshotRestored,
    /// A refund is missing in the ledger.
    RefundLost,
    /// A job is charged twice.
    DoubleCapture,
    /// A charge is a cent too high.
    ChargeRoundedUp,
    /// Webhooks are signed with another secret.
    WebhookSignedWrongly,
    /// A downloaded file lacks its last byte.
    DownloadCutShort,
}

impl Defect {
    /// All defects.
    pub const ALL: [Self; 27] = [
        Self::NewKeyOnRetry,
        Self::KeyDropped,
        Self::RetryAfterAmbiguousFailure,
        Self::TimeoutIgnored,
        Self::RetryAfterIgnored,
        Self::RateLimitIgnored,
        Self::CredentialSentToMedia,
        Self::CredentialSentOnRedirect,
        Self::NewIdOnResubmit,
        Self::UndecidedTakenAsUnsent,
        Self::SentBeforeSync,
        Self::GenerationNotCompared,
        Self::ConflictTakenAsRefused,
        Self::OwnershipIgnored,
        Self::ReservationNotAtomic,
        Self::ExpiryFromLastAttempt,
        Self::HoldNotReleased,
        Self::ToolCallRepeated,
        Self::ReplayExecuted,
        Self::ToolKeyIgnored,
        Self::KeysLostOnRestore,
        Self::OldSnapshotRestored,
        Self::RefundLost,
        Self::DoubleCapture,
        Self::ChargeRoundedUp,
        Self::WebhookSignedWrongly,
        Self::DownloadCutShort,
    ];

    /// Returns the oracle that has to detect the defect.
    pub fn oracle(self) -> Oracle {
        match self {
            Self::NewKeyOnRetry
            | Self::KeyDropped
            | Self::RetryAfterAmbiguousFailure
            | Self::NewIdOnResubmit
            | Self::UndecidedTakenAsUnsent
            | Self::GenerationNotCompared
            | Self::OwnershipIgnored
            | Self::ExpiryFromLastAttempt
            | Self::ToolCallRepeated
            | Self::ReplayExecuted
            | Self::ToolKeyIgnored => Oracle::Once,
            Self::TimeoutIgnored => Oracle::Timeout,
            Self::RetryAfterIgnored | Self::RateLimitIgnored => Oracle::RateLimit,
            Self::CredentialSentToMedia | Self::CredentialSentOnRedirect => Oracle::Credential,
            Self::SentBeforeSync | Self::ConflictTakenAsRefused => Oracle::NothingLost,
            Self::ReservationNotAtomic | Self::HoldNotReleased => Oracle::Budget,
            Self::KeysLostOnRestore | Self::OldSnapshotRestored => Oracle::Restore,
            Self::RefundLost | Self::DoubleCapture | Self::ChargeRoundedUp => Oracle::Ledger,
            Self::WebhookSignedWrongly => Oracle::Webhook,
            Self::DownloadCutShort => Oracle::Download,
        }
    }
}
