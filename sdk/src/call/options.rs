//! The options of a call, and the functions that handle its result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::core::Core;
use super::raw_response::RawResponse;
use super::request::Request;
use crate::error::{ResourceRef, Result};
use crate::journal::{ActiveIntent, Journal, Receipt, ResourceKind, Reuse};
use crate::types::Usd;

/// The limits of one call, where they differ from those of its client.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_retries: Option<u32>,
    /// The resource that the call is about.
    pub(crate) resource: Option<ResourceRef>,
    /// The options of the submit, if the caller set any.
    pub(crate) submit: Option<Box<SubmitOptions>>,
    /// Whether a batch waits until the service has room for the job, in place of retries.
    pub(crate) is_of_batch: bool,
}

/// What a decoder needs to know of the call that it decodes the response of.
pub(crate) struct DecodeContext<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) request: &'a Request,
}

pub(crate) type Decoder<T> = fn(&DecodeContext<'_>, &RawResponse) -> Result<T>;

/// The functions with which a journal handles the result of a submit.
pub(crate) struct SubmitFunctions<T> {
    pub(crate) kind: ResourceKind,
    /// Returns what the service accepted.
    pub(crate) receipt: fn(&T) -> Receipt,
    /// Keeps the intent, so that the outcome can be recorded.
    pub(crate) attach: fn(&mut T, Arc<ActiveIntent>),
    /// Returns what was accepted before, from its id.
    pub(crate) restore: fn(&Arc<Core>, String, Arc<ActiveIntent>) -> T,
}

impl<T> Clone for SubmitFunctions<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SubmitFunctions<T> {}

/// The options of a submit.
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
