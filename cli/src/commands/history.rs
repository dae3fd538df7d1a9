//! `svc history`: the requests in the journal.

use clap::{ArgGroup, Args};
use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::Value;
use svc_sdk::types::IdempotencyKey;
use svc_sdk::{Client, ClientSurface, Developer, Open};

use crate::args::{PageArgs, RunKindChoice, SurfaceChoice, headings};
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::follow::run::by_kind;
use crate::follow::{ResourceKind, resource_id};
use crate::journal::Entry;
use crate::listing;
use crate::output::json::to_value;
use crate::output::layout::{cut, number, required, status, time, whole};
use crate::output::object::Shown;
use crate::output::values::{ago, optional_money};
use crate::output::{ObjectKind, Table};
use crate::resource::{Outcome, ResourceId, noun_of_id};
use crate::session::{Access, EMPTY_SANDBOX, Session};
use crate::text::sanitize;

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("settled").args(["ran", "not_run"])))]
pub(crate) struct History {
    /// Only requests whose outcome is unknown: no response was received, or the wait was interrupted
    #[arg(long, alias = "open", help_heading = headings::FILTERS)]
    unfinished: bool,
    /// Ask the service for the current status of each listed job, run, queue and top-up
    #[arg(long, help_heading = headings::FILTERS)]
    refresh: bool,
    /// Record what became of the request of unknown outcome with this idempotency key
    #[arg(long, value_name = "KEY", conflicts_with_all = ["unfinished", "refresh"], requires = "settled", help_heading = headings::REPETITION)]
    settle: Option<IdempotencyKey>,
    /// With --settle: it made this job, run, queue or top-up, which the same command resumes
    #[arg(long, value_name = "ID", requires = "settle", help_heading = headings::REPETITION)]
    ran: Option<String>,
    /// With --settle: nothing ran, and the same command submits a new one
    #[arg(long, requires = "settle", help_heading = headings::REPETITION)]
    not_run: bool,
    #[command(flatten)]
    page: PageArgs,
}

pub(crate) async fn run(session: &Session, args: &History) -> Result {
    if let Some(key) = &args.settle {
        settle(session, key, args.ran.as_deref()).await?;
    }
    let mut entries = session.submitted().await?;
    entries.retain(|entry| !args.unfinished || entry.outcome.is_none());
    entries.retain(|entry| args.settle.as_ref().is_none_or(|key| entry.idempotency_key == *key));
    if print(session, entries, &args.page, args.refresh, "requests").await? == 0 {
        let status = session.command(&["batch", "status", "MANIFEST"]);
        session.printer.note(&match session.is_sandbox() {
            true => EMPTY_SANDBOX.to_owned(),
            false => format!("batches have a journal of their own: {status}"),
        });
    }
    Ok(())
}

async fn settle(session: &Session, key: &IdempotencyKey, ran: Option<&str>) -> Result {
    let entries = session.submitted().await?;
    let unknown = |entry: &Entry| entry.outcome.is_none() && entry.resource.is_none();
    let entry = entries.into_iter().find(|it| it.idempotency_key == *key && unknown(it));
    let entry = entry.ok_or_else(|| {
        let why = format!("no request of unknown outcome has the idempotency key {key}");
        Failure::new(Exit::NotFound, why)
            .hint(Suggestion::from("list those requests: ").svc(["history", "--unfinished"]))
    })?;
    let made = ran.map(|id| resource_id(kind_of(&entry.operation), id.to_owned()));
    if let Some(made) = &made
        && let Some(other) = noun_of_id(made.id()).filter(|noun| *noun != made.noun())
    {
        let (id, noun) = (made.id(), made.noun());
        let why = format!("{id} is the id of a {other}: expected that of a {noun}");
        return Err(Failure::usage(why));
    }
    if let Some(made) = &made {
        check_exists(session, made, &entry).await?;
    }
    session.settle(&entry, made.as_ref()).await
}

