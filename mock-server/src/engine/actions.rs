//! The seeded Actions, which cannot be created or changed through the API, and their schedules.

use std::time::Duration;

use super::formats::Owner;
use super::grants::Grants;
use super::runs::{RunConfig, RunKind};
use super::timers::TimerEvent;
use super::workspaces::OrganizationWallet;
use super::{ControlError, State, Time};

pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) owner: Owner,
    pub(crate) triggers: &'static [Trigger],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Schedule(DailySchedule),
    ApiCall,
}

/// A time of day in UTC at which an Action runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DailySchedule {
    hour: u8,
    minute: u8,
}

pub(crate) static ACTIONS: [Action; 2] = [
    Action {
        id: "act_daily",
        name: "Daily clip",
        description: "Makes a clip of the day.",
        owner: Owner::Workspace("ws_demo"),
        triggers: &[Trigger::Schedule(DailySchedule { hour: 9, minute: 0 }), Trigger::ApiCall],
    },
    Action {
        id: "act_no_trigger",
        name: "Weekly digest",
        description: "Has its triggers turned off.",
        owner: Owner::Workspace("ws_demo"),
        triggers: &[],
    },
];

impl Trigger {
    /// Returns the value of the JSON field `type`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule(_) => "schedule",
            Self::ApiCall => "api_call",
        }
    }
}

impl DailySchedule {
    pub(crate) fn cron(self) -> String {
        format!("{} {} * * *", self.minute, self.hour)
    }

    pub(crate) fn next_after(self, now: Time) -> Time {
        let minutes = u64::from(self.hour) * 60 + u64::from(self.minute);
        let days = now.as_secs() / DAY.as_secs();
        let today = Duration::from_secs(days * DAY.as_secs() + minutes * 60);
        let today = Time::default().after(today);
        if today > now { today } else { today.after(DAY) }
    }
}

impl Action {
    /// Returns the Actions of a workspace: its own, granted and first-party ones.
    pub(crate) fn visible_to(
        workspace: &str,
        grants: &Grants,
    ) -> impl Iterator<Item = &'static Self> {
        ACTIONS.iter().filter(move |action| match action.owner {
            Owner::FirstParty => true,
            Owner::Workspace(owner) => owner == workspace || grants.contains(action.id, workspace),
        })
    }

    pub(crate) fn schedule(&self) -> Option<DailySchedule> {
        self.triggers.iter().find_map(|trigger| match trigger {
            Trigger::Schedule(schedule) => Some(*schedule),
            Trigger::ApiCall => None,
        })
    }
}

impl State {
    /// Starts or pauses the schedule of an Action. A schedule that is started has its next run at its
    /// next time.
    pub(crate) fn set_schedule_active(
        &mut self,
        id: &str,
        active: bool,
    ) -> Result<(), ControlError> {
        let not_found = || ControlError::NotFound(format!("Action {id:?} not found"));
        let mut actions = ACTIONS.iter().enumerate();
        let (number, action) = actions.find(|(_, it)| it.id == id).ok_or_else(not_found)?;
        let Some(schedule) = action.schedule() else {
            return Err(ControlError::Conflict(format!("{id} has no schedule")));
        };
        match (self.next_scheduled_run(number), active) {
            (None, true) => {
                let at = schedule.next_after(self.now);
                self.timers.set(at, TimerEvent::ActionScheduled(number));
            }
            (Some(at), false) => self.timers.cancel(at, TimerEvent::ActionScheduled(number)),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn start_schedules(&mut self) {
        for action in ACTIONS.iter().filter(|action| action.schedule().is_some()) {
            // The Action exists and has a schedule.
            let _ = self.set_schedule_active(action.id, true);
        }
    }

    /// Returns when the schedule of an Action starts its next run; `None` if it is paused.
    pub(crate) fn next_scheduled_run(&self, number: usize) -> Option<Time> {
        let mut timers = self.timers.all();
        let timer = timers.find(|(_, event)| *event == TimerEvent::ActionScheduled(number));
        timer.map(|(at, _)| *at)
    }

    /// Starts a run of an Action by its schedule. If the workspace cannot fund it, it is skipped.
    pub(super) fn start_scheduled_run(&mut self, number: usize, at: Time) {
        let Some(action) = ACTIONS.get(number) else { return };
        if let Some(schedule) = action.schedule() {
            let next = schedule.next_after(at);
            self.timers.set(next, TimerEvent::ActionScheduled(number));
        }
        let Owner::Workspace(workspace) = action.owner else { return };
        let wallet = self.organization_wallet(workspace);
        let config = RunConfig {
            request_id: self.rng.id("req"),
            kind: RunKind::Action,
            subject: Some(action.id.to_owned()),
            scheduled: true,
            makes_image: true,
            paid_by_organization: wallet == OrganizationWallet::Provisioned,
            ..RunConfig::new(workspace)
        };
        let covered = self.ledger.covers(&config.account(), config.max_cost());
        let is_funded = wallet != OrganizationWallet::Missing && covered.is_ok();
        let config = if is_funded { config } else { config.skipped() };
        self.start_new_run(config, None, at);
    }
}
