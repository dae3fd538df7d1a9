//! Formats: reusable agent recipes that are run singly or in bulk queues.

mod create;
mod queue;
mod reference;
mod response_format;

pub use self::create::{Attachment, FormatRunCreate, OnActiveRun, SpendCap};
pub(super) use self::create::{CapAsNumber, validate_spend_cap};
pub use self::queue::{BulkRunCreate, Queue, QueueCounts, QueueItem};
pub use self::reference::FormatRef;
pub use self::response_format::ResponseFormat;
use super::response::response_body;
use super::{FormatId, Timestamp, Usd};

response_body! {
    /// A Format. Its recipe is never returned. The fields other than
    /// `generation_spend_cap_usd_micros` and `io` are assumed.
    pub struct Format {
        /// The Format's identifier.
        required id: FormatId,
        /// The handle of the owner.
        optional handle: String,
        /// The Format's name in URLs.
        optional slug: String,
        /// The display name.
        optional name: String,
        /// A description of what the Format creates.
        optional description: String,
        /// The Format's status, for example `active` or `inactive`.
        optional status: String,
        /// Whether the Format belongs to the first-party catalog.
        optional first_party: bool,
        /// The spend cap of a run, in USD micros.
        optional generation_spend_cap_usd_micros: i64,
        /// The declared inputs and outputs.
        optional io: FormatIo,
        /// When the Format was created.
        optional created_at: Timestamp,
        /// When the Format was last changed.
        optional updated_at: Timestamp,
    }
}

impl Format {
    /// Returns the spend cap of a run that does not set its own.
    #[must_use]
    pub fn generation_spend_cap(&self) -> Option<Usd> {
        self.generation_spend_cap_usd_micros.map(Usd::from_micros)
    }

    /// Returns a reference to the Format: its handle and slug if it has both, or else its id.
    #[must_use]
    pub fn to_ref(&self) -> FormatRef {
        match (&self.handle, &self.slug) {
            (Some(handle), Some(slug)) => FormatRef::slug(handle, slug),
            _ => FormatRef::id(&self.id),
        }
    }
}

response_body! {
    /// The declared inputs and outputs of a Format.
    #[derive(Default)]
    pub struct FormatIo {
        /// The kind of media that the Format creates, for example `image`. Without it, the Format
        /// creates no media.
        optional output_kind: String,
    }
}
