//! Flags of a run: what it is to do, and what comes of it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use svc_sdk::types::Usd;

use super::submit::dollars;
use super::{JsonField, SubmitOptions};

/// What every command has that starts a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// What to do: TEXT, @FILE, or - for standard input (@@TEXT is a text that begins with @).
    #[arg(long, value_name = "TEXT|@FILE|-", help_heading = "Body")]
    pub(crate) instruction: Option<String>,
    /// Any other field, as JSON, such as 'input={"city": "Lisbon"}'; may be repeated.
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = "Body")]
    pub(crate) params: Vec<JsonField>,
    /// A whole body from a file, or - for standard input; flags override its fields.
    #[arg(long, value_name = "FILE|-", help_heading = "Body")]
    pub(crate) input: Option<PathBuf>,
    /// Where the terminal receipt is told (public HTTPS).
    #[arg(long, value_name = "URL", help_heading = "Body")]
    pub(crate) webhook_url: Option<String>,
    #[command(flatten)]
    pub(crate) receipt_mode: ReceiptArgs,
    #[command(flatten)]
    pub(crate) options: SubmitOptions,
}

/// How it is told what a run came to.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReceiptArgs {
    /// Prints the whole receipt, where else the output of a run that completed is printed alone.
    #[arg(long)]
    pub(crate) receipt: bool,
}

/// The fields of a Format run beside its instruction; in bulk those of every item that brings none
/// of its own.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Body")]
pub(crate) struct FormatFields {
    /// The run to continue.
    #[arg(long = "continue", value_name = "RUN_ID")]
    pub(crate) previous_run_id: Option<String>,
    /// A file to work with: a public HTTPS URL, or an asset of the workspace; may be repeated.
    #[arg(long = "attach", value_name = "URL|asset:ID")]
    pub(crate) attachments: Vec<String>,
    /// The JSON Schema that the output is to fit, which is checked before anything is sent: JSON,
    /// @FILE, FILE, or - for standard input.
    #[arg(long, value_name = "JSON|FILE|-", conflicts_with = "response_format")]
    pub(crate) output_schema: Option<String>,
    /// The form of the output: JSON, @FILE, FILE, or - for standard input.
    #[arg(long, value_name = "JSON|FILE|-")]
    pub(crate) response_format: Option<String>,
    #[command(flatten)]
    pub(crate) cap: CapArg,
    /// A model of the catalog.
    #[arg(long, value_name = "MODEL_ID")]
    pub(crate) model: Option<String>,
    /// What to do where a run of the Format is in flight: reject.
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_active_run: Option<String>,
}

/// `--cap`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct CapArg {
    /// What a run's generations may cost, above 0 and at most 500; a run that would spend more
    /// fails. The agent's own model turns are not in it.
    #[arg(long, value_name = "USD", value_parser = dollars, help_heading = "Money")]
    pub(crate) cap: Option<Usd>,
}

/// What a run is a run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunKindChoice {
    /// An Action.
    Action,
    /// A Format.
    Format,
    /// An Agent Completion.
    Agent,
}

impl RunKindChoice {
    /// All of them, in the order in which they are looked for.
    pub(crate) const ALL: [Self; 3] = [Self::Format, Self::Agent, Self::Action];

    /// The name that `--kind` takes.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Format => "format",
            Self::Agent => "agent",
        }
    }
}
