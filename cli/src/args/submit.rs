//! Flags of commands that submit requests or wait for results.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::Serialize;
use svc_sdk::contract::Operation;
use svc_sdk::download::NameTemplate;
use svc_sdk::handle::{ActionRun, AgentRun, FormatRun, Resource as _};
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::args::{
    BodyArgs, CommunicationFields, JsonField, SurfaceArg, Timeout, headings, parse_download_path,
};

/// Flags of every command that submits a job.
#[derive(Args, Clone, Debug)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) options: SubmitOptions,
    #[command(flatten)]
    pub(crate) communication: CommunicationFields,
    #[command(flatten)]
    pub(crate) body: BodyArgs,
    #[command(flatten)]
    pub(crate) surface: SurfaceArg,
}

/// Flags of every command that submits a paid request: cost limits, waiting and downloads.
#[derive(Args, Clone, Debug)]
pub(crate) struct SubmitOptions {
    #[command(flatten)]
    pub(crate) download: DownloadArgs,
    /// Print the job or run with its id, without waiting
    #[arg(long, help_heading = headings::WAITING, conflicts_with_all = ["timeout", "download", "preview", "cancel_on_interrupt"])]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    #[command(flatten)]
    pub(crate) spending: SpendingArgs,
}

/// Flags that limit spending and prevent duplicate charges.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = headings::COST)]
pub(crate) struct SpendingArgs {
    /// Skip the confirmation prompt; without a terminal there is no prompt, so limit the cost with
    /// --max-price
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Submit nothing if the price is higher or unknown (of a run: its cap)
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true)]
    pub(crate) max_price: Option<Usd>,
    /// Show the request and its price without submitting it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Idempotency key [default: generated]
    #[arg(long, value_name = "KEY", help_heading = headings::REPETITION)]
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    pub(crate) journal: JournalArgs,
}

/// Flags for the record of paid requests.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = headings::REPETITION)]
pub(crate) struct JournalArgs {
    /// Submit a new request, even if an interrupted run of the same command could be resumed
    #[arg(long)]
    pub(crate) new: bool,
    /// Do not record the request on this machine; an interrupted command cannot be resumed
    #[arg(long, conflicts_with = "new")]
    pub(crate) no_journal: bool,
}

#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::WAITING)]
pub(crate) struct WaitArgs {
    /// Time to wait, such as 30s, 5m, 1h or none [default: 20m; bulk queues: none]
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Timeout>,
    /// Cancel the job or run on Ctrl-C instead of leaving it running
    #[arg(long)]
    pub(crate) cancel_on_interrupt: bool,
}

/// Parses an amount that is not negative.
pub(crate) fn parse_usd(text: &str) -> Result<Usd, String> {
    let amount = text.parse().ok().filter(|amount| *amount >= Usd::ZERO);
    amount.ok_or_else(|| {
        format!(
            "invalid amount `{text}`: expected dollars of at least 0 with at most six decimals, \
             such as 0.50"
        )
    })
}

/// The instruction of a run, as an argument or as a flag.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct InstructionArgs {
    /// Instruction: TEXT, @FILE or - for stdin (@@TEXT begins with @)
    #[arg(value_name = "INSTRUCTION", conflicts_with = "instruction")]
    pub(crate) instruction_argument: Option<String>,
    /// Instruction, instead of the argument
    #[arg(long, allow_hyphen_values = true, value_name = "TEXT|@FILE|-", help_heading = headings::INPUT)]
    pub(crate) instruction: Option<String>,
}

impl InstructionArgs {
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
#[derive(Args, Clone, Debug, Default, Serialize)]
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
    #[arg(long, value_name = "JSON|FILE|-", hide = true)]
    #[serde(skip)]
    pub(crate) communication: Option<String>,
}

#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ReceiptArgs {
    /// Print the whole receipt of a completed run instead of its output alone
    #[arg(long, help_heading = headings::WAITING)]
    pub(crate) receipt: bool,
}

