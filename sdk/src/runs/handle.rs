//! A run in one's hand.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::{FormatRun, Kind};
use crate::call::clock::{self, Instant};
use crate::call::{Call, Request};
use crate::contract::{Operation, RunStatus};
use crate::developer::Client;
use crate::download::{Downloaded, Files, OnProgress};
use crate::error::{self, Error, Result};
use crate::sealed::Sealed;
use crate::submit::{Started, Submitted};
use crate::surface::Developer;
use crate::types::{
    IdempotencyKey, Page, Redelivery, RunEvent, RunId, RunReceipt, RunStatusPayload,
};
use crate::wait::watched::{self, BEHIND, LastLook, Look};
use crate::wait::{Standing, Updates, WaitOptions, Watched};

/// How often a receipt whose output is still to come is read again by a wait.
const SETTLING_READS: u32 = 5;

/// A run: to be watched, waited for, canceled and downloaded.
///
/// A start gives one, and [`Client::action_run`], [`Client::format_run`] and [`Client::agent_run`]
/// rebuild one from an id alone. Dropping it does nothing to the run.
///
/// A run of an Action has no timeline, so that asking for it does not compile:
///
/// ```compile_fail,E0599
/// # async fn run(client: svc_sdk::developer::Client) {
/// client.action_run("run_1").events();
/// # }
/// ```
///
/// ```no_run
/// # async fn run(client: svc_sdk::developer::Client) -> svc_sdk::Result<()> {
/// for event in client.format_run("run_1").events().await? {
///     println!("{:?} {:?}", event.created_at, event.phase);
/// }
/// # Ok(())
/// # }
/// ```
pub struct RunHandle<K> {
    client: Client,
    id: RunId,
    started: Option<Arc<Submitted<RunReceipt>>>,
    kind: PhantomData<K>,
}

impl<K: Kind> RunHandle<K> {
    pub(crate) fn from_id(client: Client, id: RunId) -> Self {
        Self {
            client,
            id,
            started: None,
            kind: PhantomData,
        }
    }

    /// Identifies the run: with its kind, all that is needed to take it up again.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The receipt that the start was answered with; none where the handle was rebuilt from an id.
    #[must_use]
    pub fn receipt(&self) -> Option<&RunReceipt> {
        Some(&self.started.as_ref()?.receipt)
    }

