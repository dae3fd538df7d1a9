//! What must hold of every simulation, and deliberate defects, which prove that it is checked.

use std::fmt;

/// Declares an enum, the list of its variants, and a function that returns a value of each.
macro_rules! listed {
    (
        $(#[$of_enum:meta])+
        pub enum $enum:ident, $function:ident -> $value:ty {
            $($(#[$doc:meta])+ $variant:ident => $is:expr,)+
        }
    ) => {
        $(#[$of_enum])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $enum {
            $($(#[$doc])+ $variant,)+
        }

        impl $enum {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub const fn $function(self) -> $value {
                match self {
                    $(Self::$variant => $is,)+
                }
            }
        }
    };
}

listed! {
    /// A property that must hold at all times, and its name in reports.
    pub enum Oracle, name -> &'static str {
        /// The ledger of each workspace adds up.
        Ledger => "ledger",
        /// Nothing is carried out twice, and nothing is sent twice that must not be.
        Once => "once",
        /// Each call ends by its time limit.
        Timeout => "timeout",
        /// What was paid for has its id or its key in a journal.
        NothingLost => "nothing_lost",
        /// Spend limits are kept, and what they hold adds up.
        Budget => "budget",
        /// No credential leaves its origin.
        Credential => "credential",
        /// A client alone on its key meets no 429, and waits as long as the service asks.
        RateLimit => "rate_limit",
        /// A restored service answers as the original.
        Restore => "restore",
        /// Webhooks are signed with the workspace's secret.
        Webhook => "webhook",
        /// A downloaded file is the artifact.
        Download => "download",
    }
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

listed! {
    /// A defect that is injected around the SDK or the mock, and the oracle that has to detect it. Neither
    /// crate is changed.
    pub enum Defect, oracle -> Oracle {
        /// Each attempt of a call has an idempotency key of its own.
        NewKeyOnRetry => Oracle::Once,
        /// Requests carry no idempotency key.
        KeyDropped => Oracle::Once,
        /// A submit that may have been carried out is sent again, whatever its retry class.
        RetryAfterAmbiguousFailure => Oracle::Once,
        /// Calls have a time limit ten times as long as the caller set.
        TimeoutIgnored => Oracle::Timeout,
        /// The client does not see `Retry-After`.
        RetryAfterIgnored => Oracle::RateLimit,
        /// The client does not see the `ratelimit-*` headers.
        RateLimitIgnored => Oracle::RateLimit,
        /// Downloads carry the API key.
        CredentialSentToMedia => Oracle::Credential,
        /// Redirects are followed with the API key.
        CredentialSentOnRedirect => Oracle::Credential,
        /// The application submits again under another submission id.
        NewIdOnResubmit => Oracle::Once,
        /// The application settles what is undecided as not carried out, without looking.
        UndecidedTakenAsUnsent => Oracle::Once,
        /// A request is sent before its intent is durable.
        SentBeforeSync => Oracle::NothingLost,
        /// The journal begins an intent whatever other generations there are.
        GenerationNotCompared => Oracle::Once,
        /// The journal records a conflict with an earlier attempt as a refusal.
        ConflictTakenAsRefused => Oracle::NothingLost,
        /// Each process takes the intents of the others for its own.
        OwnershipIgnored => Oracle::Once,
        /// A process takes a running process for a dead one, and begins its submission anew.
        TakeoverBeginsAnew => Oracle::Once,
        /// A process that was stopped between the record of a submit and its first byte sends it when it goes
        /// on, whatever happened meanwhile.
        StopNotNoticed => Oracle::Once,
        /// What is reserved is compared with the limit before it is written.
        ReservationNotAtomic => Oracle::Budget,
        /// The age of an idempotency key is counted from its last attempt.
        ExpiryFromLastAttempt => Oracle::Once,
        /// What has ended stays reserved.
        HoldNotReleased => Oracle::Budget,
        /// A call of a tool that may have run is sent again without an idempotency key.
        ToolCallRepeated => Oracle::Once,
        /// The service carries out a repeated submit a second time.
        ReplayExecuted => Oracle::Once,
        /// The tools document an idempotency key that the service does not recognize.
        ToolKeyIgnored => Oracle::Once,
        /// A restored service has forgotten its idempotency keys.
        KeysLostOnRestore => Oracle::Restore,
        /// A service is restored from an older snapshot.
        OldSnapshotRestored => Oracle::Restore,
        /// A refund is missing in the ledger.
        RefundLost => Oracle::Ledger,
        /// A job is charged twice.
        DoubleCapture => Oracle::Ledger,
        /// A charge is a cent too high.
        ChargeRoundedUp => Oracle::Ledger,
        /// Webhooks are signed with another secret.
        WebhookSignedWrongly => Oracle::Webhook,
        /// A downloaded file lacks its last byte.
        DownloadCutShort => Oracle::Download,
    }
}
