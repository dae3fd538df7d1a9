//! Deliberate defects, which prove that the oracles detect what they are for.

use super::oracle::Oracle;

/// Declares the defects, each with the oracle that has to detect it.
macro_rules! defects {
    ($($(#[$doc:meta])+ $name:ident => $oracle:ident,)+) => {
        /// A defect that is injected around the SDK or the mock. Neither crate is changed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Defect {
            $($(#[$doc])+ $name,)+
        }

        impl Defect {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Returns the oracle that has to detect the defect.
            pub fn oracle(self) -> Oracle {
                match self {
                    $(Self::$name => Oracle::$oracle,)+
                }
            }
        }
    };
}

defects! {
    /// Each attempt of a call has an idempotency key of its own.
    NewKeyOnRetry => Once,
    /// Requests carry no idempotency key.
    KeyDropped => Once,
    /// A submit that may have been carried out is sent again, whatever its retry class.
    RetryAfterAmbiguousFailure => Once,
    /// Calls have a time limit ten times as long as the caller set.
    TimeoutIgnored => Timeout,
    /// The client does not see `Retry-After`.
    RetryAfterIgnored => RateLimit,
    /// The client does not see the `ratelimit-*` headers.
    RateLimitIgnored => RateLimit,
    /// Downloads carry the API key.
    CredentialSentToMedia => Credential,
    /// Redirects are followed with the API key.
    CredentialSentOnRedirect => Credential,
    /// The application submits again under another submission id.
    NewIdOnResubmit => Once,
    /// The application settles what is undecided as not carried out, without looking.
    UndecidedTakenAsUnsent => Once,
    /// A request is sent before its intent is durable.
    SentBeforeSync => NothingLost,
    /// The journal begins an intent whatever other generations there are.
    GenerationNotCompared => Once,
    /// The journal records a conflict with an earlier attempt as a refusal.
    ConflictTakenAsRefused => NothingLost,
    /// Each process takes the intents of the others for its own.
    OwnershipIgnored => Once,
    /// A process takes a running process for a dead one, and begins its submission anew.
    TakeoverBeginsAnew => Once,
    /// A process that was stopped between the record of a submit and its first byte sends it when it goes
    /// on, whatever happened meanwhile.
    StopNotNoticed => Once,
    /// What is reserved is compared with the limit before it is written.
    ReservationNotAtomic => Budget,
    /// The age of an idempotency key is counted from its last attempt.
    ExpiryFromLastAttempt => Once,
    /// What has ended stays reserved.
    HoldNotReleased => Budget,
    /// A call of a tool that may have run is sent again without an idempotency key.
    ToolCallRepeated => Once,
    /// The service carries out a repeated submit a second time.
    ReplayExecuted => Once,
    /// The tools document an idempotency key that the service does not recognize.
    ToolKeyIgnored => Once,
    /// A restored service has forgotten its idempotency keys.
    KeysLostOnRestore => Restore,
    /// A service is restored from an older snapshot.
    OldSnapshotRestored => Restore,
    /// A refund is missing in the ledger.
    RefundLost => Ledger,
    /// A job is charged twice.
    DoubleCapture => Ledger,
    /// A charge is a cent too high.
    ChargeRoundedUp => Ledger,
    /// Webhooks are signed with another secret.
    WebhookSignedWrongly => Webhook,
    /// A downloaded file lacks its last byte.
    DownloadCutShort => Download,
}
