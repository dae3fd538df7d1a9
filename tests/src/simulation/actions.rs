//! What a client does besides submitting.

use std::sync::Arc;

use serde_json::Value;
use svc_sdk::contract::{Method, Operation, Surface};
use svc_sdk::handle::{Handle, Resource};
use svc_sdk::types::{
    MusicPick, SearchQuery, TestDeliveryCreate, VideoGenerate, WebhookEvent, WebhookEventStatus,
};
use svc_sdk::{Call, RawResponse, Result};
use tokio::task::JoinSet;

use super::mock::send;
use super::oracle::{Defect, Oracle};
use super::orders::Accepted;
use super::plan::{Action, Step};
use super::rng::Rng;
use super::session::Session;
use super::submission::{AnyHandle, with_handle};

/// How long a download may take, with all that goes wrong.
const DOWNLOAD_LIMIT_MS: u64 = 3_600_000;
/// The most pages of a list that are read.
const MAX_PAGES: usize = 10;
/// How much longer than its time limit a wait may read the result.
const RESULT_READ_MS: u64 = 10_000;

/// Makes a call, and drops what it gives.
macro_rules! call {
    ($session:expr, $call:expr) => {
        $session.call($call).await.map(|it| it.map(drop))
    };
}

impl Session {
    pub(super) async fn perform(self: &Arc<Self>, step: &Step) {
        let mut rng = Rng::derive(step.seed, 3);
        match step.action {
            Action::Submit => {
                if let Some(order) = self.new_order(&mut rng) {
                    self.submit(&order).await;
                }
            }
            Action::SubmitMany(count) => self.submit_many(count, &mut rng).await,
            Action::SubmitTwice => self.submit_twice(step, &mut rng).await,
            Action::Batch(count) => self.run_batch(count, &mut rng).await,
            Action::Read => self.read(&mut rng).await,
            Action::List => self.list(&mut rng).await,
            Action::Inspect => self.inspect(&mut rng).await,
            Action::Post => self.post(&mut rng).await,
            Action::Wait => {
                let limit = *rng.pick(&[5_000, 60_000, 600_000]);
                if let Some(accepted) = self.pick(&mut rng, false) {
                    self.wait(&accepted, limit).await;
                }
            }
            Action::CallTool => {
                if let Some(order) = self.new_tool_order(&mut rng) {
                    self.submit(&order).await;
                }
            }
            Action::Cancel => self.cancel(&mut rng).await,
            Action::Download => self.download(&mut rng).await,
            Action::Burst(count) => self.burst(&mut rng, count).await,
            Action::Webhooks => self.receive_webhooks().await,
            Action::RotateSecret => {
                let rotation = self.developer.webhooks().rotate_signing_secret();
                let outcome = self.call(rotation).await;
                self.trace_outcome("rotation", outcome.as_ref());
            }
            Action::Resolve => self.resolve().await,
            Action::Restore | Action::Outage(_) | Action::SettleTopUps => {}
        }
    }

    fn pick(&self, rng: &mut Rng, is_ended: bool) -> Option<Accepted> {
        self.orders().pick(rng, is_ended)
    }

    /// Reads any path of the contract, without types.
    async fn read(&self, rng: &mut Rng) {
        let all = Operation::ALL.iter().copied();
        let reads = all.filter(|operation| operation.method() == Method::Get);
        let operation = *rng.pick(&reads.collect::<Vec<_>>());
        let is_ended = rng.per_mille(500);
        let picked = self.pick(rng, is_ended);
        let id = picked.map_or_else(|| "unknown".to_owned(), |it| it.id);
        let segments = vec![id; operation.placeholders().count()];
        let path = operation.expand(&segments).unwrap_or_default();
        let is_open = match operation.surface() {
            Surface::Both => rng.per_mille(500),
            surface => surface == Surface::Open,
        };
        let outcome = self.call(self.raw_read(is_open, &path)).await;
        self.trace_outcome(operation.name(), outcome.as_ref());
    }

    /// Returns a request to one of the surfaces.
    fn raw_read(&self, is_open: bool, path: &str) -> Call<RawResponse> {
        match is_open {
            true => self.open.raw_request(Method::Get, path),
            false => self.developer.raw_request(Method::Get, path),
        }
    }

    fn trace_outcome<T>(&self, name: &str, outcome: Option<&Result<T>>) {
        self.trace(|| match outcome {
            Some(Ok(_)) => format!("  = {name} succeeded"),
            Some(Err(_)) => format!("  = {name} failed"),
            None => format!("  = {name} did not end"),
        });
    }

