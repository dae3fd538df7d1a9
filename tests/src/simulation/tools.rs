//! Calls of the paid tools of the MCP endpoint, and the messages of these that the network sees.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use svc_mcp::{McpClient, McpError, ToolResult};
use svc_sdk::contract::{Operation, RetryClass};
use svc_sdk::developer;

use super::orders::{Order, ResourceKind};
use super::plan::Tools;
use super::rng::Rng;
use super::session::{Session, client_builder};
use super::submit;
use super::transport::CALL_HEADER;

/// The argument by which a tool recognizes a repeated call.
const KEY: &str = "idempotency_key";
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
static PAID_TOOLS: [PaidTool; 5] = [
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
        let (mock, keys) = (self.world.mock(), &self.world.credentials[self.client]);
        let channel: developer::ClientBuilder =
            client_builder(mock.mcp_url(), &keys.developer, &self.network, &self.journal);
        let channel = channel
            .default_header(CALL_HEADER, name)
            .task_group(&self.tasks)
            .seed(self.network.rng().next())
            .build()
            .unwrap();
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

/// A JSON-RPC message of a client.
#[derive(Clone, Debug)]
pub(super) struct McpMessage {
    pub(super) method: String,
    /// What it makes, if it calls a tool that costs money.
    made: Option<ResourceKind>,
    has_key: bool,
}

impl McpMessage {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let message: Value = serde_json::from_slice(body).ok()?;
        let tool = message["params"]["name"].as_str();
        let paid = PAID_TOOLS.iter().find(|paid| tool == Some(paid.name));
        Some(Self {
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            made: paid.map(|paid| paid.kind),
            has_key: message["params"]["arguments"][KEY].is_string(),
        })
    }

    /// Whether it calls a tool that costs money.
    pub(super) fn is_paid(&self) -> bool {
        self.made.is_some()
    }

    /// Returns when a client may send the message again. The service documents keys for runs only.
    pub(super) fn retry_class(&self) -> RetryClass {
        match (self.made, self.has_key) {
            (None, _) => RetryClass::Idempotent,
            (Some(_), false) => RetryClass::Never,
            (Some(ResourceKind::DeveloperJob), true) => RetryClass::Unsent,
            (Some(_), true) => RetryClass::Key,
        }
    }
}

/// Returns the message without its idempotency key.
pub(super) fn without_key(body: &Bytes) -> Bytes {
    change(body, |message| {
        let arguments = message.pointer_mut("/params/arguments");
        if let Some(Value::Object(arguments)) = arguments {
            arguments.remove(KEY);
        }
    })
}

/// Returns the reply without the argument for idempotency keys in its list of tools.
pub(super) fn without_documented_keys(body: &Bytes) -> Bytes {
    change(body, |reply| {
        let tools = reply.pointer_mut("/result/tools");
        for tool in tools.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::Object(arguments)) = tool.pointer_mut("/inputSchema/properties") {
                arguments.remove(KEY);
            }
        }
    })
}

fn change(body: &Bytes, change: impl FnOnce(&mut Value)) -> Bytes {
    let Ok(mut json) = serde_json::from_slice::<Value>(body) else { return body.clone() };
    change(&mut json);
    Bytes::from(json.to_string())
}

/// Returns the id of the job or run that the reply to a paid call names, or `None` if the call was
/// rejected.
pub(super) fn created_id(reply: &Value) -> Option<String> {
    resource_id(&reply["result"]["structuredContent"])
}
