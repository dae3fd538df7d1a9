//! The naive model that stores are compared with.

use std::collections::HashMap;
use std::time::SystemTime;

use super::super::store::{Begun, BudgetTotals, Hold, NewIntent, Phase, SubmissionKey};
use crate::types::Usd;

/// What the store has to hold, in the plainest form.
#[derive(Default)]
pub(super) struct ModelStore {
    /// In the order in which they were begun.
    pub(super) intents: Vec<ModelIntent>,
    pub(super) budgets: HashMap<(String, String), BudgetTotals>,
}

#[derive(Clone, Debug)]
pub(super) struct ModelIntent {
    pub(super) new: NewIntent,
    pub(super) begun_at: SystemTime,
    pub(super) owner: u32,
    pub(super) records: Vec<String>,
    /// The time of the last record, once it has been read.
    pub(super) last_at: Option<SystemTime>,
    pub(super) phase: Phase,
    pub(super) was_accepted: bool,
    pub(super) hold: Hold,
}

impl ModelIntent {
    pub(super) fn is_of(&self, submission: &SubmissionKey) -> bool {
        self.new.submission().as_ref() == Some(submission)
    }
}

impl ModelStore {
    pub(super) fn budget(&mut self, intent: &NewIntent) -> Option<&mut BudgetTotals> {
        let name = intent.reservation.as_ref()?.budget.clone();
        Some(self.budgets.entry((intent.namespace.clone(), name)).or_default())
    }

    pub(super) fn newest_generation(&self, submission: &SubmissionKey) -> u32 {
        let of_submission = self.intents.iter().filter(|it| it.is_of(submission));
        of_submission.map(|it| it.new.generation).max().unwrap_or(0)
    }

    /// Returns the newest generation that something may have been carried out for.
    pub(super) fn newest_executed_generation(&self, submission: &SubmissionKey) -> u32 {
        let of_submission = self.intents.iter().filter(|it| it.is_of(submission));
        let executed = of_submission.filter(|it| it.phase != Phase::Released || it.was_accepted);
        executed.map(|it| it.new.generation).max().unwrap_or(0)
    }

    /// Returns the answer of a `begin`, whose time is `begun_at` if the intent is written.
    pub(super) fn begin(&mut self, new: &NewIntent, owner: u32, begun_at: SystemTime) -> Begun {
        if let Some(earlier) = self.intents.iter().find(|it| it.new.id == new.id) {
            return Begun::Written(earlier.begun_at);
        }
        if let Some(submission) = new.submission()
            && self.newest_generation(&submission) >= new.generation
        {
            return Begun::GenerationTaken;
        }
        let mut hold = Hold::default();
        if let Some(reservation) = &new.reservation
            && let Some(totals) = self.budget(new)
        {
            let sum = totals.hold.reserved.as_micros()
                + totals.hold.captured.as_micros()
                + totals.hold.undecided.as_micros();
            if totals.is_stopped
                || sum + reservation.amount.as_micros() > reservation.limit.as_micros()
            {
                return Begun::OverBudget(*totals);
            }
            hold.reserved = reservation.amount;
        }
        self.intents.push(ModelIntent {
            new: new.clone(),
            begun_at,
            owner,
            records: Vec::new(),
            last_at: Some(begun_at),
            phase: Phase::Open,
            was_accepted: false,
            hold,
        });
        self.add_up(new);
        Begun::Written(begun_at)
    }

    /// Changes the sums of a budget by what an intent adds to them.
    pub(super) fn change_budget(&mut self, intent: &NewIntent, before: Hold, now: Hold) {
        if let Some(totals) = self.budget(intent) {
            let sums = &mut totals.hold;
            for (sum, before, now) in [
                (&mut sums.reserved, before.reserved, now.reserved),
                (&mut sums.captured, before.captured, now.captured),
                (&mut sums.undecided, before.undecided, now.undecided),
            ] {
                *sum = Usd::from_micros(sum.as_micros() - before.as_micros() + now.as_micros());
            }
        }
    }

    pub(super) fn add_up(&mut self, new: &NewIntent) {
        let hold = Hold {
            reserved: new.reservation.as_ref().map_or(Usd::ZERO, |it| it.amount),
            ..Hold::default()
        };
        self.change_budget(new, Hold::default(), hold);
    }
}
