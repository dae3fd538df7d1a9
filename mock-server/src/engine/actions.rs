//! The seeded Actions. They cannot be created or changed through the API, and the mock does not
//! run their schedules, only their API-call triggers.

use super::formats::Owner;

/// The creation time of the seeded Actions.
pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

/// A scheduled agent task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) owner: Owner,
    pub(crate) triggers: &'static [Trigger],
}

/// A trigger of an Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// A schedule, as a cron expression.
    Schedule(&'static str),
    /// An API call.
    ApiCall,
}

/// All Actions.
pub(crate) static ACTIONS: [Action; 2] = [
    Action {
        id: "act_daily",
        name: "Daily clip",
        description: "Makes a clip of the day.",
        owner: Owner::Workspace("ws_demo"),
        triggers: &[Trigger::Schedule("0 9 * * *"), Trigger::ApiCall],
    },
    Action {
        id: "act_no_trigger",
        name: "Weekly digest",
        description: "Runs by its schedule only.",
        owner: Owner::Workspace("ws_demo"),
        triggers: &[Trigger::Schedule("0 9 * * 1")],
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

impl Action {
    /// Returns the Actions of a workspace.
    pub(crate) fn visible_to(workspace: &str) -> impl Iterator<Item = &'static Self> {
        ACTIONS.iter().filter(move |action| match action.owner {
            Owner::FirstParty => true,
            Owner::Workspace(owner) => owner == workspace,
        })
    }

    /// Returns `true` if the API can start the Action.
    pub(crate) fn has_api_trigger(&self) -> bool {
        self.triggers.contains(&Trigger::ApiCall)
    }
}
