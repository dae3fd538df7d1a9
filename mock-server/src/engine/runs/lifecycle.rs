//! How a run goes: it starts, works, spends, ends, and lets the next one of its queue begin.

use std::time::Duration;

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::Usd;

use super::output::can_satisfy_schema;
use super::{PlannedOutcome, QueuePosition, Run, RunConfig, RunError, Spend};
use crate::engine::jobs::Artifact;
use crate::engine::ledger::{EntryKind, InsufficientBalance, Subject};
use crate::engine::timers::TimerEvent;
use crate::engine::{Ended, State, Time, Timeline};
use crate::media;

/// The tenths of its time at which a run goes on to its next piece of work.
const WORK_TENTHS: [u8; 4] = [3, 5, 7, 9];
/// When what it makes is made.
const ARTIFACTS_READY_TENTH: u8 = 5;
/// When the last piece is finished.
const LAST_CAPTURE_TENTH: u8 = 9;

impl RunConfig {
    /// The most that its workspace can be billed for it.
    pub(crate) fn max_cost(&self) -> Usd {
        if self.has_spending() {
            self.cost.min(self.cap)
        } else {
            Usd::ZERO
        }
    }

    /// Whether it gets to spend anything.
    fn has_spending(&self) -> bool {
        match &self.planned_outcome {
            PlannedOutcome::Skipped => false,
            PlannedOutcome::Fails(code) => *code != ErrorCode::McpUnavailable,
            PlannedOutcome::Completes | PlannedOutcome::Degraded => true,
        }
    }

    /// Whether it gets to make what it makes.
    fn makes_artifacts(&self) -> bool {
        let nothing_made = PlannedOutcome::Fails(ErrorCode::DeliverableMissing);
        self.makes_image && self.has_spending() && self.planned_outcome != nothing_made
    }
}

impl Run {
    /// How it ends by itself.
    fn end(&self) -> (RunStatus, Option<RunError>) {
        let run_error = |code: ErrorCode, message: String| {
            (RunStatus::Failed, Some(RunError { code, message }))
        };
        match &self.config.planned_outcome {
            PlannedOutcome::Skipped => (RunStatus::Skipped, None),
            PlannedOutcome::Degraded => (RunStatus::Completed, None),
            PlannedOutcome::Fails(code) => {
                run_error(code.clone(), format!("The run failed: {code}."))
            }
            PlannedOutcome::Completes if can_satisfy_schema(self) => (RunStatus::Completed, None),
            PlannedOutcome::Completes => run_error(
                ErrorCode::OutputSchemaUnsatisfied,
                "Nothing that the agent could make fits the output_schema.".to_owned(),
            ),
        }
    }
}

impl State {
    /// Begins a run, and gives its number.
    pub(crate) fn start_new_run(
        &mut self,
        config: RunConfig,
        place: Option<QueuePosition>,
        at: Time,
    ) -> usize {
        let timeline = Timeline::new(
            at,
            Duration::from_micros(config.duration_micros),
            config.stuck,
        );
        let (width, height) = media::dimensions("720p", "1:1");
        let files = usize::from(config.makes_artifacts());
        let artifacts = (0..files).map(|_| {
            let seed = self.rng.next();
            Artifact {
                id: self.rng.id("art"),
                token: self.rng.token(32),
                spec: media::Spec::Image {
                    width,
                    height,
                    seed,
                },
            }
        });
        let artifacts = artifacts.collect();
        let spend = match config.has_spending() {
            true => Spend::new(config.cost, config.cap),
            false => Spend::default(),
        };
        let run = Run {
            id: self.rng.id("run"),
            queue_position: place,
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
            config,
        };
        let number = self.runs.add(run);
        for (moment, due) in run_timers(number, timeline) {
            self.timers.set(moment, due);
        }
        number
    }

