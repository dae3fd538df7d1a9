//! `svc mcp serve`: an MCP server on standard input and output, based on `rmcp`.
//!
//! Nothing but protocol messages may be written to standard output.

use std::sync::Arc;

use clap::Args;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListToolsResult,
    PaginatedRequestParams, ResultType, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use svc_sdk::types::Usd;
use svc_sdk::{Developer, Open};

use super::spend_limits::SpendLimits;
use super::tool_handler::ToolHandler;
use super::tools::Tool;
use crate::args::parse_usd;
use crate::error::Failure;
use crate::session::Session;

/// The instructions for the model that uses the server.
const INSTRUCTIONS: &str = "Generates images, videos and music, and runs agents. A tool that \
generates something returns a job_id or run_id immediately. Call jobs_status or run_status, no \
sooner than next_poll_after_seconds, until terminal is true, then jobs_result or run_result for \
links to the files. Every paid call has a limit, max_spend_usd; a call that may cost more is \
rejected. If a paid call fails with the code no_answer, repeat exactly the same call: it is not \
charged twice. If it fails with the code ambiguous, ask the user.";

/// The flags of `svc mcp serve`.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Maximum cost of a call in USD; a model can lower it, but not raise it
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true)]
    max_spend_usd: Option<Usd>,
    /// Maximum total cost of all calls of this session in USD
    #[arg(long, value_name = "USD", value_parser = parse_usd, allow_negative_numbers = true)]
    max_total_usd: Option<Usd>,
    /// Allow tools whose price is unknown in advance: music, and, if only the developer surface is
    /// configured, images and videos
    #[arg(long, conflicts_with = "max_total_usd")]
    allow_unpriced: bool,
}

/// Serves until the client closes standard input, or until Ctrl-C.
pub(crate) async fn run(session: &Session, args: &Serve) -> Result<(), Failure> {
    let open = session.access::<Open>();
    let developer = session.access::<Developer>();
    if let (Err(_), Err(_)) = (&open, &developer) {
        return open.map(|_| ());
    }
    let handler = ToolHandler {
        open: open.ok(),
        developer: developer.ok(),
        state_dir: session.state_dir()?,
        limits: SpendLimits::new(args.max_spend_usd, args.max_total_usd, args.allow_unpriced),
    };
    let server = McpServer(Arc::new(handler));
    let serving = async {
        let running = server.serve(rmcp::transport::stdio()).await;
        let running = running.map_err(|error| serve_failure(&error))?;
        running.waiting().await.map(|_| ()).map_err(|error| serve_failure(&error))
    };
    tokio::select! {
        served = serving => served,
        _ = session.interrupts.first() => Err(Failure::interrupted()),
    }
}

fn serve_failure(error: &dyn std::error::Error) -> Failure {
    Failure::other(error.to_string()).context("could not serve the tools")
}

/// The MCP protocol layer of a tool handler.
#[derive(Clone, Debug)]
struct McpServer(Arc<ToolHandler>);

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
        let tools = Tool::all().filter(|tool| self.0.is_available(*tool));
        let tools: Vec<Value> = tools.map(Tool::definition).collect();
        let tools =
            serde_json::from_value(Value::Array(tools)).map_err(|error| internal(&error))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = Tool::from_name(&request.name).filter(|tool| self.0.is_available(*tool));
        let Some(tool) = tool else {
            let message = format!("unknown tool `{}`", request.name);
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

fn internal(error: &serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Returns a successful result: the structured content, the same as text, and a link to each file.
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
