//! Actions: the scheduled agent work that every mock has. Nobody can make or change one, and none
//! runs by its schedule: only through its API-call trigger.

use super::formats::Owner;

/// When they were made.
pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

/// An Action.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) owner: Owner,
    pub(crate) triggers: &'static [Trigger],
}

/// What starts an Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The clock, in the words of cron.
    Schedule(&'static str),
    /// A call of the API.
    ApiCall,
}

/// All of them.
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
    /// What `type` calls it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule(_) => "schedule",
            Self::ApiCall => "api_call",
        }
    }
}

impl Action {
    /// The Actions of a workspace.
    pub(crate) fn visible_to(workspace: &str) -> impl Iterator<Item = &'static Self> {
        ACTIONS.iter().filter(move |action| match action.owner {
            Owner::FirstParty => true,
            Owner::Workspace(owner) => owner == workspace,
        })
    }

    /// Whether the API may start it.
    pub(crate) fn has_api_trigger(&self) -> bool {
        self.triggers.contains(&Trigger::ApiCall)
    }
}
