//! What was submitted, followed to its result: jobs, runs and bulk queues.
//!
//! `submit` and `wait` handle all three alike. The [`ResourceKind`] trait has what differs: the price,
//! the status, the result, and the commands that resume. `watch` shows jobs as they change.

pub(crate) mod job;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod wait;
pub(crate) mod watch;

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use serde::Serialize;
use serde_json::{Map, Value};
use svc_sdk::download::{Download, DownloadProgress};
use svc_sdk::handle::{self, Handle};
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Client, Update, Updates};

use crate::args::{ReceiptArgs, SurfaceChoice};
use crate::download::{DownloadPlan, StoredFile};
use crate::error::{Failure, Result, SuggestedCommand};
use crate::output::json::to_value;
use crate::output::layout::{cut, number, required, status};
use crate::output::object::Shown;
use crate::output::values::optional_money;
use crate::output::{ObjectKind, ProgressLine, Table};
use crate::request::SubmitRequest;
use crate::request::pricing::Price;
use crate::resource::ResourceId;
use crate::session::Session;

pub(crate) type OnProgress = Arc<dyn Fn(DownloadProgress) + Send + Sync>;

pub(crate) trait ResourceKind: handle::Resource {
    type Finished;

    const KIND: ObjectKind;
    const NOUN: &'static str;
    const VERB: &'static str;

    fn handle(client: &Client<Self::Surface>, id: &str) -> Handle<Self>;

    fn resource_id(handle: &Handle<Self>) -> ResourceId {
        resource_id(Self::KIND, handle.id().to_string())
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str>;

    fn charge(_: &Handle<Self>) -> Option<Usd> {
        None
    }

    async fn price(client: &Client<Self::Surface>, request: &SubmitRequest) -> Result<Price>;

    fn items(_: &SubmitRequest) -> Option<&[Value]> {
        None
    }

    fn list_command(session: &Session, request: &SubmitRequest) -> SuggestedCommand;

    /// Returns a command that resumes work, with the words after the program's name.
    fn resume_command(session: &Session, words: &[String]) -> SuggestedCommand {
        session.resume_command(SurfaceChoice::Developer, words)
    }

    /// Returns the flag and the value without which a command would have to find out its kind.
    fn kind_flag() -> Vec<String> {
        Vec::new()
    }

    /// Returns the command that waits for it, and downloads its files if there is a plan for that.
    fn wait_command(
        handle: &Handle<Self>,
        session: &Session,
        download: Option<&DownloadPlan>,
    ) -> SuggestedCommand {
        let words = command_words(handle, "wait");
        let words = with_download_flags(&words, "--download", download);
        Self::resume_command(session, &words)
    }

    fn download_command(
        handle: &Handle<Self>,
        session: &Session,
        plan: &DownloadPlan,
    ) -> SuggestedCommand {
        let words = command_words(handle, "download");
        let words = with_download_flags(&words, "--dir", Some(plan));
        Self::resume_command(session, &words)
    }

    /// Returns the numbers of the items of a queue in the file that it was made from, if they are known.
    async fn item_numbers(_: &Handle<Self>, _: &Session) -> Vec<u64> {
        Vec::new()
    }

    fn show_status(live: &ProgressLine<'_>, update: &Update<Self::Status>, numbers: &[u64]);

    async fn result(
        handle: &Handle<Self>,
        updates: Updates<Self>,
        numbers: &[u64],
    ) -> Result<Self::Finished>;

    /// A failure becomes part of the result, so that both can be printed.
    async fn download(
        handle: &Handle<Self>,
        session: &Session,
        finished: &mut Self::Finished,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    );

    fn set_reused(_: &mut Self::Finished) {}

    async fn stop(handle: &Handle<Self>) -> Result<Stopped, svc_sdk::Error>;

    /// Fails for a resource that did not complete, and for files that are missing.
    fn print_result(
        handle: &Handle<Self>,
        session: &Session,
        finished: Self::Finished,
        receipt_mode: ReceiptArgs,
    ) -> Result;

    /// Returns what was submitted, as JSON and as a table, without waiting for it.
    async fn receipt(handle: &Handle<Self>) -> Result<(Value, Table), svc_sdk::Error>;
}

pub(crate) trait WaitTogether: ResourceKind {
    /// Returns what is printed of one of several, and the failure of one that did not complete.
    fn report(
        handle: &Handle<Self>,
        session: &Session,
        finished: Self::Finished,
    ) -> (Shown, Option<Failure>);
}

pub(crate) fn resource_id(kind: ObjectKind, id: String) -> ResourceId {
    match kind {
        ObjectKind::Job => ResourceId::Job(id),
        ObjectKind::Run => ResourceId::Run(id),
        ObjectKind::Queue => ResourceId::Queue(id),
        ObjectKind::TopUp => ResourceId::TopUp(id),
    }
}

#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) description: String,
    /// Whether the resource, or a part of it, is canceled. Then the outcome is known.
    pub(crate) is_canceled: bool,
}

fn command_words<R: ResourceKind>(handle: &Handle<R>, verb: &str) -> Vec<String> {
    let id = R::resource_id(handle);
    let words = [R::NOUN, verb, id.id()].map(str::to_owned);
    words.into_iter().chain(R::kind_flag()).collect()
}

/// Adds the flags that download to the words of a command, if there is a plan for that.
pub(crate) fn with_download_flags(
    words: &[impl AsRef<str>],
    folder_flag: &str,
    plan: Option<&DownloadPlan>,
) -> Vec<String> {
    let flags = plan.map(|plan| plan.flags(folder_flag));
    let words = words.iter().map(|word| word.as_ref().to_owned());
    words.chain(flags.into_iter().flatten()).collect()
}

pub(crate) fn with_retry_command<R: ResourceKind>(
    failure: Failure,
    handle: &Handle<R>,
    session: &Session,
    plan: &DownloadPlan,
) -> Failure {
    let failure = failure.for_resource(R::resource_id(handle));
    // The sandbox ends with the process, so nothing can be downloaded later.
    if session.is_sandbox() {
        return failure;
    }
    failure.with_resume(R::download_command(handle, session, plan))
}

#[derive(Debug, Serialize)]
pub(crate) struct ResultWithFiles<T> {
    #[serde(flatten)]
    pub(crate) result: T,
    #[serde(flatten)]
    pub(crate) created: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<IdempotencyKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<Vec<StoredFile>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) reused: bool,
    #[serde(skip)]
    pub(crate) failure: Option<Failure>,
}

