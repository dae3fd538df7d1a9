//! Music.

use std::borrow::Borrow;

use super::resource;
use crate::call::Call;
use crate::contract::{Operation, idempotency_text};
use crate::handle::JobHandle;
use crate::surface::Developer;
use crate::types::Music1Generate;

resource! {
    /// The music that the service generates.
    Music, /// Music: generate it.
    music of Developer
}

impl Music<'_> {
    /// Submits a music job: `POST /v1/music-1.0/generate`.
    ///
    /// # Idempotency
    ///
    #[doc = idempotency_text!(Undocumented)]
    pub fn generate(&self, body: impl Borrow<Music1Generate>) -> Call<JobHandle<Developer>> {
        Call::submit(&self.client.core, Operation::Music1Generate, &[]).json(body.borrow())
    }
}
