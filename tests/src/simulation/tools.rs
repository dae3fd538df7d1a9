//! Calls of the paid tools of the MCP endpoint.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use svc_mcp::{McpClient, McpError, ToolResult};
use svc_sdk::contract::Operation;
use svc_sdk::{ApiKey, RetryPolicy, developer};

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
/// What a submit of a tool does, each with the time limit of a call: it lists the tools, waits for
/// another process that works on the same submission, and calls the tool.
const SUBMIT_PARTS: u64 = 3;

/// A tool that costs money.
#[derive(Debug)]
pub(super) struct PaidTool {
    pub(super) name: &'static str,
    pub(super) kind: ResourceKind,
}

/// The tools that cost money.
pub(super) static PAID_TOOLS: [PaidTool; 5] = [
    PaidTool { name: "image_generate", kind: ResourceKind::DeveloperJob },
    PaidTool { name: "video_generate", kind: ResourceKind::DeveloperJob },
    PaidTool { name: "music_generate", kind: ResourceKind::DeveloperJob },
    PaidTool { name: "format_run", kind: ResourceKind::FormatRun },
    PaidTool { name: "agent_completion", kind: ResourceKind::AgentRun },
];

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

    /// Calls the tool of an order through the journal.
    pub(super) async fn call_tool(&self, tool: &PaidTool, order: &Order) {
        let name = self.orders().next_call(&order.name);
        let Some(called) = self.call_once(tool, order, &name).await else { return };
        let error = match called {
            Ok(result) => {
                // Without an id, the same call finds out what was made.
                if let Some(id) = result.structured.as_ref().and_then(resource_id) {
                    self.accept(&order.name, &id).await;
                    result.acknowledge().await.unwrap();
                }
                return;
            }
            Err(error) => error,
        };
        self.trace(|| format!("  ! {name} {}", error.to_string().replace('\n', " ")));
        match &error {
            McpError::Request(error) => self.not_accepted(order, Some(error)).await,
            _ => self.not_accepted(order, None).await,
        }
    }

    /// Connects to the MCP endpoint and calls the tool. Returns `None` if that does not end.
    async fn call_once(
        &self,
        tool: &PaidTool,
        order: &Order,
        name: &str,
    ) -> Option<Result<ToolResult, McpError>> {
        let limit = self.call_timeout_ms();
        let channel = self.mcp_channel(name).build().unwrap();
        let connect = McpClient::with_client(&channel);
        // The client is boxed: its future is large.
        let connect = Box::pin(self.within(name, limit * HANDSHAKE_MESSAGES, connect));
        let client = match connect.await? {
            Ok(client) => client,
            Err(error) => return Some(Err(error)),
        };
        let call = client.submit(tool.name, order.body.clone());
        let call = call.submission_id(&*order.name).into_future();
        self.within(name, limit * SUBMIT_PARTS, call).await
    }

    /// The client that sends the messages of a call.
    fn mcp_channel(&self, name: &str) -> developer::ClientBuilder {
        let keys = &self.world.credentials[self.client];
        developer::Client::builder()
            .base_url(self.world.mock().mcp_url())
            .api_key(ApiKey::new(keys.developer.as_str()).unwrap())
            .transport(Arc::new(FaultyTransport(Arc::clone(&self.network))))
            .retry(RetryPolicy::default().max_retries(self.plan.max_retries))
            .timeout(Duration::from_millis(self.plan.call_timeout_ms))
            .attempt_timeout(Duration::from_millis(self.plan.attempt_timeout_ms))
            .default_header(CALL_HEADER, name)
            .journal(self.journal.clone())
            .task_group(&self.tasks)
            .seed(self.network.rng().next())
    }
}

/// Returns the id of what a receipt, or the structured content of a tool's result, names.
pub(super) fn resource_id(body: &Value) -> Option<String> {
    let receipt = body.get("data").unwrap_or(body);
    let job = receipt["job"].get("id").unwrap_or(&receipt["job_id"]);
    let ids = [job, &receipt["run_id"], &receipt["queue_id"], &receipt["id"]];
    ids.into_iter().find_map(|id| id.as_str().map(str::to_owned))
}

/// Returns random arguments of a tool for the order `id`.
fn arguments(tool: &PaidTool, id: &str, workspace: &str, rng: &mut Rng) -> Value {
    let is_run = ["format_run", "agent_completion"].contains(&tool.name);
    let text = format!("{id}{}", submit::directives(is_run, rng));
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