    /// The key that it was started with; none where the handle was rebuilt from an id.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&IdempotencyKey> {
        self.started.as_ref()?.idempotency_key.as_ref()
    }

    /// Whether the start found a run that an earlier one with the same key had started.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.started.as_ref().is_some_and(|it| it.answered_200)
    }

    /// One look at how it stands.
    ///
    /// # Errors
    ///
    /// Where it could not be read.
    pub async fn status(&self) -> Result<RunStatusPayload> {
        let call: Call<RunStatusPayload> = self.call(K::STATUS);
        call.send().await.map_err(|error| self.owned(error))
    }

    /// Its receipt, as far as it is.
    ///
    /// # Errors
    ///
    /// Where it could not be read.
    pub async fn get(&self) -> Result<RunReceipt> {
        let call: Call<RunReceipt> = self.call(K::GET);
        call.send().await.map_err(|error| self.owned(error))
    }

    /// Its terminal receipt, however it ended.
    ///
    /// # Errors
    ///
    /// Where it could not be read, or it is too early (`run_not_completed`).
    pub async fn result(&self) -> Result<RunReceipt> {
        let call: Call<RunReceipt> = self.call(K::RESULT);
        call.send().await.map_err(|error| self.owned(error))
    }

    /// Cancels it. What it did until then is billed; of a run that has ended nothing changes.
    ///
    /// # Errors
    ///
    /// Where it could not be asked.
    pub async fn cancel(&self) -> Result<RunReceipt> {
        let call: Call<RunReceipt> = self.call(K::CANCEL);
        call.send().await.map_err(|error| self.owned(error))
    }

    /// Its updates until it is terminal.
    pub fn updates(&self) -> Updates<Self> {
        self.updates_with(WaitOptions::default())
    }

    /// Its updates until it is terminal; of the options, only the patience counts.
    pub fn updates_with(&self, options: WaitOptions) -> Updates<Self> {
        Updates::new(self.clone(), options)
    }

    /// Waits until it has completed, for 20 minutes at most.
    ///
    /// An output that exists and could not be read yet
    /// ([`is_output_pending`](RunReceipt::is_output_pending)) is waited for a few seconds more.
    ///
    /// ```no_run
    /// # async fn run(client: svc_sdk::developer::Client) {
    /// match client.format_run("run_1").wait().await {
    ///     Ok(receipt) if receipt.is_degraded() => println!("media, but no output"),
    ///     Ok(receipt) => println!("{:?}", receipt.output),
    ///     Err(error) if error.run_receipt().is_some() => println!("it ended: {error}"),
    ///     Err(error) => println!("could not wait: {error}"),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Where it ended otherwise ([`is_run_failed`](Error::is_run_failed),
    /// [`is_run_canceled`](Error::is_run_canceled), [`is_run_skipped`](Error::is_run_skipped), each
    /// with the receipt), where it could not be asked
    /// ([`is_poll_unreachable`](Error::is_poll_unreachable)), and at the deadline
    /// ([`is_wait_deadline`](Error::is_wait_deadline)). Each carries the run's id.
    pub async fn wait(&self) -> Result<RunReceipt> {
        self.wait_with(WaitOptions::default()).await
    }

    /// Waits until it has completed, with a deadline of one's own or none.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub async fn wait_with(&self, options: WaitOptions) -> Result<RunReceipt> {
        let deadline = options.deadline.map(clock::after);
        watched::until_through(self, &options, deadline).await?;
        self.outcome_by(LastLook::of_a_wait(options, deadline))
            .await
    }

    /// What a terminal run came to: its receipt, or the error that it ended with.
    ///
    /// # Errors
    ///
    /// Where it did not complete, or could not be read.
    pub async fn outcome(&self) -> Result<RunReceipt> {
        self.outcome_by(LastLook::alone(self.client.core.deadline))
            .await
    }

    async fn outcome_by(&self, mut last: LastLook) -> Result<RunReceipt> {
        let mut settling = 0;
        let mut had = None;
        loop {
            let call: Call<RunReceipt> = self.call(K::RESULT);
            let call = last.within(call, self.client.core.deadline);
            let read = match call.send().await {
                // What answers is behind what said that it has ended.
                Ok(receipt) if matches!(receipt.status, RunStatus::Queued | RunStatus::Running) => {
                    let status = receipt.status.to_string();
                    Err(Error::new(error::Kind::GoesOn { status }))
                }
                read => read,
            };
            match read {
                // The output is there and is filled in at a later read.
                Ok(receipt) if receipt.is_output_pending() && settling < SETTLING_READS => {
                    settling += 1;
                    had = Some(receipt);
                    clock::sleep(BEHIND).await;
                }
                Ok(receipt) => return self.judged(receipt),
                Err(error) => match (last.bear(self, error).await, had.take()) {
                    (Ok(()), receipt) => had = receipt,
                    (Err(_), Some(receipt)) => return self.judged(receipt),
                    (Err(error), None) => return Err(error),
                },
            }
        }
    }

    fn judged(&self, receipt: RunReceipt) -> Result<RunReceipt> {
        let ended_well = match receipt.status {
            RunStatus::Completed => true,
            RunStatus::Failed | RunStatus::Skipped | RunStatus::Canceled => false,
            // A terminal status that this build does not know: the error tells.
            _ => receipt.error.is_none(),
        };
        if ended_well {
            return Ok(receipt);
        }
        let receipt = Box::new(receipt);
        Err(self.owned(Error::new(error::Kind::RunEnded { receipt })))
    }

    /// Downloads all that it generated into a folder, even where it failed.
    ///
    /// # Errors
    ///
    /// Where the receipt could not be read, it is too early (`run_not_completed`), or a file could not be fetched or written; the files
    /// are still there, so download them again.
    pub async fn download(&self, folder: impl AsRef<Path>) -> Result<Vec<Downloaded>> {
        let receipt = self.result().await?;
        self.download_receipt(&receipt, folder, None).await
    }

    /// Downloads the files of a receipt that was read already, and tells how far it is.
    ///
    /// # Errors
    ///
    /// As [`download`](Self::download).
    pub async fn download_receipt(
        &self,
        receipt: &RunReceipt,
        folder: impl AsRef<Path>,
        on_progress: Option<OnProgress>,
    ) -> Result<Vec<Downloaded>> {
        let files = Files {
            transport: self.client.transport(),
            owner: self.id.as_str(),
            artifacts: &receipt.artifacts,
        };
        let downloaded = files.to_folder(folder.as_ref(), on_progress.as_ref()).await;
        downloaded.map_err(|error| self.owned(error))
    }

    fn call<T: serde::de::DeserializeOwned>(&self, operation: Operation) -> Call<T> {
        Call::new(&self.client.core, Request::new(operation, &[&self.id]))
    }
}

