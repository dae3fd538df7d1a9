//! The resources that a submit starts and a wait polls: jobs, runs and bulk queues.
//!
//! `submit` and `wait` handle all three alike. The [`Resource`] trait has what differs: the price,
//! the status, the result, and the commands that resume.

pub(crate) mod job;
pub(crate) mod queue;
pub(crate) mod run;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

use svc_sdk::download::{DownloadProgress, DownloadedFile};
use svc_sdk::handle::{self, Handle};
use svc_sdk::types::Usd;
use svc_sdk::{Client, Update, Updates};

use crate::args::ReceiptArgs;
use crate::error::Failure;
use crate::output::{ProgressLine, Table};
use crate::pricing::Price;
use crate::session::Session;
use crate::types::{ResourceId, SubmitRequest};

/// A function that is called with the progress of a download.
pub(crate) type OnProgress = Arc<dyn Fn(DownloadProgress) + Send + Sync>;

/// A kind of resource that a submit starts and a wait polls.
pub(crate) trait Resource: handle::Resource {
    /// The result, however the resource ended.
    type Finished;
    /// The receipt, as it is printed.
    type ShownReceipt: Serialize;

    /// The noun in messages, such as `job`.
    const NOUN: &'static str;
    /// The verb of the confirmation prompt, such as `Generate`.
    const VERB: &'static str;

    /// Returns a handle of the resource with that id.
    fn from_id(client: &Client<Self::Surface>, id: &str) -> Handle<Self>;

    /// Returns the identifier.
    fn resource_id(handle: &Handle<Self>) -> ResourceId;

    /// Returns the id of the request that submitted it, if it is known.
    fn request_id(handle: &Handle<Self>) -> Option<&str>;

    /// Returns the charge in the receipt, if there is one.
    fn charge(_: &Handle<Self>) -> Option<Usd> {
        None
    }

    /// Returns the price of a submit, before it is sent.
    ///
    /// # Errors
    ///
    /// Returns an error if the price cannot be fetched.
    async fn price(
        client: &Client<Self::Surface>,
        request: &SubmitRequest,
    ) -> Result<Price, Failure>;

    /// Returns the items of a request that starts several runs.
    fn items(_: &SubmitRequest) -> Option<&[Value]> {
        None
    }

    /// Returns the command that lists such resources.
    fn list_command(session: &Session, request: &SubmitRequest) -> String;

    /// Returns the command that waits for it.
    fn wait_command(handle: &Handle<Self>, session: &Session, folder: Option<&Path>) -> String;

    /// Returns the command that downloads its files.
    fn download_command(handle: &Handle<Self>, session: &Session, folder: &Path) -> String;

    /// Shows its status on the progress line.
    fn show_status(live: &ProgressLine<'_>, update: &Update<Self::Status>);

    /// Reads the result, after the last update.
    async fn result(
        handle: &Handle<Self>,
        updates: Updates<Self>,
    ) -> Result<Self::Finished, Failure>;

    /// Downloads the files of the result.
    async fn download(
        handle: &Handle<Self>,
        finished: &mut Self::Finished,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure>;

    /// Cancels it, and returns its status afterwards.
    async fn stop(handle: &Handle<Self>) -> Result<Stopped, svc_sdk::Error>;

    /// Prints the result. The failure of a resource that did not complete is an error.
    fn print_result(
        handle: &Handle<Self>,
        session: &Session,
        finished: &Self::Finished,
        receipt_mode: ReceiptMode,
    ) -> Result<(), Failure>;

    /// Returns the receipt. It is read from the service if this process has none.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read.
    async fn shown_receipt(handle: &Handle<Self>) -> Result<Self::ShownReceipt, svc_sdk::Error>;

    /// Returns the table of the receipt.
    fn receipt_table(receipt: &Self::ShownReceipt) -> Table;
}

/// The status of a resource after a cancelation.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// The status in words.
    pub(crate) description: String,
    /// Whether the resource, or a part of it, is canceled. Then the outcome is known.
    pub(crate) is_canceled: bool,
}

/// The part of a finished run that is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReceiptMode {
    /// Only the output, if there is one.
    #[default]
    OutputOnly,
    /// The full receipt.
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

/// Adds `--download FOLDER` to the words of a command, if there is a folder.
pub(crate) fn with_download_flag(words: &[&str], folder: Option<&Path>) -> Vec<String> {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    if let Some(folder) = folder {
        words.extend(["--download".to_owned(), folder.display().to_string()]);
    }
    words
}

/// A downloaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl std::fmt::Display for StoredFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.bytes)
    }
}

impl From<DownloadedFile> for StoredFile {
    fn from(file: DownloadedFile) -> Self {
        Self {
            path: file.path.display().to_string(),
            bytes: file.bytes,
        }
    }
}
