//! Flags of commands that submit requests or wait for results.

use clap::Args;
use svc_sdk::types::{IdempotencyKey, Usd};

use super::{BodyArgs, CommunicationFields, DownloadArgs, SurfaceArg, Timeout, headings};

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
    /// Print the response to the request, with the id of the job or run, and exit without waiting
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
    /// Maximum price in USD: fail without submitting if the price is higher or unknown. The price of
    /// a run is its cap
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true)]
    pub(crate) max_price: Option<Usd>,
    /// Show the request and its price without submitting it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Idempotency key: for 24 hours, the same key and body return the same job or run, on any
    /// machine [default: generated]
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

/// Flags of every command that waits.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = headings::WAITING)]
pub(crate) struct WaitArgs {
    /// Time to wait, such as 30s, 5m, 1h, a number of seconds, or none; the job or run continues
    /// after it [default: 20m; bulk queues: none]
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
