//! Options of a batch.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use super::journal;
use crate::args::{DownloadArgs, JsonField, SurfaceChoice, Timeout, headings, parse_usd};
use crate::batch::manifest::{LineDefaults, parse_operation};
use crate::error::{Failure, Result, SuggestedCommand};
use crate::session::Session;

const DEFAULT_CONCURRENCY: usize = 500;

/// What to run, and within which limits.
#[derive(Args, Clone, Debug)]
pub(crate) struct BatchOptions {
    /// Spreadsheet (.csv, .tsv) or JSONL file with one request per line, or - for stdin
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: PathBuf,
    /// Operation of lines without one: video_generate, image_generate, … [default: by the kind of the
    /// model]
    #[arg(long, value_name = "OPERATION", value_parser = parse_operation, help_heading = headings::INPUT)]
    pub(crate) operation: Option<Operation>,
    /// Model of lines without one
    #[arg(short, long, value_name = "MODEL", help_heading = headings::INPUT)]
    pub(crate) model: Option<String>,
    /// Field of all lines that do not have it, as JSON; repeatable
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = headings::INPUT)]
    pub(crate) params: Vec<JsonField>,
    /// Column of the spreadsheet that is left out; repeatable
    #[arg(long, value_name = "NAME", help_heading = headings::INPUT)]
    pub(crate) ignore_column: Vec<String>,
    /// Maximum number of jobs in flight [default: as many as the service accepts, up to 500]
    #[arg(long, value_name = "N", value_parser = parse_concurrency, help_heading = headings::WAITING)]
    pub(crate) concurrency: Option<usize>,
    #[command(flatten)]
    pub(crate) download: DownloadArgs,
    /// Submit failed and canceled items again, unless they ended with a status that this version does
    /// not know
    #[arg(long, help_heading = headings::REPETITION)]
    pub(crate) retry_failed: bool,
    /// Journal of the batch [default: MANIFEST.journal.jsonl]
    #[arg(long, value_name = "FILE", help_heading = headings::REPETITION)]
    pub(crate) journal: Option<PathBuf>,
    /// Time for the whole batch, such as 30m, 2h, or a number of seconds; jobs that are running then
    /// continue [default: none]
    #[arg(long, value_name = "TIME", help_heading = headings::WAITING)]
    pub(crate) timeout: Option<Timeout>,
    /// Maximum amount in USD that the batch may spend, over all its runs: what does not fit is not
    /// submitted
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true, help_heading = headings::COST)]
    pub(crate) max_spend: Option<Usd>,
    /// Show what would be submitted and its price, without submitting it
    #[arg(long, help_heading = headings::COST)]
    pub(crate) dry_run: bool,
    /// Skip the confirmation prompt; without a terminal there is no prompt, so limit the cost with
    /// --max-spend
    #[arg(short, long, help_heading = headings::COST)]
    pub(crate) yes: bool,
}

impl BatchOptions {
    pub(super) fn defaults(&self) -> LineDefaults {
        let params = self.params.iter().map(|it| (it.name.clone(), it.value.clone()));
        let model = self.model.iter().map(|model| ("model".to_owned(), model.clone().into()));
        LineDefaults {
            operation: self.operation,
            fields: params.chain(model).collect(),
            ignored_columns: self.ignore_column.clone(),
        }
    }

    /// Checks that a batch from standard input can be continued: its journal needs a name.
    pub(super) fn check_stdin(&self, session: &Session) -> Result {
        let is_stdin = self.manifest == Path::new("-");
        match is_stdin && self.journal.is_none() && !session.is_sandbox() && !self.dry_run {
            true => Err(Failure::usage("a batch from standard input has no journal yet")
                .hint("pass --journal FILE: the same command continues the batch with it")),
            false => Ok(()),
        }
    }

    pub(super) fn max_in_flight(&self) -> usize {
        self.concurrency.unwrap_or(DEFAULT_CONCURRENCY)
    }

    pub(super) fn journal_path(&self) -> PathBuf {
        self.journal.clone().unwrap_or_else(|| journal::default_path(&self.manifest))
    }

    pub(super) fn status_command(&self, session: &Session) -> SuggestedCommand {
        let path = |path: &PathBuf| path.display().to_string();
        let mut words = vec!["batch".to_owned(), "status".to_owned(), path(&self.manifest)];
        if let Some(journal) = &self.journal {
            words.extend(["--journal".to_owned(), path(journal)]);
        }
        session.resume_command(SurfaceChoice::Open, &words)
    }

    pub(super) fn command(&self, session: &Session, flags: &[&str]) -> SuggestedCommand {
        self.command_with_params(session, flags, ToString::to_string)
    }

    /// Returns the command for the journal, which keeps no texts: an ellipsis stands for them.
    pub(super) fn stored_command(&self, session: &Session) -> SuggestedCommand {
        self.command_with_params(session, &[], |value| match value {
            Value::Bool(_) | Value::Number(_) | Value::Null => value.to_string(),
            Value::String(_) | Value::Array(_) | Value::Object(_) => "…".to_owned(),
        })
    }

    fn command_with_params(
        &self,
        session: &Session,
        flags: &[&str],
        shown: impl Fn(&Value) -> String,
    ) -> SuggestedCommand {
        let mut words = vec!["batch".to_owned(), "run".to_owned()];
        words.push(self.manifest.display().to_string());
        let mut flag = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
        };
        flag("--operation", self.operation.map(|it| it.name().to_owned()));
        flag("--model", self.model.clone());
        for param in &self.params {
            flag("--param", Some(format!("{}={}", param.name, shown(&param.value))));
        }
        for column in &self.ignore_column {
            flag("--ignore-column", Some(column.clone()));
        }
        flag("--concurrency", self.concurrency.map(|it| it.to_string()));
        flag("--max-spend", self.max_spend.map(|it| it.to_string()));
        let path = |path: &PathBuf| path.display().to_string();
        flag("--download", self.download.download.as_ref().map(path));
        let name = self.download.files.name.as_ref();
        flag("--name", name.map(ToString::to_string));
        flag("--journal", self.journal.as_ref().map(path));
        if self.download.files.overwrite {
            words.push("--overwrite".to_owned());
        }
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let surface = self.operation.map(|it| SurfaceChoice::of(it.surface()));
        let surface = surface.unwrap_or(SurfaceChoice::Open);
        session.resume_command(surface, &words)
    }
}

fn parse_concurrency(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=10_000) => Ok(number),
        _ => Err(format!("invalid number `{text}`: expected 1 to 10000 jobs")),
    }
}
