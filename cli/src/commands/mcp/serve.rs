//! `svc mcp serve`: an MCP server on standard input and output, based on `rmcp`.
//!
//! Nothing but protocol messages may be written to standard output.

use std::io::{self, IsTerminal};
use std::sync::Arc;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult,
    ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams, ResultType,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde::Serialize;
use serde_json::{Value, json};
use svc_sdk::types::Usd;
use svc_sdk::{Developer, Open};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin, Stdout};
use tokio::sync::Mutex;

use super::spend_limits::SpendLimits;
use super::tool_handler::ToolHandler;
use crate::args::parse_usd;
use crate::error::{Failure, Result};
use crate::session::Session;

const INSTRUCTIONS: &str = "Generates images, videos and music, and runs agents. A tool that \
generates something returns a job_id or run_id immediately. Call jobs_status or run_status, no \
sooner than next_poll_after_seconds, until terminal is true, then jobs_result or run_result for \
links to the files. Every paid call has a limit, max_price; a call that may cost more is \
rejected. If a paid call fails with the code no_answer, repeat exactly the same call: it is not \
charged twice. If it fails with the code ambiguous, ask the user.";

const TOOLS: &str = include_str!("tools.json");

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Maximum cost of a call in USD; a model can lower it, but not raise it
    #[arg(long, alias = "max-spend-usd", value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true)]
    max_price: Option<Usd>,
    /// Maximum total cost of all calls of this session in USD
    #[arg(long, alias = "max-total-usd", value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true)]
    max_spend: Option<Usd>,
    /// Allow tools whose price is unknown in advance: music, and, if only the developer surface is
    /// configured, images and videos
    #[arg(long, conflicts_with = "max_spend")]
    allow_unpriced: bool,
}

/// Serves until the client closes standard input, or until Ctrl-C.
pub(crate) async fn run(session: &Session, args: &Serve) -> Result {
    let open = session.access::<Open>();
    let developer = session.access::<Developer>();
    if let (Err(_), Err(_)) = (&open, &developer) {
        return open.map(|_| ());
    }
    let tools = serde_json::from_str(TOOLS).map_err(|error| serve_failure(&error))?;
    let handler = ToolHandler {
        open: open.ok(),
        developer: developer.ok(),
        state_dir: session.state_dir()?,
        limits: SpendLimits::new(args.max_price, args.max_spend, args.allow_unpriced),
        tools,
    };
    if io::stdin().is_terminal() {
        note_configuration(session, args);
    }
    let server = McpServer(Arc::new(handler));
    let serving = async {
        let running = server.serve(Stdio::new()).await;
        let running = running.map_err(|error| serve_failure(&error))?;
        running.waiting().await.map(|_| ()).map_err(|error| serve_failure(&error))
    };
    tokio::select! {
        served = serving => served,
        _ = session.interrupts.first() => Err(Failure::interrupted()),
    }
}

/// Says how a program starts this server: a person at a terminal has nothing to say to it.
fn note_configuration(session: &Session, args: &Serve) {
    let command = std::env::current_exe().map(|path| path.display().to_string());
    let mut words = vec!["mcp".to_owned(), "serve".to_owned()];
    let amounts = [("--max-price", args.max_price), ("--max-spend", args.max_spend)];
    for (flag, amount) in amounts {
        words.extend(amount.into_iter().flat_map(|amount| [flag.to_owned(), amount.to_string()]));
    }
    if args.allow_unpriced {
        words.push("--allow-unpriced".to_owned());
    }
    if let Some(profile) = &session.global.profile {
        words.extend(["--profile".to_owned(), profile.clone()]);
    }
    let server = json!({"command": command.unwrap_or_else(|_| "svc".to_owned()), "args": words});
    let configuration = json!({"mcpServers": {"svc": server}});
    session.printer.note(
        "Waiting for messages of an MCP client on standard input. A client starts this command itself, \
         with these lines in its configuration:",
    );
    session.printer.note(&format!("{configuration:#}"));
}

fn serve_failure(error: &dyn std::error::Error) -> Failure {
    Failure::other(error.to_string()).context("could not serve the tools")
}

