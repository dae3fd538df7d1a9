//! Paid requests, as recorded by the journal.

use serde_json::{Map, Value};
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::handle::{self, Handle};
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Call, Client, ClientSurface};

use crate::args::SurfaceChoice;
use crate::error::{Failure, Result};
use crate::journal::{LABEL, RequestHash, SOURCE, label, notes, prompt_of};
use crate::request::SubmitRequest;
use crate::session::{Access, surface_choice};

#[derive(Clone, Copy, Debug)]
pub(crate) struct PaidRequest<'a> {
    pub(crate) surface: SurfaceChoice,
    pub(crate) base_url: &'a str,
    pub(crate) key_fingerprint: &'a str,
    pub(crate) request: &'a SubmitRequest,
    pub(crate) chosen_key: Option<&'a IdempotencyKey>,
    pub(crate) max_price: Option<Usd>,
    /// Whether the service guarantees that requests with the same key are charged once.
    pub(crate) is_idempotent: bool,
    pub(crate) source: Option<&'a Value>,
    pub(crate) keeps_labels: bool,
}

impl<'a> PaidRequest<'a> {
    pub(crate) fn new<S: ClientSurface>(access: &'a Access<S>, request: &'a SubmitRequest) -> Self {
        Self {
            surface: surface_choice::<S>(),
            base_url: &access.base_url,
            key_fingerprint: &access.key_fingerprint,
            request,
            chosen_key: None,
            max_price: None,
            is_idempotent: request.operation.retry() == RetryClass::Key,
            source: None,
            keeps_labels: access.keeps_labels,
        }
    }

    pub(super) fn hash(&self) -> RequestHash {
        self.hash_at(self.base_url, self.key_fingerprint)
    }

    /// Returns the hash that the request has at another URL, with another API key.
    pub(super) fn hash_at(&self, base_url: &str, key_fingerprint: &str) -> RequestHash {
        RequestHash::new(
            base_url,
            key_fingerprint,
            self.request.operation,
            &self.request.segments,
            &Value::Object(self.request.body.clone()),
            self.chosen_key,
        )
    }

    /// Returns what the journal notes of it before it is sent.
    pub(super) fn notes(&self, price: Option<Usd>) -> Map<String, Value> {
        let (surface, summary) = (self.surface.as_str(), summary(self.request));
        let mut notes = notes(surface, self.base_url, &summary, price, self.max_price);
        let label = prompt_of(&self.request.body).filter(|_| self.keeps_labels).and_then(label);
        notes.extend(label.map(|label| (LABEL.to_owned(), label.into())));
        notes.extend(self.source.map(|source| (SOURCE.to_owned(), source.clone())));
        notes
    }
}

/// Returns the call that submits a request, with the given key or a new one.
pub(crate) fn prepare<R: handle::Resource>(
    client: &Client<R::Surface>,
    request: &SubmitRequest,
    key: Option<IdempotencyKey>,
) -> Result<(Call<Handle<R>>, IdempotencyKey)> {
    let body = Value::Object(request.body.clone());
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    let mut submit = client.submit_json::<R>(request.operation, &segments, &body);
    if let Some(key) = key {
        submit = submit.idempotency_key(key);
    }
    let request = submit.request();
    let request = request.map_err(|error| Failure::usage(error.to_string()))?;
    match request.idempotency_key.clone() {
        Some(key) => Ok((submit, key)),
        None => Err(Failure::usage("the request has no idempotency key")),
    }
}

/// Describes a request without its texts.
fn summary(request: &SubmitRequest) -> String {
    let mut parts = vec![request.noun.to_owned()];
    let name = request.operation.name();
    if request.operation == Operation::Mcp
        || name.starts_with("formats_")
        || name.starts_with("actions_")
    {
        parts.push(request.segments.join("/"));
    }
    for name in ["model", "duration", "resolution", "aspect_ratio", "num_images"] {
        match request.body.get(name) {
            Some(Value::String(text)) => parts.push(format!("{name} {text}")),
            Some(Value::Number(number)) => parts.push(format!("{name} {number}")),
            _ => {}
        }
    }
    parts.join(", ")
}
