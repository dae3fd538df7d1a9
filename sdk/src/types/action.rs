//! Actions: scheduled agent work whose runs can be started through the API-call trigger.

use super::request::{request_body, run_options};
use super::response::response_body;
use super::{ActionId, InvalidField, Timestamp, Validate};

response_body! {
    /// An Action. The specification shows no field: all are assumed.
    pub struct Action {
        /// The Action's identifier.
        required id: ActionId,
        /// The Action's name.
        optional name: String,
        /// A description of what the Action does.
        optional description: String,
        /// The Action's status, for example `active`.
        optional status: String,
        /// The schedule by which runs start. It is null if there is none.
        optional schedule: ActionSchedule,
        /// The triggers that start a run.
        list triggers: ActionTrigger,
        /// When the Action was created.
        optional created_at: Timestamp,
        /// When the Action was last changed.
        optional updated_at: Timestamp,
    }
}

response_body! {
    /// The schedule of an Action. Assumed.
    #[derive(Default)]
    pub struct ActionSchedule {
        /// The times, as a cron expression.
        optional cron: String,
        /// The time zone of the expression.
        optional timezone: String,
    }
}

response_body! {
    /// A trigger of an Action. Assumed.
    #[derive(Default)]
    pub struct ActionTrigger {
        /// The kind of trigger, for example `schedule` or `api_call`.
        optional trigger_type as "type": String,
        /// The schedule, if there is one.
        optional schedule: String,
    }
}

request_body! {
    /// The body that starts a run of an Action. All fields are optional. Its fields are assumed.
    pub struct ActionRunCreate {
        /// An additional instruction for the run.
        instruction: text,
        /// Input values of the Action.
        input: object,
    } + run_options
}

impl Validate for ActionRunCreate {
    fn validate(&self) -> Result<(), InvalidField> {
        run_options(self.webhook_url.as_ref(), self.communication.as_ref())
    }
}
