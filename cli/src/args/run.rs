//! Flags of commands that start runs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use svc_sdk::types::Usd;

use super::submit::parse_usd;
use super::{JsonField, SubmitOptions, headings};

/// The instruction of a run, as an argument or as a flag.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct InstructionArgs {
    /// Instruction: TEXT, @FILE, or - for stdin (@@TEXT for text that starts with @)
    #[arg(value_name = "INSTRUCTION", conflicts_with = "instruction")]
    pub(crate) instruction_argument: Option<String>,
    /// Instruction, instead of the argument
    #[arg(long, value_name = "TEXT|@FILE|-", help_heading = headings::INPUT)]
    pub(crate) instruction: Option<String>,
}

impl InstructionArgs {
    /// Returns the instruction, in either form.
    pub(crate) fn given(&self) -> Option<&str> {
        let given = self.instruction_argument.as_ref();
        given.or(self.instruction.as_ref()).map(String::as_str)
    }
}

/// Flags of every command that starts a run, other than its instruction.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) options: SubmitOptions,
    #[command(flatten)]
    pub(crate) receipt_mode: ReceiptArgs,
    #[command(flatten)]
    pub(crate) communication: RunCommunicationFields,
    /// Any other field, as JSON, such as 'input={"city": "Lisbon"}'; repeatable
    #[arg(long = "param", value_name = "KEY=JSON", help_heading = headings::REQUEST)]
    pub(crate) params: Vec<JsonField>,
    /// JSON file with the whole body, or - for stdin; flags override its fields
    #[arg(long, value_name = "FILE|-", help_heading = headings::REQUEST)]
    pub(crate) input: Option<PathBuf>,
}

/// Flags for how the service reports the result of a run.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::REQUEST)]
pub(crate) struct RunCommunicationFields {
    /// Webhook URL that receives the final receipt (public HTTPS)
    #[arg(long, value_name = "URL")]
    pub(crate) webhook_url: Option<String>,
    /// How the service answers: async or webhook
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<String>,
    /// Time that the service waits before it answers, 0 to 30 seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) wait_timeout_seconds: Option<u64>,
    /// webhook_url, mode and wait_timeout_seconds as one object, instead of the flags: JSON, @FILE,
    /// FILE, or - for stdin
    #[arg(long, value_name = "JSON|FILE|-")]
    pub(crate) communication: Option<String>,
}

/// The flag `--receipt`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReceiptArgs {
    /// Print the whole receipt of a completed run instead of its output alone
    #[arg(long, help_heading = headings::WAITING)]
    pub(crate) receipt: bool,
}

/// Flags for the fields of a Format run other than its instruction. In bulk, they are the defaults
/// of all items.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct FormatFields {
    /// Id of the run to continue
    #[arg(
        long = "continue",
        visible_alias = "previous-run-id",
        value_name = "RUN_ID"
    )]
    pub(crate) previous_run_id: Option<String>,
    /// Attachment: a public HTTPS URL or an asset of the workspace; repeatable
    #[arg(
        long = "attach",
        visible_alias = "attachments",
        value_name = "URL|asset:ID"
    )]
    pub(crate) attachments: Vec<String>,
    /// JSON Schema of the output, checked before the run is submitted: JSON, @FILE, FILE, or - for
    /// stdin
    #[arg(long, value_name = "JSON|FILE|-", conflicts_with = "response_format", help_heading = headings::GENERATION)]
    pub(crate) output_schema: Option<String>,
    /// Format of the output, instead of a JSON Schema: JSON, @FILE, FILE, or - for stdin
    #[arg(long, value_name = "JSON|FILE|-", help_heading = headings::GENERATION)]
    pub(crate) response_format: Option<String>,
    #[command(flatten)]
    pub(crate) cap: CapArg,
    /// Model id from the catalog
    #[arg(long, value_name = "MODEL_ID", help_heading = headings::GENERATION)]
    pub(crate) model: Option<String>,
    /// What to do if a run of the Format is active: reject, to fail with format_run_in_progress
    /// [default: start another run]
    #[arg(long, value_name = "POLICY", help_heading = headings::REPETITION)]
    pub(crate) on_active_run: Option<String>,
}

/// The flag `--cap`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct CapArg {
    /// Maximum cost of a run's generations in USD, above 0 and up to 500; a run that would exceed
    /// it fails. It does not cover the agent's own use of language models
    #[arg(
        long,
        visible_alias = "generation-spend-cap-usd",
        value_name = "USD",
        value_parser = parse_usd,
        allow_negative_numbers = true,
        help_heading = headings::COST
    )]
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
