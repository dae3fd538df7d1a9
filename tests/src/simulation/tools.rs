//! Calls of the paid tools of the MCP endpoint.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::journal::{EntryState, ImportedSubmission, IntentId, Settled};
use svc_sdk::types::IdempotencyKey;
use svc_sdk::{ApiKey, RetryPolicy, mcp};

use super::orders::{Order, ResourceKind};
use super::plan::Tools;
use super::rng::Rng;
use super::session::Session;
use super::submit;
use super::transport::{CALL_HEADER, FaultyTransport};

/// The argument by which a tool recognizes a repeated call.
pub(super) const KEY: &str = "idempotency_key";
/// How many messages a handshake has at most, each with the time limit of a call.
const HANDSHAKE_MESSAGES: u64 = 4;
/// How long a tool is assumed to recognize a key.
const KEY_RETENTION: Duration = Duration::from_secs(23 * 3_600);

/// A tool that costs money.
#[derive(Debug)]
pub(super) struct PaidTool {
    pub(super) name: &'static str,
    pub(super) kind: ResourceKind,
}

/// The tools that cost money.
pub(super) static PAID_TOOLS: [PaidTool; 5] = [
    PaidTool {
        name: "image_generate",
        kind: ResourceKind::DeveloperJob,
    },
    PaidTool {
        name: "video_generate",
        kind: ResourceKind::DeveloperJob,
    },
    PaidTool {
        name: "music_generate",
        kind: ResourceKind::DeveloperJob,
    },
    PaidTool {
        name: "format_run",
        kind: ResourceKind::FormatRun,
    },
    PaidTool {
        name: "agent_completion",
        kind: ResourceKind::AgentRun,
    },
];

/// What became of the call of a tool.
enum Called {
    Accepted(String),
    /// It may have been carried out.
    Unknown,
    /// Nothing was carried out by this call, and another one may succeed.
    NotSent,
    Refused,
}

impl Session {
    /// Adds an order to call a tool. Returns `None` if the clients call no tools.
    pub(super) fn new_tool_order(&self, rng: &mut Rng) -> Option<Arc<Order>> {
        if self.world.plan.tools == Tools::Unused {
            return None;
        }
        let index = rng.below(PAID_TOOLS.len() as u64) as usize;
        let tool = &PAID_TOOLS[index];
        let mut orders = self.orders();
        let name = orders.next_name(self.client);
        let body = arguments(tool, &name, self.workspace(), rng);
        Some(orders.add(Order {
            name,
            operation: Operation::Mcp,
            tool: Some(tool),
            segments: Vec::new(),
            body,
        }))
    }

    /// Calls the tool of an order once, unless that may pay for it twice. The journal has it as a
    /// submission of another program, as the SDK's client for MCP submits nothing itself.
    pub(super) async fn call_tool(&self, tool: &PaidTool, order: &Order) {
        let before = self.journal.find("", &order.name).await.unwrap();
        let (generation, unknown) = match before {
            None => (1, None),
            Some(entry) if matches!(entry.state, EntryState::Released(_)) => {
                (entry.generation + 1, None)
            }
            Some(entry) => (entry.generation, Some(entry)),
        };
        if let Some((_, id)) = unknown.as_ref().and_then(|entry| entry.resource.as_ref()) {
            return self.accept(&order.name, id);
        }
        let attempt = format!("{}~{generation}", order.name);
        let intent = IntentId::new(&*attempt);
        if let Some(entry) = &unknown {
            let age = self.world.wall().duration_since(entry.begun_at);
            let is_expired = age.is_ok_and(|age| age > KEY_RETENTION);
            if is_expired || self.world.plan.tools == Tools::WithoutKeys {
                return self.settle(order, &intent).await;
            }
        }
        let key: IdempotencyKey = format!("key-{attempt}").parse().unwrap();
        if unknown.is_none() {
            self.begin_call(order, intent.clone(), key.clone()).await;
        }
        let name = self.orders().next_call(&attempt);
        let Some(called) = self.call_once(tool, order, &key, &name).await else {
            return;
        };
        let settled = match &called {
            Called::Accepted(id) => Settled::Executed {
                kind: tool.kind.in_journal(),
                id: id.clone(),
                charge_usd: None,
            },
            Called::NotSent | Called::Refused if unknown.is_none() => Settled::NotExecuted,
            // An earlier call may have been carried out, which this one does not decide.
            _ => return,
        };
        self.journal.settle(&intent, settled).await.unwrap();
        match called {
            Called::Accepted(id) => self.accept(&order.name, &id),
            Called::Refused => self.orders().give_up(&order.name),
            _ => {}
        }
    }

