//! Runs of Actions, Formats and Agent Completions, and bulk queues of Format runs.
//!
//! ```no_run
//! use svc_sdk::developer;
//! use svc_sdk::types::{AgentCompletionCreate, Usd};
//!
//! # async fn run() -> svc_sdk::Result<()> {
//! let client = developer::Client::from_env()?;
//! let cap = Usd::from_micros(2_000_000);
//! let completion = AgentCompletionCreate::new("Three posters for a jazz night", cap);
//! let run = client.agent_completions_create(&completion).send().await?;
//! let receipt = run.wait().await?;
//! println!("{:?}, {} files", receipt.billable_amount(), receipt.artifacts.len());
//! run.download("posters").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A run is no job: it has its own statuses and paths, and spends up to a cap. What it did before it
//! failed or was canceled is billed, and its files are there.

mod handle;
mod kind;
mod queue;

pub use self::handle::RunHandle;
pub(crate) use self::kind::is_start;
pub use self::kind::{ActionRun, AgentRun, FormatRun, Kind};
pub use self::queue::{ItemResult, QueueHandle};

#[cfg(test)]
mod tests;
