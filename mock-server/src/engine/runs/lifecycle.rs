//! How a run goes: it starts, works, spends, ends, and lets the next one of its queue begin.

use std::time::Duration;

use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::Usd;

use super::output::can_deliver;
use super::{Failing, Fate, Order, Place, Run, Spend};
use crate::engine::jobs::Artifact;
use crate::engine::ledger::{EntryKind, Subject, Uncovered};
use crate::engine::timers::Due;
use crate::engine::{Ended, State, Time, Timeline};
use crate::media;

/// The tenths of its time at which a run goes on to its next piece of work.
const WORKS_AT: [u8; 4] = [3, 5, 7, 9];
/// When what it makes is made.
const MADE_AT: u8 = 5;
/// When the last piece is finished.
const FINISHED_AT: u8 = 9;

impl Order {
    /// The most that its workspace can be billed for it.
    pub(crate) fn needs(&self) -> Usd {
        if self.spends() {
            self.cost.min(self.cap)
        } else {
            Usd::ZERO
        }
    }

    /// Whether it gets to spend anything.
    fn spends(&self) -> bool {
        match &self.fate {
            Fate::Skipped => false,
            Fate::Fails(code) => *code != ErrorCode::McpUnavailable,
            Fate::Completes | Fate::Degraded => true,
        }
    }

    /// Whether it gets to make what it makes.
    fn makes(&self) -> bool {
        let nothing_made = Fate::Fails(ErrorCode::DeliverableMissing);
        self.makes_image && self.spends() && self.fate != nothing_made
    }
}

impl Run {
    /// How it ends by itself.
    fn end(&self) -> (RunStatus, Option<Failing>) {
        let failing =
            |code: ErrorCode, message: String| (RunStatus::Failed, Some(Failing { code, message }));
        match &self.order.fate {
            Fate::Skipped => (RunStatus::Skipped, None),
            Fate::Degraded => (RunStatus::Completed, None),
            Fate::Fails(code) => failing(code.clone(), format!("The run failed: {code}.")),
            Fate::Completes if can_deliver(self) => (RunStatus::Completed, None),
            Fate::Completes => failing(
                ErrorCode::OutputSchemaUnsatisfied,
                "Nothing that the agent could make fits the output_schema.".to_owned(),
            ),
        }
    }
}

impl State {
    /// Begins a run, and gives its number.
    pub(crate) fn begin_run(&mut self, order: Order, place: Option<Place>, at: Time) -> usize {
        let course = Timeline::new(at, Duration::from_micros(order.takes), order.stuck);
        let (width, height) = media::dimensions("720p", "1:1");
        let files = usize::from(order.makes());
        let artifacts = (0..files).map(|_| {
            let seed = self.chance.next();
            Artifact {
                id: self.chance.id("art"),
                token: self.chance.token(32),
                spec: media::Spec::Image {
                    width,
                    height,
                    seed,
                },
            }
        });
        let artifacts = artifacts.collect();
        let spend = match order.spends() {
            true => Spend::of(order.cost, order.cap),
            false => Spend::default(),
        };
        let run = Run {
            id: self.chance.id("run"),
            place,
            status: RunStatus::Queued,
            started: false,
            updated_at: at,
            course,
            spend,
            failing: None,
            artifacts,
            made: false,
            unharvested: order.harvest_unavailable,
            outages: order.outages,
            order,
        };
        let number = self.runs.add(run);
        for (moment, due) in run_moments(number, course) {
            self.timers.set(moment, due);
        }
        number
    }

    pub(crate) fn run_starts(&mut self, number: usize, at: Time) {
        let Some(run) = self.runs.get_mut(number) else {
            return;
        };
        if run.status != RunStatus::Queued {
            return;
        }
        if run.order.fate == Fate::Skipped {
            self.end_run(number, RunStatus::Skipped, None, at);
        } else {
            run.started = true;
            self.runs.turn(number, RunStatus::Running, None, at);
        }
    }

