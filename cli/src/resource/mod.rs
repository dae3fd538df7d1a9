//! The resources that a submit starts and a wait polls: jobs, runs and bulk queues.
//!
//! All three go the same way from a price to a result (`submit`, `wait`). This is what differs: the
//! price, the status, the result, and the commands that resume.

pub(crate) mod job;
pub(crate) mod queue;
pub(crate) mod run;

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::download::{Downloaded, OnProgress};
use svc_sdk::types::Usd;
use svc_sdk::{Client, Started, Update, Updates, Watched};

use crate::args::ReceiptArgs;
use crate::error::Failure;
use crate::output::ProgressLine;
use crate::pricing::Price;
use crate::session::Session;
use crate::types::{ResourceId, SubmitRequest};

/// What a submit starts and a wait watches.
pub(crate) trait Resource: Started + Watched {
    /// What it came to, however it ended.
    type Finished;

    /// What it is called: `job`.
    const NOUN: &'static str;
    /// What one does to have it: `Make`, `Start`.
    const VERB: &'static str;
    /// How long it is waited for where nobody says otherwise.
    const DEFAULT_TIMEOUT: Option<Duration>;

    /// Takes it up again, from its id alone.
    fn from_id(client: &Client<Self::Surface>, id: &str) -> Self;

    /// Which one it is.
    fn resource_id(&self) -> ResourceId;

    /// Whether an earlier submit with the same key had started it.
    fn is_replay(&self) -> bool;

    /// Whether this process has its receipt.
    fn is_receipted(&self) -> bool;

    /// The request that started it, where that is known.
    fn request_id(&self) -> Option<&str>;

    /// What the receipt says that it costs.
    fn charge(&self) -> Option<Usd> {
        None
    }

    /// What it will cost, as far as that can be known before.
    async fn price(
        client: &Client<Self::Surface>,
        request: &SubmitRequest,
    ) -> Result<Price, Failure>;

    /// The command that looks whether it exists.
    fn list_command(session: &Session, request: &SubmitRequest) -> String;

    /// The command that waits for it.
    fn wait_command(&self, session: &Session, folder: Option<&Path>) -> String;

    /// The command that fetches its files.
    fn download_command(&self, session: &Session, folder: &Path) -> String;

    /// Its updates until it is through.
    fn status_updates(&self) -> Updates<Self>;

    /// Shows how it stands.
    fn show_status(live: &ProgressLine<'_>, update: &Update<Self::Status>);

    /// What it came to, once it is through.
    async fn result(&self, status: Self::Status) -> Result<Self::Finished, Failure>;

    /// Fetches the files of what it came to.
    async fn download(
        &self,
        finished: &mut Self::Finished,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure>;

    /// Cancels it, and says how it stands then.
    async fn stop(&self) -> Result<Stopped, svc_sdk::Error>;

    /// Prints what it came to; a failure says what became of it where that is not what was wanted.
    fn print_result(
        &self,
        session: &Session,
        finished: &Self::Finished,
        receipt_mode: ReceiptMode,
    ) -> Result<(), Failure>;

    /// Returns its receipt as JSON; it is read from the service where this process has none.
    #[cfg(feature = "mcp")]
    async fn receipt_json(&self) -> Result<serde_json::Value, svc_sdk::Error>;

    /// Prints its receipt.
    async fn print_receipt(&self, session: &Session) -> Result<(), Failure>;
}

/// How something stands after it was asked to stop.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// In words.
    pub(crate) description: String,
    /// Whether it, or a part of it, was canceled: then the person knows its end.
    pub(crate) is_canceled: bool,
}

/// What is printed of a finished run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReceiptMode {
    /// The output alone, where there is one.
    #[default]
    OutputOnly,
    /// The whole receipt.
    Full,
}

impl From<ReceiptArgs> for ReceiptMode {
    fn from(args: ReceiptArgs) -> Self {
        match args.receipt {
            true => Self::Full,
            false => Self::OutputOnly,
        }
    }
}

/// A file on disk.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl std::fmt::Display for StoredFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes)
    }
}

impl From<Downloaded> for StoredFile {
    fn from(file: Downloaded) -> Self {
        Self {
            path: file.path.display().to_string(),
            bytes: file.bytes,
        }
    }
}
