//! Runs of Actions, Formats and Agent Completions.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Handle, Resource};
use crate::call::{Call, clock};
use crate::contract::{Operation, RunStatus};
use crate::download::{ArtifactDownload, ArtifactList, Download};
use crate::error::{Error, Kind, ResourceRef, Result};
use crate::journal::ResourceKind;
use crate::polling::{PollStatus, REPLICA_POLL_INTERVAL, ResultRetry};
use crate::sealed::Sealed;
use crate::surface::Developer;
use crate::types::{
    Artifact, Page, Redelivery, RequestId, RunEvent, RunId, RunKind, RunReceipt, RunStatusPayload,
    Usd,
};

/// How many times a wait reads a receipt again whose output is not filled in yet.
const MAX_PENDING_READS: u32 = 5;

/// A run of an Action, a Format or an Agent Completion.
///
/// Runs are not jobs: they have statuses and paths of their own, and spend up to a cap. What a run
/// did before it failed or was canceled is billed, and its files are there.
///
/// ```no_run
/// use svc_sdk::types::{AgentCompletionCreate, Usd};
///
/// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
/// let cap = Usd::from_micros(2_000_000);
/// let body = AgentCompletionCreate::new("Three posters for a jazz night", cap);
/// let run = client.agents().run(body).await?;
/// match run.wait().await {
///     Ok(receipt) if receipt.is_degraded() => println!("media, but no output"),
///     Ok(receipt) => println!("{:?}", receipt.output),
///     Err(error) if error.run_receipt().is_some() => println!("ended: {error}"),
///     Err(error) => println!("status unknown: {error}"),
/// }
/// run.download("posters").await?;
/// # Ok(())
/// # }
/// ```
///
/// A run of an Action has no events, so that asking for them does not compile:
///
/// ```compile_fail,E0599
/// # async fn run(client: svc_sdk::developer::Client) {
/// client.action_runs().handle("run_1").events();
/// # }
/// ```
pub type RunHandle<K> = Handle<K>;

/// A kind of run, as a kind of [`Resource`]: [`ActionRun`], [`FormatRun`] or [`AgentRun`].
///
/// This trait is sealed.
pub trait RunResource:
    Resource<
        Surface = Developer,
        Id = RunId,
        Receipt = RunReceipt,
        Status = RunStatusPayload,
        Output = RunReceipt,
    >
{
    /// The kind, as receipts name it.
    const KIND: RunKind;
    /// The operation that reads the receipt.
    #[doc(hidden)]
    const GET: Operation;
    /// The operation that reads the terminal receipt.
    #[doc(hidden)]
    const RESULT: Operation;
    /// The operation that cancels.
    #[doc(hidden)]
    const CANCEL: Operation;
}