#[derive(Clone, Debug)]
struct McpServer(Arc<ToolHandler>);

impl McpServer {
    fn available_tools(&self) -> impl Iterator<Item = &Value> {
        self.0.tools.iter().filter(|tool| self.0.is_available(name_of(tool)))
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("svc", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.available_tools().cloned().collect();
        let tools =
            serde_json::from_value(Value::Array(tools)).map_err(|error| internal(&error))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    /// Answers a request that `rmcp` does not know, or whose parameters it does not.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(match method.as_str() {
            "tools/call" | "tools/list" => {
                let why = format!("invalid parameters of {method}");
                ErrorData::invalid_params(why, None)
            }
            _ => ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.as_ref();
        let Some(tool) = self.available_tools().find(|tool| name_of(tool) == name) else {
            let message = format!("unknown tool `{name}`");
            return Err(ErrorData::invalid_params(message, None));
        };
        let outcome = Box::pin(self.0.call(tool, request.arguments.unwrap_or_default())).await;
        let result = match outcome {
            Ok(structured) => success(structured),
            Err(error) => json!({"content": [text(error.envelope())], "isError": true}),
        };
        let mut result: CallToolResult =
            serde_json::from_value(result).map_err(|error| internal(&error))?;
        // `rmcp` removes the field again for clients of an older protocol revision.
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result.into())
    }
}

fn name_of(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn internal(error: &serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn success(structured: Value) -> Value {
    let mut content = vec![text(&structured)];
    let artifacts = structured.get("artifacts").and_then(Value::as_array);
    content.extend(artifacts.into_iter().flatten().filter_map(|artifact| {
        let uri = artifact.get("url")?.as_str()?;
        let name = artifact.get("id").and_then(Value::as_str).unwrap_or(uri);
        let mut link = json!({"type": "resource_link", "uri": uri, "name": name});
        if let (Some(kind), Some(fields)) = (artifact.get("content_type"), link.as_object_mut()) {
            fields.insert("mimeType".to_owned(), kind.clone());
        }
        Some(link)
    }));
    json!({"content": content, "structuredContent": structured, "isError": false})
}

fn text(value: &Value) -> Value {
    json!({"type": "text", "text": value.to_string()})
}

/// The messages of a client. Other than the transport of `rmcp`, this one answers a line that is not JSON.
struct Stdio {
    input: BufReader<Stdin>,
    /// What is read of the next line. A dropped read goes on with it.
    line: Vec<u8>,
    output: Arc<Mutex<Stdout>>,
}

impl Stdio {
    fn new() -> Self {
        Self {
            input: BufReader::new(tokio::io::stdin()),
            line: Vec::new(),
            output: Arc::new(Mutex::new(tokio::io::stdout())),
        }
    }

    /// Answers a message that is not a request. The answer is complete even if the read is dropped.
    fn reject(&self, id: &Value, code: ErrorCode, why: &str) {
        let error = json!({"code": code.0, "message": why});
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
        let output = Arc::clone(&self.output);
        tokio::spawn(async move { write(&output, &answer).await });
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write(&output, &message).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let length = self.input.read_until(b'\n', &mut self.line).await.ok()?;
            let line = std::mem::take(&mut self.line);
            if length == 0 && line.is_empty() {
                return None;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let message: Value = match serde_json::from_slice(&line) {
                Ok(message) => message,
                Err(error) => {
                    let why = format!("the message is not valid JSON: {error}");
                    self.reject(&Value::Null, ErrorCode::PARSE_ERROR, &why);
                    continue;
                }
            };
            let is_notification = message.get("method").is_some_and(Value::is_string);
            let id = message.get("id").cloned().or((!is_notification).then_some(Value::Null));
            match (serde_json::from_value(message), id) {
                (Ok(message), _) => return Some(message),
                (Err(_), Some(id)) => {
                    let why = "the message is not a JSON-RPC request; batches are not supported";
                    self.reject(&id, ErrorCode::INVALID_REQUEST, why);
                }
                // A notification has no answer.
                (Err(_), None) => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

async fn write(output: &Mutex<Stdout>, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