/// Checks that the configured service knows what a request made, if the request was sent to that one.
async fn check_exists(session: &Session, made: &ResourceId, entry: &Entry) -> Result {
    let mut surfaces = SurfaceChoice::ALL.into_iter();
    let surface = surfaces.find(|surface| entry.surface == surface.as_str());
    let url = surface.and_then(|surface| session.base_url(surface).ok());
    if url.as_ref() != Some(&entry.base_url) {
        return Ok(());
    }
    match StatusClients::of(session, |it| Some(it) == surface).status(made, entry).await {
        Err(failure) if failure.exit() == Exit::NotFound => {
            let (noun, id) = (made.noun(), made.id());
            Err(failure.context(format!("nothing was recorded of {noun} {id}")))
        }
        Err(failure) => {
            let why = failure.headline();
            session.printer.warn(&format!("cannot check whether {} exists: {why}", made.id()));
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

pub(crate) async fn print(
    session: &Session,
    entries: Vec<Entry>,
    page: &PageArgs,
    refresh: bool,
    nouns: &str,
) -> Result<usize> {
    let (entries, rest) = listing::select(entries, page, page.max_items(), |entry| &entry.id)?;
    let entries = match refresh {
        true => read_statuses(session, entries).await,
        false => {
            let mut seen = session.seen_statuses();
            let listed = entries.into_iter().map(|entry| {
                let status = entry.resource.as_ref().and_then(|id| seen.remove(id.id()));
                ListedEntry { status, ..entry.into() }
            });
            listed.collect()
        }
    };
    let printer = &session.printer;
    if !(entries.is_empty() && printer.is_table()) {
        let shown: Vec<_> = entries.iter().map(ListedEntry::shown).collect();
        printer.print_list(&shown, |_| table(&entries))?;
    }
    rest.report(printer, entries.len(), nouns);
    Ok(entries.len())
}

fn table(entries: &[ListedEntry]) -> Table {
    let mut table = Table::new([
        required("id"),
        status("status"),
        time("created"),
        number("price").optional(),
        cut("label").optional(),
        cut("summary"),
        whole("idempotency_key").optional(),
    ]);
    for listed in entries {
        let entry = &listed.entry;
        let id = entry.resource.as_ref().map_or("-", ResourceId::id);
        let when = ago(entry.created_at.as_second());
        let price = optional_money(entry.price_usd);
        let label = entry.label.as_deref().unwrap_or_default();
        let summary = &entry.summary;
        // The key stands for what has no id.
        let key = entry.resource.as_ref().map_or(entry.idempotency_key.as_str(), |_| "");
        table.row([id, &listed.status_text(), &when, &price, label, summary, key]);
    }
    table
}

const MAX_CONCURRENT: usize = 8;

#[derive(Debug, Serialize)]
struct ListedEntry {
    #[serde(flatten)]
    entry: Entry,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl From<Entry> for ListedEntry {
    fn from(entry: Entry) -> Self {
        Self { entry, status: None, error: None }
    }
}

impl ListedEntry {
    fn shown(&self) -> Shown {
        let kind = self.entry.resource.as_ref().map(ResourceId::kind);
        let kind = kind.unwrap_or_else(|| kind_of(&self.entry.operation));
        let mut fields = to_value(self).unwrap_or_default();
        if let Some(fields) = fields.as_object_mut() {
            let entry = fields.remove("id").unwrap_or_default();
            fields.insert("entry".to_owned(), entry);
            if fields.get("outcome").is_none_or(Value::is_null) {
                fields.insert("outcome".to_owned(), "unknown".into());
            }
            let status = fields.remove("status").unwrap_or_default();
            let seen = final_status(&self.entry).map(Value::from);
            fields.insert("status".to_owned(), seen.unwrap_or(status));
        }
        Shown::new(kind, &fields)
    }

    /// Returns the final or the last known status, or why it could not be read.
    fn status_text(&self) -> String {
        let known = final_status(&self.entry).or(self.status.as_deref());
        match (known, &self.error, self.entry.outcome) {
            (Some(status), ..) => status.to_owned(),
            (None, Some(error), _) => {
                let message = error.get("message").and_then(Value::as_str);
                format!("error: {}", message.unwrap_or_default())
            }
            (None, None, Some(outcome)) => outcome.as_str().to_owned(),
            (None, None, None) if self.entry.resource.is_some() => "submitted".to_owned(),
            (None, None, None) => "unknown".to_owned(),
        }
    }
}

fn kind_of(operation: &str) -> ObjectKind {
    match operation {
        "top_ups_create" => ObjectKind::TopUp,
        "formats_bulk_create" | "formats_by_slug_bulk_create" => ObjectKind::Queue,
        other if RunKindChoice::of_operation(other).is_some() => ObjectKind::Run,
        _ => ObjectKind::Job,
    }
}

struct StatusClients {
    open: Option<Result<Access<Open>>>,
    developer: Option<Result<Access<Developer>>>,
}

async fn read_statuses(session: &Session, entries: Vec<Entry>) -> Vec<ListedEntry> {
    let is_on = |surface: SurfaceChoice| {
        let mut unfinished = entries.iter().filter(|entry| needs_request(entry));
        unfinished.any(|entry| entry.surface == surface.as_str())
    };
    let clients = StatusClients::of(session, is_on);
    let reads = stream::iter(entries).map(|entry| Box::pin(clients.read(entry)));
    let listed: Vec<_> = reads.buffered(MAX_CONCURRENT).collect().await;
    for listed in &listed {
        if let (Some(id), Some(status)) = (&listed.entry.resource, &listed.status) {
            session.printer.see(id.id(), status);
        }
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

impl StatusClients {
    /// Returns the clients of the surfaces that are needed.
    fn of(session: &Session, is_needed: impl Fn(SurfaceChoice) -> bool) -> Self {
        Self {
            open: is_needed(SurfaceChoice::Open).then(|| session.access()),
            developer: is_needed(SurfaceChoice::Developer).then(|| session.access()),
        }
    }

    async fn read(&self, entry: Entry) -> ListedEntry {
        let known = final_status(&entry).map(str::to_owned);
        let Some(resource) = entry.resource.as_ref().filter(|_| known.is_none()) else {
            return ListedEntry { status: known, ..entry.into() };
        };
        let (status, error) = match self.status(resource, &entry).await {
            Ok(status) => (Some(status), None),
            Err(failure) => (None, failure.to_json().get("error").cloned()),
        };
        ListedEntry { entry, status, error }
    }

    async fn status(&self, resource: &ResourceId, entry: &Entry) -> Result<String> {
        let is_open = entry.surface == SurfaceChoice::Open.as_str();
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
                let kind = RunKindChoice::of_operation(&entry.operation)
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

async fn job_status<S: ClientSurface>(client: &Client<S>, id: &str) -> Result<Option<String>> {
    let status = client.jobs().handle(id).status().await?.status;
    Ok(status.map(|it| it.to_string()))
}

/// Returns the client for an entry. Its key is sent to the configured URL only.
fn access<'a, S: ClientSurface>(
    access: &'a Option<Result<Access<S>>>,
    entry: &Entry,
) -> Result<&'a Access<S>> {
    let url = &entry.base_url;
    match access {
        Some(Ok(access)) if access.base_url == *url => Ok(access),
        Some(Err(failure)) => Err(Failure::new(failure.exit(), failure.headline())),
        _ => Err(Failure::usage(format!("submitted to {url}, which is not the configured URL"))),
    }
}

/// Returns the newest submit to the configured service of a resource that matches, with its id.
pub(crate) async fn newest_entry(
    session: &Session,
    kind: ObjectKind,
    is_match: impl Fn(&Entry) -> bool,
) -> Result<(ResourceId, Entry)> {
    let noun = kind.noun();
    if session.is_sandbox() {
        let why = format!("the sandbox has no {noun} of an earlier command");
        return Err(Failure::new(Exit::NotFound, why).hint(EMPTY_SANDBOX));
    }
    let entries = session.submitted().await?;
    let settings = session.settings()?;
    let is_configured = |entry: &Entry| {
        let surfaces = SurfaceChoice::ALL;
        let mut urls = surfaces.into_iter().filter_map(|surface| settings.url_of(surface));
        urls.any(|url| url.value == entry.base_url)
    };
    if settings.url_of(SurfaceChoice::Developer).is_none() {
        settings.require_url(SurfaceChoice::Open)?;
    }
    let newest = entries.into_iter().find_map(|entry| {
        let id = entry.resource.clone().filter(|id| id.kind() == kind)?;
        (is_match(&entry) && is_configured(&entry)).then_some((id, entry))
    });
    let (id, entry) = newest.ok_or_else(|| {
        let why = format!("this machine has not submitted a {noun} to the configured service");
        Failure::new(Exit::NotFound, why).hint(format!("pass the id of a {noun}"))
    })?;
    let (shown, summary) = (sanitize(id.id()), sanitize(&entry.summary));
    let when = ago(entry.created_at.as_second());
    session.printer.note(&format!("Using {shown} ({summary}, submitted {when})"));
    Ok((id, entry))
}
