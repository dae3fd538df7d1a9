//! Changes of an intent, and its phases.

use serde::{Deserialize, Serialize};

use super::budget::Hold;

/// A change of an intent, made by [`Store::append`](super::Store::append).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// What happened, as JSON.
    pub record: String,
    /// The new phase, or `None` if it stays. A store ignores a phase that is earlier than the present
    /// one, in the order of [`Phase`].
    pub phase: Option<Phase>,
    /// What the intent now holds of its budget, or `None` if that stays.
    pub hold: Option<Hold>,
    /// Whether the budget is stopped: nothing can be reserved of it any more.
    pub stops_budget: bool,
    /// The id of what the service made, by which [`ListFilter::resource`](super::ListFilter::resource) finds
    /// the intent. The first one of an intent counts.
    pub resource: Option<String>,
}

impl Change {
    /// Returns whether a store may make the change to an intent in that phase. `is_owner` says whether
    /// the owner that makes it has the intent.
    ///
    /// A receipt is never refused, whoever has the intent meanwhile. What says that a request is about to
    /// be sent, or that nothing was carried out, is refused as soon as the intent has another owner or
    /// is not open any more: a process that was taken for a dead one must neither send again nor
    /// release what was accepted.
    #[must_use]
    pub fn is_allowed(&self, phase: Phase, is_owner: bool) -> bool {
        match self.phase {
            Some(Phase::Accepted) => true,
            Some(Phase::Ended | Phase::Acknowledged) => is_owner || phase > Phase::Open,
            None | Some(Phase::Open | Phase::Released) => is_owner && phase == Phase::Open,
        }
    }

    /// Returns what an intent in that phase holds of its budget after the change. A receipt that comes
    /// after the end changes nothing.
    #[must_use]
    pub fn hold_after(&self, phase: Phase, hold: Hold) -> Hold {
        let is_late = self.phase == Some(Phase::Accepted)
            && matches!(phase, Phase::Ended | Phase::Acknowledged);
        self.hold.filter(|_| !is_late).unwrap_or(hold)
    }
}

/// The phase of an intent. The methods of [`Store`](super::Store) say what it means for ownership, lists and removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// It is not known whether the service accepted the request.
    Open,
    /// The service accepted it.
    Accepted,
    /// What was submitted has ended.
    Ended,
    /// The application has acknowledged the outcome.
    Acknowledged,
    /// Nothing was carried out.
    Released,
}

impl Phase {
    /// Returns whether the phase is [`Acknowledged`](Self::Acknowledged) or [`Released`](Self::Released).
    pub(in crate::journal) fn is_closed(self) -> bool {
        self >= Self::Acknowledged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Usd;

    #[test]
    fn a_process_that_lost_an_intent_adds_only_what_is_certain() {
        use Phase::{Accepted, Acknowledged, Ended, Open, Released};

        let all =
            [None, Some(Open), Some(Accepted), Some(Ended), Some(Acknowledged), Some(Released)];
        for phase in [Open, Accepted, Ended, Acknowledged, Released] {
            for is_owner in [true, false] {
                let allowed =
                    all.into_iter().filter(|new| change(*new).is_allowed(phase, is_owner));
                let expected = match (phase, is_owner) {
                    (Open, true) => &all[..],
                    (Open, false) => &all[2..3],
                    _ => &all[2..5],
                };
                assert!(allowed.eq(expected.iter().copied()), "{phase:?} {is_owner}");
            }
        }
    }

    #[test]
    fn a_receipt_after_the_end_changes_no_budget() {
        let captured = Hold { captured: Usd::from_micros(1), ..Hold::default() };
        let late = change(Some(Phase::Accepted));
        for phase in [Phase::Ended, Phase::Acknowledged] {
            assert_eq!(late.hold_after(phase, captured), captured);
        }
        for phase in [Phase::Open, Phase::Accepted, Phase::Released] {
            assert_eq!(late.hold_after(phase, captured), Hold::default());
        }
    }

    fn change(phase: Option<Phase>) -> Change {
        Change { phase, hold: Some(Hold::default()), ..Change::default() }
    }
}
