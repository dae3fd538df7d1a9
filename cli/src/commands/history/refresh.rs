//! The current status of requests in the journal, read from the service.

use serde::Serialize;
use serde_json::Value;
use svc_sdk::{Client, Developer, Open, Surface};

use crate::args::SurfaceChoice;
use crate::commands::run::kind::by_kind;
use crate::error::Failure;
use crate::join_all::join_all;
use crate::journal::Entry;
use crate::resource::run::{RunKind, kind_of_operation};
use crate::session::{Access, Session};
use crate::types::{Outcome, ResourceId};

/// The number of statuses that are read at the same time.
const MAX_CONCURRENT: usize = 8;

/// An entry of the journal, with its status if the service was asked.
#[derive(Debug, Serialize)]
pub(super) struct ListedEntry {
    #[serde(flatten)]
    pub(super) entry: Entry,
    /// The current status.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Why the status could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl From<Entry> for ListedEntry {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            status: None,
            error: None,
        }
    }
}

impl ListedEntry {
    /// Returns the status, or why it could not be read.
    pub(super) fn status_text(&self) -> String {
        match (&self.status, &self.error) {
            (Some(status), _) => status.clone(),
            (None, Some(error)) => {
                let message = error.get("message").and_then(Value::as_str);
                format!("error: {}", message.unwrap_or_default())
            }
            (None, None) => "-".to_owned(),
        }
    }
}

/// The clients of both surfaces, as far as they are configured and needed.
struct Clients {
    open: Option<Result<Access<Open>, Failure>>,
    developer: Option<Result<Access<Developer>, Failure>>,
}

/// Reads the statuses of entries, a few at a time. The client keeps the rate limit.
pub(super) async fn read_statuses(session: &Session, entries: Vec<Entry>) -> Vec<ListedEntry> {
    let is_on = |surface: SurfaceChoice| {
        let mut unfinished = entries.iter().filter(|entry| needs_request(entry));
        unfinished.any(|entry| entry.intent.surface == surface.as_str())
    };
    let clients = Clients {
        open: is_on(SurfaceChoice::Open).then(|| session.access()),
        developer: is_on(SurfaceChoice::Developer).then(|| session.access()),
    };
    let mut listed = Vec::with_capacity(entries.len());
    let mut entries = entries.into_iter().peekable();
    while entries.peek().is_some() {
        let group = entries.by_ref().take(MAX_CONCURRENT);
        let reads = group.map(|entry| Box::pin(clients.read(entry))).collect();
        listed.extend(join_all(reads).await);
    }
    listed
}

/// Returns whether the status is not known from the outcome, and there is something to ask for.
fn needs_request(entry: &Entry) -> bool {
    entry.resource.is_some() && final_status(entry).is_none()
}

/// Returns the status that the outcome implies, if it cannot change any more.
fn final_status(entry: &Entry) -> Option<&'static str> {
    match entry.outcome {
        Some(
            outcome @ (Outcome::Completed | Outcome::Failed | Outcome::Canceled | Outcome::Skipped),
        ) => Some(outcome.as_str()),
        _ => None,
    }
}

impl Clients {
    async fn read(&self, entry: Entry) -> ListedEntry {
        let known = final_status(&entry).map(str::to_owned);
        let Some(resource) = entry.resource.as_ref().filter(|_| known.is_none()) else {
            return ListedEntry {
                status: known,
                ..entry.into()
            };
        };
        let (status, error) = match self.status(resource, &entry).await {
            Ok(status) => (Some(status), None),
            Err(failure) => (None, failure.to_json().get("error").cloned()),
        };
        ListedEntry {
            entry,
            status,
            error,
        }
    }

    async fn status(&self, resource: &ResourceId, entry: &Entry) -> Result<String, Failure> {
        let is_open = entry.intent.surface == SurfaceChoice::Open.as_str();
        let status = match resource {
            ResourceId::Job(id) if is_open => {
                let client = &access(&self.open, entry)?.client;
                job_status(client, id).await?
            }
            ResourceId::Job(id) => {
                let client = &access(&self.developer, entry)?.client;
                job_status(client, id).await?
            }
            ResourceId::Run(id) => {
                let client = &access(&self.developer, entry)?.client;
                let kind = kind_of_operation(&entry.intent.operation)
                    .ok_or_else(|| Failure::other("the kind of the run is unknown"))?;
                let status = by_kind!(kind, K => K::handle(client, id).status().await)?;
                status.status.map(|it| it.to_string())
            }
            ResourceId::Queue(id) => {
                let client = &access(&self.developer, entry)?.client;
                let queue = client.queues().handle(id.as_str()).get().await?;
                queue.status.map(|it| it.to_string())
            }
            ResourceId::TopUp(id) => {
                let client = &access(&self.open, entry)?.client;
                let top_up = client.top_ups().handle(id.as_str()).get().await?;
                Some(top_up.status.to_string())
            }
        };
        status.ok_or_else(|| Failure::other("the response contains no status"))
    }
}

async fn job_status<S: Surface>(client: &Client<S>, id: &str) -> Result<Option<String>, Failure> {
    let status = client.jobs().handle(id).status().await?.status;
    Ok(status.map(|it| it.to_string()))
}

/// Returns the client for an entry. Its key is sent to the configured URL only.
fn access<'a, S: Surface>(
    access: &'a Option<Result<Access<S>, Failure>>,
    entry: &Entry,
) -> Result<&'a Access<S>, Failure> {
    let url = &entry.intent.base_url;
    match access {
        Some(Ok(access)) if access.base_url == *url => Ok(access),
        Some(Err(failure)) => Err(Failure::new(failure.exit(), failure.headline())),
        _ => Err(Failure::usage(format!(
            "submitted to {url}, which is not the configured URL"
        ))),
    }
}
