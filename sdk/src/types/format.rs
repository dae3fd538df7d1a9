//! Formats: reusable agent recipes, run singly or in bulk queues.

mod create;
mod queue;
mod reference;

pub use self::create::{Attachment, FormatRunCreate, OnActiveRun};
pub(super) use self::create::{cap_in_dollars, spend_cap};
pub use self::queue::{BulkRunCreate, Queue, QueueCounts, QueueItem};
pub use self::reference::FormatRef;
use super::received::received;
use super::{FormatId, Usd};

received! {
    /// A Format. Its recipe is never told. The fields but `generation_spend_cap_usd_micros` and `io`
    /// are assumed.
    pub struct Format (
        /// Identifies the Format.
        id: FormatId,
    ) {
        /// Whose it is: with the slug, its other address.
        handle: maybe String,
        /// Its name in URLs.
        slug: maybe String,
        /// Its name.
        name: maybe String,
        /// What it makes.
        description: maybe String,
        /// Such as `active` or `inactive`.
        status: maybe String,
        /// Whether it belongs to the service's own catalog.
        first_party: maybe bool,
        /// What a run may spend, in USD micros.
        generation_spend_cap_usd_micros: maybe i64,
        /// What goes in and comes out.
        io: maybe FormatIo,
        /// When it was created (RFC 3339).
        created_at: maybe String,
        /// When it last changed (RFC 3339).
        updated_at: maybe String,
    }
}

impl Format {
    /// What a run may spend, unless it brings a cap of its own.
    #[must_use]
    pub fn generation_spend_cap(&self) -> Option<Usd> {
        self.generation_spend_cap_usd_micros.map(Usd::from_micros)
    }

    /// How the Format is addressed: by handle and slug where it has them, else by its id.
    #[must_use]
    pub fn reference(&self) -> FormatRef {
        match (&self.handle, &self.slug) {
            (Some(handle), Some(slug)) => FormatRef::slug(handle, slug),
            _ => FormatRef::id(&self.id),
        }
    }
}

received! {
    /// What goes into a Format and comes out of it.
    #[derive(Default)]
    pub struct FormatIo () {
        /// The media that it delivers, such as `image`; none where it delivers no media.
        output_kind: maybe String,
    }
}
