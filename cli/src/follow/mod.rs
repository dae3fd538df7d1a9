//! What was submitted, followed to its result: jobs, runs and bulk queues.
//!
//! `submit` and `wait` handle all three alike. The [`ResourceKind`] trait has what differs: the price,
//! the status, the result, and the commands that resume. `watch` shows jobs as they change.

pub(crate) mod job;
pub(crate) mod queue;
pub(crate) mod run;
mod several;
pub(crate) mod wait;
pub(crate) mod watch;

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use svc_sdk::download::{Download, DownloadProgress};
use svc_sdk::handle::{self, Handle};
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Client, Update, Updates};

pub(crate) use self::several::{print_each, several};
use crate::args::{ReceiptArgs, SurfaceChoice};
use crate::download::{DownloadPlan, StoredFile};
use crate::error::{Failure, SuggestedCommand};
use crate::output::object::Shown;
use crate::output::{ObjectKind, ProgressLine, Table};
use crate::request::SubmitRequest;
use crate::request::pricing::Price;
use crate::resource::ResourceId;
use crate::session::Session;

pub(crate) type OnProgress = Arc<dyn Fn(DownloadProgress) + Send + Sync>;

pub(crate) trait ResourceKind: handle::Resource {
    /// The result, however the resource ended.
    type Finished;
    type ShownReceipt: Serialize;

    const KIND: ObjectKind;
    const NOUN: &'static str;
    const VERB: &'static str;

    fn handle(client: &Client<Self::Surface>, id: &str) -> Handle<Self>;

    fn resource_id(handle: &Handle<Self>) -> ResourceId {
        resource_id(Self::KIND, handle.id().to_string())
    }

    fn request_id(handle: &Handle<Self>) -> Option<&str>;

    /// Returns the charge in the receipt, if there is one.
    fn charge(_: &Handle<Self>) -> Option<Usd> {
        None
    }

    /// Returns the price of a submit, before it is sent.
    async fn price(
        client: &Client<Self::Surface>,
        request: &SubmitRequest,
    ) -> Result<Price, Failure>;

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
    ) -> Result<Self::Finished, Failure>;

    /// Downloads the files of the result, and adds them to it. A failure becomes part of the result,
    /// so that both can be printed.
    async fn download(
        handle: &Handle<Self>,
        session: &Session,
        finished: &mut Self::Finished,
        plan: &DownloadPlan,
        on_progress: OnProgress,
    );

    /// Marks a result as that of what an earlier command submitted with the same key.
    fn set_reused(_: &mut Self::Finished) {}

    async fn stop(handle: &Handle<Self>) -> Result<Stopped, svc_sdk::Error>;

    /// Prints the result. The failure of a resource that did not complete is an error, and so is that
    /// of the download.
    fn print_result(
        handle: &Handle<Self>,
        session: &Session,
        finished: Self::Finished,
        receipt_mode: ReceiptArgs,
    ) -> Result<(), Failure>;

    async fn shown_receipt(handle: &Handle<Self>) -> Result<Self::ShownReceipt, svc_sdk::Error>;

    fn receipt_table(receipt: &Self::ShownReceipt) -> Table;
}

pub(crate) trait WaitTogether: ResourceKind {
    /// Says how one of several resources ended. Returns what is printed of it, and the failure of one
    /// that did not complete.
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
