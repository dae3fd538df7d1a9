//! Bulk queues.

use super::resource;
use crate::handle::QueueHandle;
use crate::surface::Developer;
use crate::types::QueueId;

resource! {
    /// Bulk queues of Format runs.
    Queues, /// Bulk queues of Format runs: get a handle of one.
    queues of Developer
}

impl Queues<'_> {
    /// Returns a handle of the queue with that id. Nothing is requested.
    #[must_use]
    pub fn handle(&self, id: impl Into<QueueId>) -> QueueHandle {
        QueueHandle::from_id(self.client, id.into())
    }
}
