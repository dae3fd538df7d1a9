//! The lifecycle of a run: it starts, spends in pieces, ends, and lets its queue start the next run.

use std::time::Duration;

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::Usd;

use super::output::can_satisfy_schema;
use super::{PlannedOutcome, QueuePosition, Run, RunConfig, RunError, Spend};
use crate::engine::jobs::Artifact;
use crate::engine::ledger::{EntryKind, InsufficientBalance, Subject, organization_account};
use crate::engine::timers::TimerEvent;
use crate::engine::{Ended, State, Time, Timeline};
use crate::media;

/// The tenths of its duration at which a run progresses to the next piece.
const WORK_TENTHS: [u8; 4] = [3, 5, 7, 9];
const ARTIFACTS_READY_TENTH: u8 = 5;
/// The tenth at which the last piece is captured.
const LAST_CAPTURE_TENTH: u8 = 9;

impl RunConfig {
    /// Returns the maximum amount that the workspace can be billed.
    pub(crate) fn max_cost(&self) -> Usd {
        if self.has_spending() { self.cost.min(self.cap) } else { Usd::ZERO }
    }

    pub(crate) fn account(&self) -> String {
        match self.paid_by_organization {
            true => organization_account(&self.workspace),
            false => self.workspace.clone(),
        }
    }

    fn has_spending(&self) -> bool {
        match &self.planned_outcome {
            PlannedOutcome::Skipped => false,
            PlannedOutcome::Fails(code) => *code != ErrorCode::McpUnavailable,
            PlannedOutcome::Completes | PlannedOutcome::Degraded => true,
        }
    }

    /// Returns `true` if the run is planned to create its artifacts.
    fn makes_artifacts(&self) -> bool {
        let missing = PlannedOutcome::Fails(ErrorCode::DeliverableMissing);
        self.makes_image && self.has_spending() && self.planned_outcome != missing
    }
}

impl Run {
    /// Returns the planned terminal status and error.
    fn end(&self) -> (RunStatus, Option<RunError>) {
        let failed = |code: ErrorCode, message: String| {
            (RunStatus::Failed, Some(RunError { code, message }))
        };
        match &self.config.planned_outcome {
            PlannedOutcome::Skipped => (RunStatus::Skipped, None),
            PlannedOutcome::Degraded => (RunStatus::Completed, None),
            PlannedOutcome::Fails(code) => failed(code.clone(), format!("The run failed: {code}.")),
            PlannedOutcome::Completes if can_satisfy_schema(self) => (RunStatus::Completed, None),
            PlannedOutcome::Completes => failed(
                ErrorCode::OutputSchemaUnsatisfied,
                "The output does not fit the output_schema.".to_owned(),
            ),
        }
    }
}

impl State {
    /// Creates a run and returns its index.
    pub(crate) fn start_new_run(
        &mut self,
        config: RunConfig,
        position: Option<QueuePosition>,
        at: Time,
    ) -> usize {
        let timeline =
            Timeline::new(at, Duration::from_micros(config.duration_micros), config.stuck);
        let (width, height) = media::dimensions("720p", "1:1");
        let files = usize::from(config.makes_artifacts());
        let artifacts = (0..files).map(|_| {
            let seed = self.rng.next();
            Artifact {
                id: self.rng.id("art").into(),
                token: self.rng.token(32).into(),
                spec: media::Spec::Image { width, height, seed },
            }
        });
        let artifacts = artifacts.collect();
        let spend = match config.has_spending() {
            true => Spend::new(config.cost, config.cap),
            false => Spend::default(),
        };
        let run = Run {
            id: self.rng.id("run"),
            queue_position: position,
            status: RunStatus::Queued,
            started: false,
            updated_at: at,
            timeline,
            spend,
            error: None,
            artifacts,
            artifacts_ready: false,
            output_pending: config.harvest_unavailable,
            remaining_outages: config.outages,
            generation_job_end: None,
            config,
        };
        let number = self.runs.add(run);
        for (at, event) in run_timers(number, timeline) {
            self.timers.set(at, event);
        }
        number
    }

    pub(crate) fn start_run(&mut self, number: usize, at: Time) {
        let Some(run) = self.runs.get_mut(number) else { return };
        if run.status != RunStatus::Queued {
            return;
        }
        if run.config.planned_outcome == PlannedOutcome::Skipped {
            self.end_run(number, RunStatus::Skipped, None, at);
        } else {
            run.started = true;
            self.runs.set_status(number, RunStatus::Running, None, at);
        }
    }