impl RunHandle<FormatRun> {
    /// Its phase timeline so far, oldest first.
    ///
    /// # Errors
    ///
    /// Where it could not be read.
    pub async fn events(&self) -> Result<Page<RunEvent>> {
        let call = self.client.format_runs_events(&self.id);
        call.send().await.map_err(|error| self.owned(error))
    }

    /// Sends its terminal receipt to its webhook URL again.
    ///
    /// # Errors
    ///
    /// Where it has no webhook URL (`webhook_not_configured`), or has not ended
    /// (`run_not_terminal`).
    pub async fn redeliver(&self) -> Result<Redelivery> {
        let call = self.client.format_runs_webhook_redeliver(&self.id);
        call.send().await.map_err(|error| self.owned(error))
    }
}

impl<K> Sealed for RunHandle<K> {}
impl Sealed for RunStatusPayload {}

impl<K: Kind> Watched for RunHandle<K> {
    type Status = RunStatusPayload;

    fn id(&self) -> &str {
        self.id.as_str()
    }

    fn told(&self) -> Option<RunStatusPayload> {
        let receipt = self.receipt()?;
        Some(RunStatusPayload {
            run_id: Some(self.id.clone()),
            kind: receipt.kind.clone(),
            // A replay's receipt is as it was: how the run stands is read.
            status: Some(receipt.status.clone()),
            poll_after: receipt.poll_after,
            usage: receipt.usage.clone(),
            ..RunStatusPayload::default()
        })
    }

    fn unknown(&self) -> RunStatusPayload {
        RunStatusPayload::default()
    }

    fn look(&self, due: Instant) -> Look<RunStatusPayload> {
        watched::look(&self.client, self.call(K::STATUS), due)
    }

    fn draw(&self) -> f64 {
        self.client.core.entropy.fraction()
    }

    fn owned(&self, error: Error) -> Error {
        error
            .with_run(&self.id, self.receipt())
            .with_key(self.idempotency_key())
    }
}

impl Standing for RunStatusPayload {
    fn is_through(&self) -> bool {
        let awaits_result =
            self.status == Some(RunStatus::Completed) && self.result_ready == Some(false);
        self.is_terminal() && !awaits_result
    }

    fn next_look_after(&self) -> Option<f64> {
        self.poll_after
            .as_ref()
            .map(std::time::Duration::as_secs_f64)
    }
}

impl<K: Kind> Started for RunHandle<K> {
    type Surface = Developer;
    type Receipt = RunReceipt;

    fn starts(operation: Operation) -> bool {
        K::STARTS.contains(&operation)
    }

    fn started(
        client: &Client,
        receipt: RunReceipt,
        idempotency_key: Option<&IdempotencyKey>,
        answered_200: bool,
    ) -> Option<Self> {
        Some(Self {
            client: client.clone(),
            id: receipt.id()?,
            started: Some(Arc::new(Submitted {
                receipt,
                idempotency_key: idempotency_key.cloned(),
                answered_200,
            })),
            kind: PhantomData,
        })
    }

    fn found(error: Error, receipt: &Value) -> Error {
        let nested = || RunReceipt::id_in(receipt.get("run")?);
        match RunReceipt::id_in(receipt).or_else(nested) {
            Some(id) => error.with_run(&id, None),
            None => error,
        }
    }
}

impl<K> Clone for RunHandle<K> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            id: self.id.clone(),
            started: self.started.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for RunHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle")
            .field("id", &self.id)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}
