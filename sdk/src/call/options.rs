//! The options of a call.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::error::ResourceRef;
use crate::journal::{Journal, Reuse};
use crate::types::Usd;

/// The limits of one call, where they differ from those of its client.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) resource: Option<ResourceRef>,
    /// The options of the submit, if the caller set any.
    pub(crate) submit: Option<Box<SubmitOptions>>,
    /// Whether a batch waits until the service has room for the job, in place of retries.
    pub(crate) is_of_batch: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SubmitOptions {
    pub(crate) submission_id: Option<String>,
    pub(crate) reuse: Reuse,
    pub(crate) at_most: Option<Usd>,
    pub(crate) notes: Map<String, Value>,
    pub(crate) is_key_chosen: bool,
    /// Another journal than the client's.
    pub(crate) journal: Option<Journal>,
}
