//! Calls of the paid tools of the MCP endpoint.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::{ApiKey, RetryPolicy, mcp};

use super::journal::{Intent, IntentState, ResourceKind};
use super::plan::Tools;
use super::rng::Rng;
use super::session::{Receipt, Session, Submitted};
use super::submit;
use super::transport::{CALL_HEADER, FaultyTransport};

/// The argument by which a tool recognizes a repeated call.
pub(super) const KEY: &str = "idempotency_key";
/// How many messages a handshake has at most, each with the time limit of a call.
const HANDSHAKE_MESSAGES: u64 = 4;

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

impl Session {
    /// Creates an intent to call a tool and stores it. Returns `None` if the clients call no tools.
    pub(super) fn new_tool_intent(&self, rng: &mut Rng) -> Option<Intent> {
        let tools = self.world.plan.tools;
        if tools == Tools::Unused {
            return None;
        }
        let index = rng.below(PAID_TOOLS.len() as u64) as usize;
        let tool = &PAID_TOOLS[index];
        let id = self.journal().next_id(self.client);
        let intent = Intent {
            operation: Operation::Mcp,
            tool: Some(tool),
            segments: Vec::new(),
            body: arguments(tool, &id, self.workspace(), rng),
            is_key_honoured: tools == Tools::WithKeys,
            key: format!("{id}-{:08x}", rng.next() >> 32),
            id,
            calls: 0,
            state: IntentState::Open,
            preview: None,
            ended: false,
        };
        self.store_intent(&intent);
        Some(intent)
    }

    /// Connects to the MCP endpoint and calls the tool of an intent once.
    pub(super) async fn call_tool(
        &self,
        tool: &PaidTool,
        intent: &Intent,
        name: &str,
    ) -> Option<Submitted> {
        let limit = self.call_timeout_ms();
        let handshake = limit * HANDSHAKE_MESSAGES;
        let connect = self.mcp_client(name).connect();
        // The client is boxed: its future is large.
        let client = match Box::pin(self.within(name, handshake, connect)).await? {
            Ok(client) => client,
            Err(error) => return Some(self.not_called(name, &error)),
        };
        let tools = match self.within(name, limit, client.tools()).await? {
            Ok(tools) => tools,
            Err(error) => return Some(self.not_called(name, &error)),
        };
        let mut arguments = intent.body.clone();
        let known = tools.iter().find(|known| known.name == tool.name);
        if known.is_some_and(|known| known.has_argument(KEY)) {
            arguments[KEY] = json!(intent.key);
        }
        let result = self
            .within(name, limit, client.call(tool.name, arguments))
            .await?;
        Some(match result {
            Ok(result) => match result.structured.as_ref().and_then(resource_id) {
                Some(id) => Submitted::Accepted(Receipt {
                    id,
                    is_replay: false,
                    preview: None,
                }),
                None => Submitted::Ambiguous,
            },
            Err(error) => {
                self.trace(|| format!("  ! {name} {}", one_line(&error)));
                match error.is_ambiguous() {
                    true => Submitted::Ambiguous,
                    false => Submitted::Rejected,
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

    /// Notes that the tool was not called. What became of an earlier call is as unknown as before.
    fn not_called(&self, name: &str, error: &mcp::Error) -> Submitted {
        self.trace(|| format!("  ! {name} {}", one_line(error)));
        Submitted::Rejected
    }
}

/// Returns the id of the job or run in the structured content of a result.
pub(super) fn resource_id(structured: &Value) -> Option<String> {
    let ids = [&structured["job_id"], &structured["run_id"]];
    ids.into_iter()
        .find_map(|id| id.as_str().map(str::to_owned))
}

/// Returns random arguments of a tool for the intent `id`.
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