    /// Captures the current piece and reserves the next one. The run fails if the next piece would
    /// exceed the cap or the balance.
    pub(crate) fn advance_run(&mut self, number: usize, tenths: u8, at: Time) {
        let Some(run) = self.runs.get_mut(number) else { return };
        if tenths == ARTIFACTS_READY_TENTH {
            run.artifacts_ready = true;
        }
        // An incomplete assembly runs out of time before the last piece is finished.
        let is_incomplete =
            run.config.planned_outcome == PlannedOutcome::Fails(ErrorCode::IncompleteAssembly);
        if tenths == LAST_CAPTURE_TENTH && is_incomplete {
            return;
        }
        self.capture_piece(number, at);
        if tenths != LAST_CAPTURE_TENTH {
            self.reserve_piece(number, at);
        }
    }

    fn capture_piece(&mut self, number: usize, at: Time) {
        let pending = self.runs.get(number).and_then(|run| run.spend.pending());
        if let Some(amount) = pending.filter(|amount| *amount > Usd::ZERO) {
            // The reservation of the piece covers this entry.
            let booked = self.post_run_entry(number, EntryKind::Capture, amount, at);
            debug_assert!(booked.is_ok(), "capture of {number}: {booked:?}");
        }
        if let Some(run) = self.runs.get_mut(number) {
            run.spend.capture_reserved();
        }
    }

    fn reserve_piece(&mut self, number: usize, at: Time) {
        let Some(run) = self.runs.get(number) else { return };
        let Some(amount) = run.spend.next_piece() else { return };
        let cap = run.config.cap;
        let is_within_cap = run.spend.billable().checked_add(amount).is_some_and(|sum| sum <= cap);
        let failure = if !is_within_cap {
            Some(format!("The run tried to exceed its cap of {cap} USD."))
        } else if let Err(error) = self.post_run_entry(number, EntryKind::Reservation, amount, at) {
            let available = error.available;
            Some(format!("The balance of {available} USD does not cover the next piece."))
        } else {
            None
        };
        match failure {
            Some(message) => {
                let code = ErrorCode::FormatRunFailed;
                let run_error = Some(RunError { code, message });
                self.end_run(number, RunStatus::Failed, run_error, at);
            }
            None => {
                if let Some(run) = self.runs.get_mut(number) {
                    run.spend.reserve_next();
                }
            }
        }
    }

    pub(crate) fn finish_run(&mut self, number: usize, at: Time) {
        if let Some((status, run_error)) = self.runs.get(number).map(Run::end) {
            self.end_run(number, status, run_error, at);
        }
    }

    /// Ends a run that is still in flight. Captured pieces stay billed; the reserved piece is
    /// refunded.
    pub(crate) fn end_run(
        &mut self,
        number: usize,
        status: RunStatus,
        run_error: Option<RunError>,
        at: Time,
    ) {
        let Some(run) = self.runs.get(number) else { return };
        if run.status.is_terminal() {
            return;
        }
        let (timeline, pending) = (run.timeline, run.spend.pending());
        let position = run.queue_position.clone();
        for (at, event) in run_timers(number, timeline) {
            self.timers.cancel(at, event);
        }
        if let Some(amount) = pending.filter(|amount| *amount > Usd::ZERO) {
            let booked = self.post_run_entry(number, EntryKind::Refund, amount, at);
            debug_assert!(booked.is_ok(), "refund of {number}: {booked:?}");
        }
        if let Some(run) = self.runs.get_mut(number) {
            run.spend.settle();
            // Only completed runs have output.
            run.output_pending &= status == RunStatus::Completed;
        }
        self.runs.set_status(number, status, run_error, at);
        self.note_ended(at, Ended::Run(number));
        if let Some(position) = position {
            self.start_queued_runs(&position.queue_id, at);
        }
    }

    fn post_run_entry(
        &mut self,
        number: usize,
        kind: EntryKind,
        amount: Usd,
        at: Time,
    ) -> Result<(), InsufficientBalance> {
        let Some(run) = self.runs.get(number) else { return Ok(()) };
        let subject = Subject::Run(run.id.as_str().into());
        let id = self.rng.id("ent");
        self.ledger.book(&run.config.account(), id, kind, amount, subject, at)
    }
}

pub(crate) fn run_timers(
    number: usize,
    timeline: Timeline,
) -> impl Iterator<Item = (Time, TimerEvent)> {
    let start = (timeline.starts_at(), TimerEvent::RunStarts(number));
    let work = WORK_TENTHS.map(|tenths| {
        let at = timeline.after_tenths(u64::from(tenths));
        (at, TimerEvent::RunWorks(number, tenths))
    });
    let end = timeline.ends_at().map(|at| (at, TimerEvent::RunEnds(number)));
    [start].into_iter().chain(work).chain(end)
}