    /// A piece of work is finished and the next one begins, unless the cap or the wallet forbid.
    pub(crate) fn run_works(&mut self, number: usize, tenths: u8, at: Time) {
        let Some(run) = self.runs.get_mut(number) else {
            return;
        };
        if tenths == MADE_AT {
            run.made = true;
        }
        // Its time was over before the last piece was finished.
        let unfinished = run.order.fate == Fate::Fails(ErrorCode::IncompleteAssembly);
        if tenths == FINISHED_AT && unfinished {
            return;
        }
        self.finish_piece(number, at);
        if tenths != FINISHED_AT {
            self.begin_piece(number, at);
        }
    }

    fn finish_piece(&mut self, number: usize, at: Time) {
        let pending = self.runs.get(number).and_then(|run| run.spend.pending());
        if let Some(amount) = pending.filter(|amount| *amount > Usd::ZERO) {
            // What was reserved when it began covers this.
            let booked = self.book_for_run(number, EntryKind::Capture, amount, at);
            debug_assert!(booked.is_ok(), "capture of {number}: {booked:?}");
        }
        if let Some(run) = self.runs.get_mut(number) {
            run.spend.finish();
        }
    }

    fn begin_piece(&mut self, number: usize, at: Time) {
        let Some(run) = self.runs.get(number) else {
            return;
        };
        let Some(amount) = run.spend.next() else {
            return;
        };
        let cap = run.order.cap;
        let within = run
            .spend
            .billable()
            .plus(amount)
            .is_some_and(|sum| sum <= cap);
        let refused = if !within {
            Some(format!("The run tried to spend past its cap of {cap} USD."))
        } else if let Err(short) = self.book_for_run(number, EntryKind::Reservation, amount, at) {
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
                let failing = Some(Failing { code, message });
                self.end_run(number, RunStatus::Failed, failing, at);
            }
            None => {
                if let Some(run) = self.runs.get_mut(number) {
                    run.spend.begin();
                }
            }
        }
    }

    pub(crate) fn run_ends_by_itself(&mut self, number: usize, at: Time) {
        if let Some((status, failing)) = self.runs.get(number).map(Run::end) {
            self.end_run(number, status, failing, at);
        }
    }

    /// Ends a run that has not ended. What it finished stays billed, what it began goes back.
    pub(crate) fn end_run(
        &mut self,
        number: usize,
        status: RunStatus,
        failing: Option<Failing>,
        at: Time,
    ) {
        let Some(run) = self.runs.get(number) else {
            return;
        };
        if run.status.is_terminal() {
            return;
        }
        let (course, pending) = (run.course, run.spend.pending());
        let place = run.place.clone();
        for (moment, due) in run_moments(number, course) {
            self.timers.unset(moment, due);
        }
        if let Some(amount) = pending.filter(|amount| *amount > Usd::ZERO) {
            let booked = self.book_for_run(number, EntryKind::Refund, amount, at);
            debug_assert!(booked.is_ok(), "refund of {number}: {booked:?}");
        }
        if let Some(run) = self.runs.get_mut(number) {
            run.spend.settle();
            // Only of what completed there is something to harvest.
            run.unharvested &= status == RunStatus::Completed;
        }
        self.runs.turn(number, status, failing, at);
        self.note_ended(Ended::Run(number));
        if let Some(place) = place {
            self.queue_goes_on(&place.queue_id, at);
        }
    }

    fn book_for_run(
        &mut self,
        number: usize,
        kind: EntryKind,
        amount: Usd,
        at: Time,
    ) -> Result<(), Uncovered> {
        let Some(run) = self.runs.get(number) else {
            return Ok(());
        };
        let subject = Subject::Run(run.id.clone());
        let id = self.chance.id("ent");
        self.ledger
            .book(&run.order.workspace, id, kind, amount, subject, at)
    }
}

/// All that falls due for a run.
pub(crate) fn run_moments(number: usize, course: Timeline) -> impl Iterator<Item = (Time, Due)> {
    let starts = (course.starts_at(), Due::RunStarts(number));
    let works = WORKS_AT.map(|tenths| {
        let at = course.after_tenths(u64::from(tenths));
        (at, Due::RunWorks(number, tenths))
    });
    let ends = course.ends_at().map(|at| (at, Due::RunEnds(number)));
    [starts].into_iter().chain(works).chain(ends)
}
