//! The typed methods of runs, bulk queues and webhook administration.

use svc_sdk::contract::Operation;
use svc_sdk::types::{
    ActionId, ActionRunCreate, AgentCompletionCreate, BulkRunCreate, FormatRunCreate, QueueId,
    RunId, TestDeliveryCreate, Usd, Video1Generate,
};
use svc_sdk::{QueueHandle, RunHandle};
use svc_sdk::{Result, developer};

const HOOK: &str = "https://hooks.example/svc";
const FORMAT: &str = "fmt_demo";
const SLUG: &str = "demo/teaser";

/// A run of each kind that has ended, and a queue.
pub(super) struct Runs {
    client: developer::Client,
    action: ActionId,
    action_run: RunId,
    format_run: RunId,
    agent_run: RunId,
    queue: QueueId,
}

fn format_body() -> FormatRunCreate {
    FormatRunCreate::new("a teaser").webhook_url(HOOK)
}

fn agent_body() -> AgentCompletionCreate {
    AgentCompletionCreate::new("three posters", Usd::from_micros(1_000_000))
}

impl Runs {
    pub(super) async fn new(client: &developer::Client) -> Self {
        let action = ActionId::from("act_daily");
        let body = ActionRunCreate::default();
        let action_run = client.actions().run(&action, &body);
        let action_run: RunHandle<_> = action_run.await.unwrap();
        let format_run = client.formats().run(FORMAT, format_body());
        let format_run = format_run.await.unwrap();
        let agent_run = client.agents().run(agent_body());
        let agent_run = agent_run.await.unwrap();
        let bulk = BulkRunCreate::new([FormatRunCreate::new("a teaser")]);
        let queue: QueueHandle = client.formats().bulk_run(FORMAT, &bulk).await.unwrap();
        action_run.wait().await.unwrap();
        format_run.wait().await.unwrap();
        agent_run.wait().await.unwrap();
        Self {
            action,
            action_run: action_run.id().clone(),
            format_run: format_run.id().clone(),
            agent_run: agent_run.id().clone(),
            queue: queue.id().clone(),
            client: client.clone(),
        }
    }

    /// Calls the typed method of an operation of these families; none for one of another.
    pub(super) async fn call(&self, operation: Operation) -> Option<Result<()>> {
        match self.actions(operation).await {
            Some(outcome) => Some(outcome),
            None => match self.formats(operation).await {
                Some(outcome) => Some(outcome),
                None => self.others(operation).await,
            },
        }
    }

    async fn actions(&self, operation: Operation) -> Option<Result<()>> {
        use Operation as Op;

        let Self { client, action, action_run: run, .. } = self;
        Some(match operation {
            Op::ActionsList => client.actions().list().await.map(drop),
            Op::ActionsGet => client.actions().get(action).await.map(drop),
            Op::ActionsRunsList => client.actions().list_runs(action).await.map(drop),
            Op::ActionsRunsCreate => {
                let body = ActionRunCreate::default();
                let start = client.actions().run(action, &body);
                start.await.map(drop)
            }
            Op::ActionsRunsGet => client.actions().get_run(action, run).await.map(drop),
            Op::ActionRunsGet => client.action_runs().handle(run).get().await.map(drop),
            Op::ActionRunsStatus => client.action_runs().handle(run).status().await.map(drop),
            Op::ActionRunsResult => client.action_runs().handle(run).result().await.map(drop),
            Op::ActionRunsCancel => client.action_runs().handle(run).cancel().await.map(drop),
            _ => return None,
        })
    }

    async fn formats(&self, operation: Operation) -> Option<Result<()>> {
        use Operation as Op;

        let Self { client, format_run: run, .. } = self;
        let start = async |format: &str| {
            let start = client.formats().run(format, format_body());
            start.await.map(drop)
        };
        let bulk = async |format: &str| {
            let body = BulkRunCreate::new([format_body()]);
            let start = client.formats().bulk_run(format, &body);
            start.await.map(drop)
        };
        Some(match operation {
            Op::FormatsList => client.formats().list().await.map(drop),
            Op::FormatsGet => client.formats().get(FORMAT).await.map(drop),
            Op::FormatsBySlugGet => client.formats().get(SLUG).await.map(drop),
            Op::FormatsRunsList => client.formats().list_runs(FORMAT).await.map(drop),
            Op::FormatsBySlugRunsList => client.formats().list_runs(SLUG).await.map(drop),
            Op::FormatsRunsCreate => start(FORMAT).await,
            Op::FormatsBySlugRunsCreate => start(SLUG).await,
            Op::FormatsBulkCreate => bulk(FORMAT).await,
            Op::FormatsBySlugBulkCreate => bulk(SLUG).await,
            Op::FormatQueuesGet => client.queues().handle(&self.queue).get().await.map(drop),
            Op::FormatRunsGet => client.format_runs().handle(run).get().await.map(drop),
            Op::FormatRunsStatus => client.format_runs().handle(run).status().await.map(drop),
            Op::FormatRunsResult => client.format_runs().handle(run).result().await.map(drop),
            Op::FormatRunsEvents => client.format_runs().handle(run).events().await.map(drop),
            Op::FormatRunsCancel => client.format_runs().handle(run).cancel().await.map(drop),
            Op::FormatRunsWebhookRedeliver => {
                let call = client.format_runs().handle(run).redeliver_webhook();
                call.await.map(drop)
            }
            _ => return None,
        })
    }

    async fn others(&self, operation: Operation) -> Option<Result<()>> {
        use Operation as Op;

        let Self { client, agent_run: run, .. } = self;
        Some(match operation {
            Op::AgentCompletionsCreate => {
                let start = client.agents().run(agent_body());
                start.await.map(drop)
            }
            Op::AgentRunsList => client.agent_runs().list().await.map(drop),
            Op::AgentRunsGet => client.agent_runs().handle(run).get().await.map(drop),
            Op::AgentRunsStatus => client.agent_runs().handle(run).status().await.map(drop),
            Op::AgentRunsResult => client.agent_runs().handle(run).result().await.map(drop),
            Op::AgentRunsCancel => client.agent_runs().handle(run).cancel().await.map(drop),
            Op::SigningSecretGet => client.webhooks().signing_secret().await.map(drop),
            Op::SigningSecretRotate => client.webhooks().rotate_signing_secret().await.map(drop),
            Op::TestDeliveriesCreate => {
                let body = TestDeliveryCreate::new(HOOK);
                client.webhooks().send_test(&body).await.map(drop)
            }
            Op::JobsWebhookRedeliver => self.redelivered().await,
            _ => return None,
        })
    }

    /// A job with a webhook, whose end is told again.
    async fn redelivered(&self) -> Result<()> {
        let video = Video1Generate::new("a fox").webhook_url(HOOK);
        let job = self.client.videos().generate(&video).await?;
        job.wait().await?;
        job.redeliver_webhook().await.map(drop)
    }
}