/// Flags for the fields of a Format run other than its instruction. In bulk, they are the defaults
/// of all items.
#[derive(Args, Clone, Debug, Default, Serialize)]
#[command(next_help_heading = headings::INPUT)]
pub(crate) struct FormatFields {
    /// Id of the run to continue
    #[arg(long = "continue", visible_alias = "previous-run-id", value_name = "RUN_ID")]
    pub(crate) previous_run_id: Option<String>,
    /// Attachment: a public HTTPS URL or an asset of the workspace; repeatable
    #[arg(long = "attach", visible_alias = "attachments", value_name = "URL|asset:ID")]
    #[serde(skip)]
    pub(crate) attachments: Vec<String>,
    /// JSON Schema of the output, checked before the run is submitted: JSON, @FILE, FILE, or - for
    /// stdin
    #[arg(long, value_name = "JSON|FILE|-", conflicts_with = "response_format", help_heading = headings::GENERATION)]
    #[serde(skip)]
    pub(crate) output_schema: Option<String>,
    /// Format of the output, instead of a JSON Schema: JSON, @FILE, FILE, or - for stdin
    #[arg(long, value_name = "JSON|FILE|-", help_heading = headings::GENERATION)]
    #[serde(skip)]
    pub(crate) response_format: Option<String>,
    #[command(flatten)]
    #[serde(skip)]
    pub(crate) cap: CapArg,
    /// Model id from the catalog
    #[arg(short, long, value_name = "MODEL_ID", help_heading = headings::GENERATION)]
    pub(crate) model: Option<String>,
    /// What to do if a run of the Format is active: reject, to fail with format_run_in_progress
    /// [default: start another run]
    #[arg(long, value_name = "POLICY", help_heading = headings::REPETITION)]
    pub(crate) on_active_run: Option<String>,
}

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

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Format => "format",
            Self::Agent => "agent",
        }
    }

    pub(crate) fn of_operation(name: &str) -> Option<Self> {
        let operation = Operation::from_name(name)?;
        let kinds = [
            (Self::Action, ActionRun::is_submitted_by(operation)),
            (Self::Format, FormatRun::is_submitted_by(operation)),
            (Self::Agent, AgentRun::is_submitted_by(operation)),
        ];
        kinds.into_iter().find_map(|(kind, is_it)| is_it.then_some(kind))
    }
}

/// Flags of commands that download files if `--download` is given.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::FILES)]
pub(crate) struct DownloadArgs {
    /// Download to a directory [default: the current one] or a file such as fox.png
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = ".", value_parser = parse_download_path)]
    pub(crate) download: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) files: FileArgs,
}

/// Flags of every command that downloads files.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::FILES)]
pub(crate) struct FileArgs {
    /// Name the files by a template of {id} (of the file), {index} (from 1), {job}, {slug} (of the
    /// prompt), {ext}, and in batches {item} [default: {id}.{ext}, in batches {item}.{ext}]
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) name: Option<FileName>,
    /// Replace existing files; without it, a new file gets another name, such as fox-1.png
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Show the images in the terminal
    #[arg(long)]
    pub(crate) preview: bool,
    /// Open the files with the platform's default applications
    #[arg(long)]
    pub(crate) open: bool,
    /// Time limit of the download, such as 30s, 5m, 1h, a number of seconds, or none [default: 1h]
    #[arg(long, value_name = "TIME")]
    pub(crate) download_timeout: Option<Timeout>,
}

/// A template of file names, in which `{item}` is the name of an item of a batch or a bulk queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileName(String);

impl FileName {
    const ITEM: &str = "{item}";

    pub(crate) fn has_item(&self) -> bool {
        self.0.contains(Self::ITEM)
    }

    /// Returns the template of the files of an item, whose name has no braces.
    pub(crate) fn template(&self, item: &str) -> Option<NameTemplate> {
        self.0.replace(Self::ITEM, item).parse().ok()
    }
}

impl FromStr for FileName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.replace(Self::ITEM, "item").parse::<NameTemplate>();
        // The parser adds the value to the message.
        parsed.map_err(|error| error.reason().to_owned())?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