macro_rules! run_resource {
    ($(#[$doc:meta])* $name:ident, $kind:ident, submitted by [$($submit:ident),+],
        $get:ident, $status:ident, $result:ident, $cancel:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        impl Sealed for $name {}

        impl RunResource for $name {
            const KIND: RunKind = RunKind::$kind;
            const GET: Operation = Operation::$get;
            const RESULT: Operation = Operation::$result;
            const CANCEL: Operation = Operation::$cancel;
        }

        impl Resource for $name {
            type Surface = Developer;
            type Id = RunId;
            type Receipt = RunReceipt;
            type Status = RunStatusPayload;
            type Output = RunReceipt;

            const STATUS: Operation = Operation::$status;
            const JOURNAL_KIND: ResourceKind = ResourceKind::$name;

            fn receipt_request_id(receipt: &RunReceipt) -> Option<&RequestId> {
                receipt.request_id.as_ref()
            }

            fn ended_status(result: &Result<RunReceipt>) -> Option<String> {
                Some(ended_receipt(result)?.status.to_string())
            }

            async fn final_charge(
                _: &Handle<Self>,
                result: &Result<RunReceipt>,
                _: Option<Usd>,
            ) -> Option<Usd> {
                charge(ended_receipt(result)?)
            }

            fn is_submitted_by(operation: Operation) -> bool {
                matches!(operation, $(Operation::$submit)|+)
            }

            fn receipt_id(receipt: &RunReceipt) -> Option<RunId> {
                receipt.id()
            }

            fn salvage_id(receipt: &Value) -> Option<RunId> {
                RunReceipt::id_in(receipt).or_else(|| RunReceipt::id_in(receipt.get("run")?))
            }

            fn initial_status(receipt: &RunReceipt) -> RunStatusPayload {
                initial_status(receipt)
            }

            fn resource_ref(id: &RunId, receipt: Option<&Arc<RunReceipt>>) -> ResourceRef {
                ResourceRef::Run(id.clone(), receipt.cloned())
            }

            async fn output(
                handle: &Handle<Self>,
                status: RunStatusPayload,
                retry: ResultRetry,
            ) -> Result<RunReceipt> {
                handle.read_output(status.status, retry).await
            }
        }
    };
}

run_resource! {
    /// Runs of Actions.
    ActionRun, Action, submitted by [ActionsRunsCreate],
    ActionRunsGet, ActionRunsStatus, ActionRunsResult, ActionRunsCancel
}

run_resource! {
    /// Runs of Formats.
    FormatRun, Format, submitted by [FormatsRunsCreate, FormatsBySlugRunsCreate],
    FormatRunsGet, FormatRunsStatus, FormatRunsResult, FormatRunsCancel
}

run_resource! {
    /// Runs of Agent Completions.
    AgentRun, Agent, submitted by [AgentCompletionsCreate],
    AgentRunsGet, AgentRunsStatus, AgentRunsResult, AgentRunsCancel
}

/// Returns whether the operation submits a run of any kind.
pub(super) fn is_submit(operation: Operation) -> bool {
    ActionRun::is_submitted_by(operation)
        || FormatRun::is_submitted_by(operation)
        || AgentRun::is_submitted_by(operation)
}

fn ended_receipt(result: &Result<RunReceipt>) -> Option<&RunReceipt> {
    match result {
        Ok(receipt) => Some(receipt),
        Err(error) => match error.variant() {
            Kind::RunEnded { receipt } => Some(receipt),
            _ => None,
        },
    }
}

/// Returns the spend of a run that has ended, if the receipt says so. A skipped run costs nothing.
pub(crate) fn charge(receipt: &RunReceipt) -> Option<Usd> {
    if receipt.status == RunStatus::Skipped {
        return Some(Usd::ZERO);
    }
    receipt.billable_amount()
}

fn initial_status(receipt: &RunReceipt) -> RunStatusPayload {
    RunStatusPayload {
        run_id: receipt.id(),
        kind: receipt.kind.clone(),
        status: Some(receipt.status.clone()).filter(|it| !it.as_str().is_empty()),
        poll_after: receipt.poll_after,
        usage: receipt.usage.clone(),
        ..RunStatusPayload::default()
    }
}

impl<K: RunResource> Handle<K> {
    /// Reads the receipt, whether or not the run has ended.
    pub fn get(&self) -> Call<RunReceipt> {
        self.call(K::GET)
    }

    /// Reads the receipt of a run that has ended, however it ended.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with code `run_not_completed` while the run is in progress.
    pub fn result(&self) -> Call<RunReceipt> {
        self.call(K::RESULT)
    }

    /// Cancels the run. What it did until then is billed. A run that has ended does not change.
    pub fn cancel(&self) -> Call<RunReceipt> {
        self.call(K::CANCEL)
    }

    /// Downloads everything that the run generated into a folder, even if it failed.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error if the receipt could not be read, if the run is in progress
    /// (`run_not_completed`), or if an artifact could not be downloaded or written. The other
    /// artifacts are downloaded nevertheless ([`Error::downloaded_files`]). The result is still
    /// there, so download it again: files that were cut off are resumed.
    pub fn download(&self, folder: impl AsRef<Path>) -> Download {
        let handle = self.clone();
        let artifacts = async move { Ok(ArtifactList::from_run(&handle.result().await?)) };
        Download::new(folder.as_ref(), self.download_options(), artifacts)
    }

    /// Downloads the files of a result that was already read.
    ///
    /// # Errors
    ///
    /// As [`download`](Self::download).
    pub fn download_result(&self, receipt: &RunReceipt, folder: impl AsRef<Path>) -> Download {
        let artifacts = std::future::ready(Ok(ArtifactList::from_run(receipt)));
        Download::new(folder.as_ref(), self.download_options(), artifacts)
    }

    /// Downloads one artifact of the run to a file, to a writer, or as a stream.
    pub fn download_artifact(&self, artifact: &Artifact) -> ArtifactDownload {
        ArtifactDownload::new(artifact, self.download_options())
    }

    async fn read_output(
        &self,
        status: Option<RunStatus>,
        mut retry: ResultRetry,
    ) -> Result<RunReceipt> {
        let mut pending_reads = 0;
        let mut last_receipt = None;
        loop {
            let mut result = retry.limit(self.result(), self).await;
            if let (Ok(receipt), Some(status)) = (&mut result, &status)
                && receipt.status.as_str().is_empty()
            {
                receipt.status = status.clone();
            }
            let result = match result {
                // The replica that answers is behind the one that said that the run has ended.
                Ok(receipt) if matches!(receipt.status, RunStatus::Queued | RunStatus::Running) => {
                    let status = receipt.status.to_string();
                    Err(Error::new(Kind::NotFinished { status }))
                }
                result => result,
            };
            match result {
                // The output exists and is filled in at a later read.
                Ok(receipt) if receipt.is_output_pending() && pending_reads < MAX_PENDING_READS => {
                    pending_reads += 1;
                    last_receipt = Some(receipt);
                    clock::sleep(REPLICA_POLL_INTERVAL).await;
                }
                Ok(receipt) => return self.check_status(receipt),
                Err(error) => match (retry.pause(self, error).await, last_receipt.take()) {
                    (Ok(()), receipt) => last_receipt = receipt,
                    (Err(_), Some(receipt)) => return self.check_status(receipt),
                    (Err(error), None) => return Err(error),
                },
            }
        }
    }

    fn check_status(&self, receipt: RunReceipt) -> Result<RunReceipt> {
        let is_success = match receipt.status {
            RunStatus::Completed => true,
            RunStatus::Failed | RunStatus::Skipped | RunStatus::Canceled => false,
            // Without any status, an output is a success.
            _ => {
                receipt.status.as_str().is_empty()
                    && receipt.error.is_none()
                    && receipt.output.is_some()
            }
        };
        if is_success {
            return Ok(receipt);
        }
        let receipt = Box::new(receipt);
        Err(self.annotate(Error::new(Kind::RunEnded { receipt })))
    }
}

impl Handle<FormatRun> {
    /// Lists the phases of the run so far, oldest first.
    pub fn events(&self) -> Call<Page<RunEvent>> {
        Call::list(&self.core, Operation::FormatRunsEvents, &[self.id()])
            .with_resource(self.resource_ref())
    }

    /// Sends the run's terminal receipt to its webhook URL again.
    ///
    /// # Errors
    ///
    /// Awaiting it returns an error with code `webhook_not_configured` if the run has no webhook URL,
    /// and with code `run_not_terminal` while it is in progress.
    pub fn redeliver_webhook(&self) -> Call<Redelivery> {
        self.call(Operation::FormatRunsWebhookRedeliver)
    }
}

impl Sealed for RunStatusPayload {}

impl PollStatus for RunStatusPayload {
    fn unknown() -> Self {
        Self::default()
    }

    fn is_finished(&self) -> bool {
        let awaits_result =
            self.status == Some(RunStatus::Completed) && self.result_ready == Some(false);
        self.is_terminal() && !awaits_result
    }

    fn poll_after(&self) -> Option<Duration> {
        self.poll_after
    }
}

#[cfg(test)]
mod tests;