    async fn list(&self, rng: &mut Rng) {
        let limit = self.call_timeout_ms();
        let timeout = std::time::Duration::from_millis(limit);
        let size = rng.between(1, 50);
        let mut pages = self.developer.jobs().list().limit(size).timeout(timeout).pages();
        let (mut count, mut failures) = (0, 0);
        for _ in 0..MAX_PAGES {
            match self.within("jobs_list", limit, pages.next()).await {
                Some(Some(Ok(page))) => count += page.items.len(),
                Some(Some(Err(_))) => failures += 1,
                Some(None) | None => break,
            }
        }
        self.trace(|| format!("  = {count} jobs listed, {failures} failures"));
    }

    async fn inspect(&self, rng: &mut Rng) {
        let Some(Accepted { order, id }) = self.pick(rng, false) else { return };
        let choice = rng.below(3);
        let outcome = match (self.handle(order.kind(), &id), choice) {
            (AnyHandle::OpenJob(job), 0) => call!(self, job.get()),
            (AnyHandle::OpenJob(job), 1) => call!(self, job.result()),
            (AnyHandle::DeveloperJob(job), 0) => call!(self, job.events()),
            (AnyHandle::DeveloperJob(job), 1) => call!(self, job.result()),
            (AnyHandle::FormatRun(run), 0) => call!(self, run.events()),
            (AnyHandle::AgentRun(run), 0) => call!(self, run.result()),
            (handle, _) => with_handle!(handle, it => call!(self, it.status())),
        };
        self.trace_outcome(&id, outcome.as_ref());
    }

    /// Calls a `POST` that submits nothing.
    async fn post(&self, rng: &mut Rng) {
        let resource = self.pick(rng, true);
        let resource = resource.map(|it| self.handle(it.order.kind(), &it.id));
        let Self { open, developer, .. } = self;
        let outcome = match rng.below(6) {
            0 => {
                let body = VideoGenerate::new("video-f").prompt("a fox");
                call!(self, open.estimates().create(&body))
            }
            1 => call!(self, developer.background_music().pick(MusicPick::new())),
            2 => call!(self, developer.trending().search(SearchQuery::new("dance"))),
            3 => call!(self, developer.avatars().search(SearchQuery::new("ada"))),
            4 => {
                let hook = format!("https://hooks.example.com/c{}/test", self.client);
                call!(self, developer.webhooks().send_test(TestDeliveryCreate::new(hook)))
            }
            _ => match resource {
                Some(AnyHandle::DeveloperJob(job)) => call!(self, job.redeliver_webhook()),
                Some(AnyHandle::FormatRun(run)) => call!(self, run.redeliver_webhook()),
                _ => return,
            },
        };
        self.trace_outcome("post", outcome.as_ref());
    }

    /// Waits for what was accepted, and acknowledges it if it has ended. Returns whether it has.
    pub(super) async fn wait(&self, accepted: &Accepted, limit_ms: u64) -> bool {
        let Some(handle) = self.handle_of(accepted).await else { return false };
        let has_ended = with_handle!(&handle, it => self.wait_for(it, limit_ms).await);
        if has_ended {
            handle.acknowledge().await.unwrap();
            self.orders().finish(&accepted.id);
        }
        has_ended
    }

    async fn wait_for<R: Resource>(&self, handle: &Handle<R>, limit_ms: u64) -> bool {
        let timeout = std::time::Duration::from_millis(limit_ms);
        let wait = handle.wait().timeout(timeout).webhook_notifier(&self.events);
        let id = handle.id().as_ref();
        let name = format!("the wait for {id}");
        let outcome = self.within(&name, limit_ms + RESULT_READ_MS, wait).await;
        let has_ended = match &outcome {
            None => false,
            Some(Ok(_)) => true,
            Some(Err(error)) => error.terminal_status().is_some(),
        };
        self.trace(|| match &outcome {
            Some(Err(error)) => format!("  = {name}: {}", self.describe(error)),
            _ => format!("  = {name}: {has_ended}"),
        });
        has_ended
    }

    async fn cancel(&self, rng: &mut Rng) {
        let Some(Accepted { order, id }) = self.pick(rng, false) else { return };
        let outcome = match self.handle(order.kind(), &id) {
            AnyHandle::OpenJob(job) => call!(self, job.cancel()),
            AnyHandle::DeveloperJob(job) => call!(self, job.cancel()),
            AnyHandle::ActionRun(run) => call!(self, run.cancel()),
            AnyHandle::FormatRun(run) => call!(self, run.cancel()),
            AnyHandle::AgentRun(run) => call!(self, run.cancel()),
            AnyHandle::Queue(_) | AnyHandle::TopUp(_) => return,
        };
        self.trace_outcome(&format!("cancel {id}"), outcome.as_ref());
    }