    pub(crate) fn start_run(&mut self, number: usize, at: Time) {
        let Some(run) = self.runs.get_mut(number) else {
            return;
        };
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

    /// A piece of work is finished and the next one begins, unless the cap or the wallet forbid.
    pub(crate) fn advance_run(&mut self, number: usize, tenths: u8, at: Time) {
        let Some(run) = self.runs.get_mut(number) else {
            return;
        };
        if tenths == ARTIFACTS_READY_TENTH {
            run.artifacts_ready = true;
        }
        // Its time was over before the last piece was finished.
        let unfinished =
            run.config.planned_outcome == PlannedOutcome::Fails(ErrorCode::IncompleteAssembly);
        if tenths == LAST_CAPTURE_TENTH && unfinished {
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
            // What was reserved when it began covers this.
            let booked = self.post_run_entry(number, EntryKind::Capture, amount, at);
            debug_assert!(booked.is_ok(), "capture of {number}: {booked:?}");
        }
        if let Some(run) = self.runs.get_mut(number) {
            run.spend.capture_reserved();
        }
    }

    fn reserve_piece(&mut self, number: usize, at: Time) {
        let Some(run) = self.runs.get(number) else {
            return;
        };
        let Some(amount) = run.spend.next_piece() else {
            return;
        };
        let cap = run.config.cap;
        let within = run
            .spend
            .billable()
            .checked_add(amount)
            .is_some_and(|sum| sum <= cap);
        let refused = if !within {
            Some(format!("The run tried to spend past its cap of {cap} USD."))
        } else if let Err(short) = self.post_run_entry(number, EntryKind::Reservation, amount, at) {
            let available = short.available;
            Some(format!(
                "The wallet has {available} USD left, too little to go on."
            ))
        } else {
            None
        };
        match refused {
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

    /// Ends a run that has not ended. What it finished stays billed, what it began goes back.
    pub(crate) fn end_run(
        &mut self,
        number: usize,
        status: RunStatus,
        run_error: Option<RunError>,
        at: Time,
    ) {
        let Some(run) = self.runs.get(number) else {
            return;
        };
        if run.status.is_terminal() {
            return;
        }
        let (timeline, pending) = (run.timeline, run.spend.pending());
        let place = run.queue_position.clone();
        for (moment, due) in run_timers(number, timeline) {
            self.timers.cancel(moment, due);
        }
        if let Some(amount) = pending.filter(|amount| *amount > Usd::ZERO) {
            let booked = self.post_run_entry(number, EntryKind::Refund, amount, at);
            debug_assert!(booked.is_ok(), "refund of {number}: {booked:?}");
        }
        if let Some(run) = self.runs.get_mut(number) {
            run.spend.settle();
            // Only of what completed there is something to harvest.
            run.output_pending &= status == RunStatus::Completed;
        }
        self.runs.set_status(number, status, run_error, at);
        self.note_ended(Ended::Run(number));
        if let Some(place) = place {
            self.start_queued_runs(&place.queue_id, at);
        }
    }

    fn post_run_entry(
        &mut self,
        number: usize,
        kind: EntryKind,
        amount: Usd,
        at: Time,
    ) -> Result<(), InsufficientBalance> {
        let Some(run) = self.runs.get(number) else {
            return Ok(());
        };
        let subject = Subject::Run(run.id.clone());
        let id = self.rng.id("ent");
        self.ledger
            .book(&run.config.workspace, id, kind, amount, subject, at)
    }
}

/// All that falls due for a run.
pub(crate) fn run_timers(
    number: usize,
    timeline: Timeline,
) -> impl Iterator<Item = (Time, TimerEvent)> {
    let starts = (timeline.starts_at(), TimerEvent::RunStarts(number));
    let works = WORK_TENTHS.map(|tenths| {
        let at = timeline.after_tenths(u64::from(tenths));
        (at, TimerEvent::RunWorks(number, tenths))
    });
    let ends = timeline
        .ends_at()
        .map(|at| (at, TimerEvent::RunEnds(number)));
    [starts].into_iter().chain(works).chain(ends)
}
