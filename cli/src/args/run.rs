//! Flags of commands that start runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use svc_sdk::types::Usd;

use super::submit::parse_usd;
use super::{JsonField, SubmitOptions};

/// Flags of every command that starts a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// Instruction: TEXT, @FILE, or - for stdin (@@TEXT for text that starts with @)
    #[arg(long, value_name = "TEXT|@FILE|-", help_heading = "Request body")]
    pub(crate) instruction: Option<String>,
    /// Any other field, as JSON, such as 'input={"city": "Lisbon"}'; repeatable
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = "Request body")]
    pub(crate) params: Vec<JsonField>,
    /// JSON file with the whole body, or - for stdin; flags override its fields
    #[arg(long, value_name = "FILE|-", help_heading = "Request body")]
    pub(crate) input: Option<PathBuf>,
    /// Webhook URL that receives the final receipt (public HTTPS)
    #[arg(long, value_name = "URL", help_heading = "Request body")]
    pub(crate) webhook_url: Option<String>,
    #[command(flatten)]
    pub(crate) receipt_mode: ReceiptArgs,
    #[command(flatten)]
    pub(crate) options: SubmitOptions,
}

/// The flag `--receipt`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReceiptArgs {
    /// Print the whole receipt of a completed run instead of its output alone
    #[arg(long)]
    pub(crate) receipt: bool,
}

/// Flags for the fields of a Format run other than its instruction. In bulk, they are the defaults
/// of all items.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Request body")]
pub(crate) struct FormatFields {
    /// Id of the run to continue
    #[arg(long = "continue", value_name = "RUN_ID")]
    pub(crate) previous_run_id: Option<String>,
    /// Attachment: a public HTTPS URL or an asset of the workspace; repeatable
    #[arg(long = "attach", value_name = "URL|asset:ID")]
    pub(crate) attachments: Vec<String>,
    /// JSON Schema of the output, checked before the run is submitted: JSON, @FILE, FILE, or - for
    /// stdin
    #[arg(long, value_name = "JSON|FILE|-", conflicts_with = "response_format")]
    pub(crate) output_schema: Option<String>,
    /// Format of the output, instead of a JSON Schema: JSON, @FILE, FILE, or - for stdin
    #[arg(long, value_name = "JSON|FILE|-")]
    pub(crate) response_format: Option<String>,
    #[command(flatten)]
    pub(crate) cap: CapArg,
    /// Model id from the catalog
    #[arg(long, value_name = "MODEL_ID")]
    pub(crate) model: Option<String>,
    /// `reject` fails if a run of the Format is already active
    #[arg(long, value_name = "POLICY")]
    pub(crate) on_active_run: Option<String>,
}

/// The flag `--cap`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct CapArg {
    /// Maximum cost of a run's generations in USD, above 0 and up to 500; a run that would exceed
    /// it fails. It does not cover the agent's own use of language models
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true, help_heading = "Cost")]
    pub(crate) cap: Option<Usd>,
}

/// What a run was started from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunKindChoice {
    /// Run of an Action
    Action,
    /// Run of a Format
    Format,
    /// Run of the agent
    Agent,
}

impl RunKindChoice {
    /// All kinds, in the order in which they are probed.
    pub(crate) const ALL: [Self; 3] = [Self::Format, Self::Agent, Self::Action];

    /// Returns the value of `--kind`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Format => "format",
            Self::Agent => "agent",
        }
    }
}
