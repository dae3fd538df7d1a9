//! Flags of a submit, and of waiting for what it made.

use std::path::PathBuf;

use clap::Args;
use svc_sdk::types::{IdempotencyKey, Usd};

use super::{BodyArgs, CommunicationFields, SurfaceArg, Timeout};

/// What every submit has.
#[derive(Args, Clone, Debug)]
pub(crate) struct SubmitArgs {
    #[command(flatten)]
    pub(crate) body: BodyArgs,
    #[command(flatten)]
    pub(crate) communication: CommunicationFields,
    #[command(flatten)]
    pub(crate) surface: SurfaceArg,
    #[command(flatten)]
    pub(crate) options: SubmitOptions,
}

/// On which terms something is submitted: what it may cost, and what is done with what comes of it.
#[derive(Args, Clone, Debug)]
pub(crate) struct SubmitOptions {
    #[command(flatten)]
    pub(crate) spending: SpendingArgs,
    /// Prints the receipt and does not wait.
    #[arg(long, conflicts_with_all = ["timeout", "download", "cancel_on_interrupt"])]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) wait: WaitArgs,
    /// Stores what was made in that folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) download: Option<PathBuf>,
}

/// What keeps money from being spent by surprise, or twice.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Money")]
pub(crate) struct SpendingArgs {
    /// Does not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Refuses a higher price, and a price that nobody knows; of runs the cap counts.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) max_price: Option<Usd>,
    /// Shows the request and its price, and sends nothing that costs.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Your own key: the same key and body are the same job or run, on any machine, for 24 hours.
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<IdempotencyKey>,
    /// Makes a new call, even where the same one was cut off before and could be taken up again.
    #[arg(long)]
    pub(crate) new: bool,
    /// Writes down nothing: a run that is cut off cannot be taken up again by itself.
    #[arg(long, conflicts_with = "new")]
    pub(crate) no_journal: bool,
}

/// How to wait.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Waiting")]
pub(crate) struct WaitArgs {
    /// Gives up after 30s, 5m, 1h, seconds, or never (none); the job or run goes on [default: 20m;
    /// none for a bulk queue].
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<Timeout>,
    /// Ctrl-C cancels the job or run instead of leaving it alone.
    #[arg(long)]
    pub(crate) cancel_on_interrupt: bool,
}

pub(super) fn dollars(text: &str) -> Result<Usd, String> {
    let amount: Usd = text
        .parse()
        .map_err(|error: svc_sdk::types::ParseUsdError| error.to_string())?;
    if amount < Usd::ZERO {
        return Err("must not be negative".to_owned());
    }
    Ok(amount)
}
