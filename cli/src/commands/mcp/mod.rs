//! `svc mcp`: tools over the Model Context Protocol.
//!
//! `tools` and `call` use the service's own MCP endpoint. `serve` is an MCP server for programs on
//! this machine that calls the service's REST APIs.

mod call;
mod error;
mod serve;
mod spend_limits;
mod tool_handler;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use svc_mcp::McpClient;

use self::call::Call;
use self::error::read_failure;
use self::serve::Serve;
use crate::error::{Failure, Result};
use crate::output::Table;
use crate::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// List the tools of the service's MCP endpoint
    Tools(EndpointArgs),
    /// Call a tool of the service's MCP endpoint
    Call(Call),
    /// Serve tools over stdin and stdout, for desktop clients and agents
    ///
    /// Every paid call is limited by its argument max_price and by --max-price, whichever is
    /// lower. A paid call without either limit is rejected.
    Serve(Serve),
}

#[derive(Args, Debug)]
pub(crate) struct EndpointArgs {
    /// URL of the service's MCP endpoint [env: SVC_MCP_URL]
    #[arg(long, value_name = "URL", help_heading = crate::args::headings::REQUEST)]
    mcp_url: Option<String>,
}

pub(crate) async fn run(session: &Session, args: Mcp) -> Result {
    match args {
        Mcp::Tools(endpoint) => tools(session, &endpoint).await,
        Mcp::Call(args) => call::run(session, &args).await,
        Mcp::Serve(args) => serve::run(session, &args).await,
    }
}

async fn tools(session: &Session, endpoint: &EndpointArgs) -> Result {
    let listed = async {
        let access = session.mcp(endpoint.mcp_url.as_deref())?;
        let client = McpClient::with_client(&access.client).await.map_err(read_failure)?;
        client.tools().await.map_err(read_failure)
    };
    let tools = tokio::select! {
        tools = listed => tools?,
        _ = session.interrupts.first() => return Err(Failure::interrupted()),
    };
    session.printer.print_list(&tools, |tools| {
        let mut table = Table::new(["tool", "description", "arguments"]);
        for tool in tools {
            let properties = tool.input_schema.get("properties");
            let names = properties.and_then(Value::as_object);
            let names: Vec<_> = names.into_iter().flat_map(Map::keys).cloned().collect();
            table.row([
                tool.name.as_str(),
                tool.description.as_deref().unwrap_or_default(),
                &names.join(", "),
            ]);
        }
        table
    })
}