    /// Downloads the files of a job, and compares them with what the service has.
    async fn download(&self, rng: &mut Rng) {
        let Some(Accepted { order, id }) = self.pick(rng, true) else { return };
        let folder = self.folder.join(&id);
        let download = match self.handle(order.kind(), &id) {
            AnyHandle::OpenJob(job) => job.download(&folder),
            AnyHandle::DeveloperJob(job) => job.download(&folder),
            _ => return,
        };
        // The order of concurrent downloads depends on the threads that write the files.
        let download = download.concurrency(1);
        let outcome = self.within("download", DOWNLOAD_LIMIT_MS, download.into_future()).await;
        // The files were written by another thread: back to a moment of this client alone.
        self.world.sleep(self.slot(), 1).await;
        let Some(Ok(files)) = outcome else {
            self.trace(|| match outcome {
                Some(Err(error)) => format!("  = download of {id}: {}", self.describe(&error)),
                _ => format!("  = download of {id} did not end"),
            });
            return;
        };
        let mock = self.world.mock();
        let job = self.world.job(&id).await;
        let artifacts = job["result"]["artifacts"].as_array();
        let artifacts: Vec<&Value> = artifacts.into_iter().flatten().collect();
        for (file, artifact) in files.iter().zip(&artifacts) {
            let mut written = std::fs::read(&file.path).unwrap_or_default();
            if self.world.has(Defect::DownloadCutShort) {
                written.pop();
            }
            let url = artifact["url"].as_str().unwrap_or_default();
            let request = http::Request::get(url).body(bytes::Bytes::new()).unwrap();
            if send(&mock, request).await.unwrap().into_body() != written {
                self.world.violate(Oracle::Download, format!("a file of {id} is not the artifact"));
            }
        }
        if files.len() != artifacts.len() {
            self.world.violate(
                Oracle::Download,
                format!("{} of {} files of {id}", files.len(), artifacts.len()),
            );
        }
        self.trace(|| format!("  = {} files of {id} downloaded", files.len()));
    }

    /// Reads many times at once: more often than a small key allows in a minute.
    async fn burst(self: &Arc<Self>, rng: &mut Rng, count: u64) {
        let is_open = rng.per_mille(500);
        let path = Operation::JobsList.path();
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let session = Arc::clone(self);
            tasks.spawn(async move {
                // A short page, which does not grow with the simulation.
                let call = session.raw_read(is_open, path).query("limit", 1);
                let outcome = session.call(call).await;
                matches!(outcome, Some(Ok(_)))
            });
        }
        let mut succeeded = 0;
        while let Some(outcome) = tasks.join_next().await {
            succeeded += u64::from(outcome.unwrap());
        }
        self.trace(|| format!("  = {succeeded} of {count} reads succeeded"));
    }

    /// Verifies and stores the webhooks that have arrived.
    pub(super) async fn receive_webhooks(&self) {
        for delivery in self.world.take_webhooks(self.client) {
            let header = |name: &str| {
                let headers = &delivery.headers;
                let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                found.map_or("", |(_, value)| value.as_str())
            };
            let mut signature = header("x-svc-webhook-signature").to_owned();
            if self.world.has(Defect::WebhookSignedWrongly) {
                signature.push('0');
            }
            let is_signed = self.world.signing_secrets.have_signed(
                self.workspace(),
                delivery.at.as_micros(),
                header("x-svc-webhook-timestamp"),
                &delivery.body,
                &signature,
            );
            if !is_signed {
                self.world.violate(
                    Oracle::Webhook,
                    format!("the webhook {} is signed wrongly", delivery.event),
                );
                continue;
            }
            let event: WebhookEvent = serde_json::from_slice(&delivery.body).unwrap();
            self.events.notify(&event);
            let id = event.job_id.as_ref().map(ToString::to_string);
            let id = id.or_else(|| event.run_id().map(|id| id.to_string()));
            let accepted = id.as_deref().and_then(|id| self.orders().by_id(id));
            if let Some(Accepted { order, id }) = accepted
                && let Some(entry) = self.journal.find("", &order.name).await.unwrap()
            {
                let is_completed = event.status == Some(WebhookEventStatus::Ok);
                let status = if is_completed { "completed" } else { "failed" };
                let recording = self.journal.record_end(&entry.id, status, None);
                recording.await.unwrap();
                self.orders().note_end(&id);
            }
            self.trace(|| {
                format!("  = webhook {} of {}", delivery.event, id.as_deref().unwrap_or("nothing"))
            });
        }
    }
}