    async fn begin_call(&self, order: &Order, id: IntentId, idempotency_key: IdempotencyKey) {
        let submission = ImportedSubmission {
            id,
            submission_id: order.name.clone(),
            account: String::new(),
            operation: order.operation,
            base_url: self.world.mock().mcp_url().to_owned(),
            idempotency_key,
            begun_at: self.world.wall(),
            resource: None,
            request_id: None,
            price_usd: None,
            notes: Map::new(),
            is_key_documented: self.world.plan.tools != Tools::WithoutKeys,
        };
        self.journal.import(submission).await.unwrap();
    }

    /// Connects to the MCP endpoint and calls the tool once.
    async fn call_once(
        &self,
        tool: &PaidTool,
        order: &Order,
        key: &IdempotencyKey,
        name: &str,
    ) -> Option<Called> {
        let limit = self.call_timeout_ms();
        let handshake = limit * HANDSHAKE_MESSAGES;
        let failed = |error: &mcp::Error| {
            self.trace(|| format!("  ! {name} {}", one_line(error)));
        };
        let connect = self.mcp_client(name).connect();
        // The client is boxed: its future is large.
        let client = match Box::pin(self.within(name, handshake, connect)).await? {
            Ok(client) => client,
            Err(error) => {
                failed(&error);
                return Some(Called::NotSent);
            }
        };
        let tools = match self.within(name, limit, client.tools()).await? {
            Ok(tools) => tools,
            Err(error) => {
                failed(&error);
                return Some(Called::NotSent);
            }
        };
        let mut arguments = order.body.clone();
        let known = tools.iter().find(|known| known.name == tool.name);
        if known.is_some_and(|known| known.has_argument(KEY)) {
            arguments[KEY] = json!(key);
        }
        let call = client.call(tool.name, arguments);
        Some(match self.within(name, limit, call).await? {
            Ok(result) => match result.structured.as_ref().and_then(resource_id) {
                Some(id) => Called::Accepted(id),
                None => Called::Unknown,
            },
            Err(error) => {
                failed(&error);
                match error.is_ambiguous() {
                    true => Called::Unknown,
                    false => Called::Refused,
                }
            }
        })
    }

    fn mcp_client(&self, name: &str) -> mcp::ClientBuilder {
        let keys = &self.world.credentials[self.client];
        mcp::Client::builder()
            .url(self.world.mock().mcp_url())
            .api_key(ApiKey::new(keys.developer.as_str()).unwrap())
            .transport(Arc::new(FaultyTransport(Arc::clone(&self.network))))
            .retry(RetryPolicy::default().max_retries(self.plan.max_retries))
            .timeout(Duration::from_millis(self.plan.call_timeout_ms))
            .attempt_timeout(Duration::from_millis(self.plan.attempt_timeout_ms))
            .default_header(CALL_HEADER, name)
            .seed(self.network.rng().next())
    }
}

/// Returns the id of the job or run in the structured content of a result.
pub(super) fn resource_id(structured: &Value) -> Option<String> {
    let ids = [&structured["job_id"], &structured["run_id"]];
    ids.into_iter()
        .find_map(|id| id.as_str().map(str::to_owned))
}

/// Returns random arguments of a tool for the order `id`.
fn arguments(tool: &PaidTool, id: &str, workspace: &str, rng: &mut Rng) -> Value {
    let text = format!("{id}{}", submit::directives(rng));
    let format = match workspace {
        "ws_demo" => *rng.pick(&["fmt_demo", "demo/teaser"]),
        _ => *rng.pick(&["fmt_storyboard", "studio/storyboard"]),
    };
    let mut arguments = match tool.name {
        "format_run" => {
            json!({"format_id": format, "instruction": text, "generation_spend_cap_usd": 1})
        }
        "agent_completion" => json!({"instruction": text, "generation_spend_cap_usd": 1}),
        _ => json!({"prompt": text}),
    };
    if rng.per_mille(500) {
        arguments["max_spend_usd"] = rng.pick(&[json!(5), json!(5), json!(0.001)]).clone();
    }
    arguments
}

fn one_line(error: &mcp::Error) -> String {
    error.to_string().replace('\n', " ")
}
