//! What jobs, runs and queues have in common.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use svc_sdk::download::{Downloaded, OnProgress};
use svc_sdk::types::Usd;
use svc_sdk::{Client, Started, Update, Updates, Watched};

use crate::args::ToldArgs;
use crate::error::Failure;
use crate::output::Live;
use crate::pricing::Price;
use crate::session::Session;
use crate::types::{Order, SubjectId};

/// What a submit starts and a wait watches.
pub(crate) trait Subject: Started + Watched {
    /// What it came to, however it ended.
    type End;

    /// What it is called: `job`.
    const NOUN: &'static str;
    /// What one does to have it: `Make`, `Start`.
    const VERB: &'static str;
    /// How long it is waited for where nobody says otherwise.
    const PATIENCE: Option<Duration>;

    /// Takes it up again, from its id alone.
    fn taken_up(client: &Client<Self::Surface>, id: &str) -> Self;

    /// Which one it is.
    fn subject_id(&self) -> SubjectId;

    /// Whether an earlier submit with the same key had started it.
    fn was_there(&self) -> bool;

    /// Whether this process has its receipt.
    fn is_receipted(&self) -> bool;

    /// The request that started it, where that is known.
    fn started_by(&self) -> Option<&str>;

    /// What the receipt says that it costs.
    fn charge(&self) -> Option<Usd> {
        None
    }

    /// What it will cost, as far as that can be known before.
    async fn price(client: &Client<Self::Surface>, order: &Order) -> Result<Price, Failure>;

    /// The command that looks whether it exists.
    fn listing(session: &Session, order: &Order) -> String;

    /// The command that waits for it.
    fn again(&self, session: &Session, folder: Option<&Path>) -> String;

    /// The command that fetches its files.
    fn fetch_again(&self, session: &Session, folder: &Path) -> String;

    /// Its updates until it is through.
    fn watch(&self) -> Updates<Self>;

    /// Shows how it stands.
    fn show(live: &Live<'_>, update: &Update<Self::Status>);

    /// What it came to, once it is through.
    async fn end(&self, status: Self::Status) -> Result<Self::End, Failure>;

    /// Fetches the files of what it came to.
    async fn fetch(
        &self,
        end: &mut Self::End,
        folder: &Path,
        on_progress: OnProgress,
    ) -> Result<(), Failure>;

    /// Cancels it, and says how it stands then.
    async fn stop(&self) -> Result<Stopped, svc_sdk::Error>;

    /// Prints what it came to; a failure says what became of it where that is not what was wanted.
    fn tell(&self, session: &Session, end: &Self::End, told: Told) -> Result<(), Failure>;

    /// Prints its receipt.
    async fn tell_receipt(&self, session: &Session) -> Result<(), Failure>;
}

/// How something stands after it was asked to stop.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// In words.
    pub(crate) said: String,
    /// Whether it, or a part of it, was canceled: then the person knows its end.
    pub(crate) canceled: bool,
}

/// How it is told what something came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// The whole receipt, even where there is an output.
    pub(crate) receipt: bool,
}

impl From<ToldArgs> for Told {
    fn from(args: ToldArgs) -> Self {
        Self {
            receipt: args.receipt,
        }
    }
}

/// A file on disk.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct StoredFile {
    pub(crate) path: String,
    pub(crate) bytes: u64,
}

impl From<Downloaded> for StoredFile {
    fn from(file: Downloaded) -> Self {
        Self {
            path: file.path.display().to_string(),
            bytes: file.bytes,
        }
    }
}