impl<T> ResultWithFiles<T> {
    pub(crate) fn new(result: T) -> Self {
        Self {
            result,
            created: Map::new(),
            idempotency_key: None,
            price_usd: None,
            files: None,
            reused: false,
            failure: None,
        }
    }

    fn of<R: handle::Resource>(handle: &Handle<R>, result: T) -> Self {
        let idempotency_key = handle.idempotency_key().cloned();
        Self { idempotency_key, ..Self::new(result) }
    }

    /// Downloads the files as planned, and adds them.
    async fn download<R: ResourceKind>(
        &mut self,
        download: Download,
        handle: &Handle<R>,
        session: &Session,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    ) {
        let download = download.on_progress(move |progress| on_progress(progress));
        let files = plan.configure(0, 1, download).await;
        let delivery = plan.deliver(session, files).await;
        self.files = delivery.files;
        self.failure =
            delivery.failure.map(|failure| with_retry_command(failure, handle, session, plan));
    }
}

/// The number of requests that are sent at the same time.
const MAX_CONCURRENT: usize = 8;

/// Does something to each id, and prints what that returns: one object for one id, and for several an
/// array in their order, in which a failure is `{"id", "error"}`. All are tried, and the first failure
/// decides the exit code.
pub(crate) async fn print_each<T: Serialize>(
    session: &Session,
    kind: ObjectKind,
    ids: Vec<String>,
    act: impl AsyncFn(&str) -> Result<T>,
    table: impl FnOnce(&T) -> Table,
) -> Result {
    if let [id] = ids.as_slice() {
        return session.printer.print_object(kind, &act(id).await?, table);
    }
    let act = async |id| act(id).await.map(|item| Shown::new(kind, &item));
    let results = stream::iter(&ids).map(|id| act(id)).buffered(MAX_CONCURRENT).collect().await;
    print_results(session, kind, &ids, results)
}

fn print_results(
    session: &Session,
    kind: ObjectKind,
    ids: &[String],
    results: Vec<Result<Shown>>,
) -> Result {
    let (mut shown, mut failures) = (Vec::new(), Vec::new());
    for (id, result) in ids.iter().zip(results) {
        match result {
            Ok(item) => shown.push(item),
            Err(failure) => {
                shown.push(Shown::failed(id, &failure));
                failures.push(failure);
            }
        }
    }
    shown.iter().for_each(|shown| session.printer.note_status(shown));
    session.printer.print_list(&shown, several)?;
    let (count, total) = (failures.len(), ids.len());
    Failure::first_of(
        format!("the command failed for {count} of {total} {}s", kind.as_str()),
        failures,
    )
    .map_or(Ok(()), Err)
}

pub(crate) fn several(objects: &[Shown]) -> Table {
    let columns =
        [required("id"), status("status"), number("price"), cut("content"), required("location")];
    let mut table = Table::new(columns);
    for object in objects {
        let object = to_value(object).unwrap_or_default();
        let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
        let price = optional_money(text("price_usd").parse().ok());
        let mut rows: Vec<(String, String)> = Vec::new();
        if let Some(output) = object.get("output").filter(|it| !it.is_null()) {
            rows.push(("output".to_owned(), output.to_string()));
        }
        let list = |name: &str| object.get(name).and_then(Value::as_array).into_iter().flatten();
        let member = |value: &Value, name: &str, other: &str| {
            value.get(name).and_then(Value::as_str).unwrap_or(other).to_owned()
        };
        let files = list("files").map(|file| ("file".to_owned(), member(file, "path", "-")));
        rows.extend(files);
        if list("files").next().is_none() {
            let artifacts = list("artifacts");
            rows.extend(artifacts.map(|artifact| {
                (member(artifact, "content_type", "artifact"), member(artifact, "url", "-"))
            }));
        }
        if rows.is_empty() {
            let error = object.get("error").unwrap_or(&Value::Null);
            let code = member(error, "code", &member(error, "message", ""));
            let content = if code.is_empty() { "" } else { "error" };
            rows.push((content.to_owned(), code));
        }
        for (content, location) in &rows {
            table.row([text("id"), text("status"), &price, content, location]);
        }
    }
    table
}
