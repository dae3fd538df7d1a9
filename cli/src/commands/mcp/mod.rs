//! `svc mcp`: the service's tools over MCP. `tools` and `call` ask the service's own endpoint;
//! `serve` is an MCP server for programs on this machine, and stands on the two surfaces.

mod ask;
mod desk;
mod limits;
mod serve;
mod tools;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use svc_sdk::contract::ErrorCode;
use svc_sdk::mcp;

use self::serve::Serve;
use crate::args::Pair;
use crate::error::Exit;
use crate::error::Failure;
use crate::input::read_json_or_file;
use crate::output::Table;
use crate::session::Session;

/// Tools over MCP.
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    /// Lists the tools of the service's endpoint.
    Tools(Endpoint),
    /// Calls one of them.
    Call(Call),
    /// Serves tools on standard input and output, for desktop clients and agents.
    ///
    /// What a tool may cost is limited here, and not by the model: each paid call has to state
    /// max_spend_usd, or --max-spend-usd holds for it, and none goes above either.
    Serve(Serve),
}

/// Which endpoint.
#[derive(Args, Debug)]
pub(crate) struct Endpoint {
    /// The endpoint's URL [env: SVC_MCP_URL].
    #[arg(long, value_name = "URL")]
    mcp_url: Option<String>,
}

/// The flags of `svc mcp call`.
#[derive(Args, Debug)]
pub(crate) struct Call {
    /// The tool's name.
    #[arg(value_name = "TOOL")]
    tool: String,
    /// An argument: JSON where it is some, else text; may be repeated.
    #[arg(long = "arg", value_name = "KEY=VALUE")]
    arguments: Vec<Pair>,
    /// All arguments: a JSON object, FILE, or - for standard input.
    #[arg(long, value_name = "FILE|-")]
    input: Option<String>,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// Runs it.
pub(crate) async fn run(session: &Session, args: Mcp) -> Result<(), Failure> {
    match args {
        Mcp::Tools(endpoint) => tools(session, &endpoint).await,
        Mcp::Call(args) => call(session, &args).await,
        Mcp::Serve(args) => serve::run(session, &args).await,
    }
}

async fn tools(session: &Session, endpoint: &Endpoint) -> Result<(), Failure> {
    let listed = async {
        let client = session.mcp(endpoint.mcp_url.as_deref())?.connect().await;
        let client = client.map_err(read_failure)?;
        client.tools().await.map_err(read_failure)
    };
    let tools = tokio::select! {
        tools = listed => tools?,
        () = session.interrupts.first() => return Err(Failure::interrupted()),
    };
    session.printer.print_list(&tools, |tools| {
        let mut table = Table::new(["tool", "takes", "description"]);
        for tool in tools {
            let properties = tool.input_schema.get("properties");
            let names = properties.and_then(Value::as_object);
            let names: Vec<_> = names.into_iter().flat_map(Map::keys).cloned().collect();
            table.row([
                tool.name.as_str(),
                &names.join(", "),
                tool.description.as_deref().unwrap_or_default(),
            ]);
        }
        table
    })
}

async fn call(session: &Session, args: &Call) -> Result<(), Failure> {
    let arguments = arguments(args)?;
    let endpoint = args.endpoint.mcp_url.as_deref();
    let client = tokio::select! {
        client = session.mcp(endpoint)?.connect() => client.map_err(read_failure)?,
        () = session.interrupts.first() => return Err(Failure::interrupted()),
    };
    let called = tokio::select! {
        biased;
        called = client.call(&args.tool, Value::Object(arguments)) => called,
        () = session.interrupts.first() => return Err(Failure::interrupted_in_flight()),
    };
    let result = called.map_err(call_failure)?;
    if let Some(key) = &result.idempotency_key {
        session.printer.note(&format!("idempotency key: {key}"));
    }
    for link in &result.links {
        session.printer.note(&format!("file: {}", link.uri));
    }
    match &result.structured {
        Some(structured) => session.printer.print_item(structured, |structured| {
            let mut table = Table::key_value();
            for (name, value) in structured.as_object().into_iter().flatten() {
                table.field(name, Some(value));
            }
            table
        }),
        None => session.printer.print_text(&result.texts.join("\n")),
    }
}

fn arguments(args: &Call) -> Result<Map<String, Value>, Failure> {
    let mut arguments = match args
        .input
        .as_deref()
        .map(|input| read_json_or_file("--input", input))
    {
        None => Map::new(),
        Some(input) => match input? {
            Value::Object(arguments) => arguments,
            _ => return Err(Failure::usage("--input must be a JSON object")),
        },
    };
    for pair in &args.arguments {
        let text = || Value::from(pair.value.as_str());
        let value = serde_json::from_str(&pair.value).unwrap_or_else(|_| text());
        arguments.insert(pair.name.clone(), value);
    }
    Ok(arguments)
}

/// What kept the tools from being read. Nothing was changed by that.
fn read_failure(error: mcp::Error) -> Failure {
    if error.is_ambiguous() {
        return Failure::new(Exit::Unreachable, error.to_string());
    }
    call_failure(error)
}

fn call_failure(error: mcp::Error) -> Failure {
    match error {
        mcp::Error::Call(error) => Failure::from(error),
        mcp::Error::Tool(error) => {
            let code = error.code();
            let mut failure = Failure::new(exit_of(code), error.to_string());
            if let Some(body) = &error.body {
                let details = serde_json::to_value(&body.details).ok();
                failure = failure.with_response(
                    Some(body.code.as_str().to_owned()),
                    None,
                    body.request_id.as_ref().map(ToString::to_string),
                    details.filter(|details| !details.is_null()),
                );
            }
            match &error.idempotency_key {
                Some(key) => failure.with_idempotency_key(key.as_str()),
                None => failure,
            }
        }
        mcp::Error::Protocol {
            code: -32602,
            message,
        } => Failure::usage(message),
        other => Failure::other(other.to_string()),
    }
}

fn exit_of(code: Option<&ErrorCode>) -> Exit {
    match code {
        Some(ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits) => Exit::Funds,
        Some(code) if code.as_str() == "max_spend_exceeded" => Exit::Funds,
        Some(ErrorCode::ConcurrencyLimitReached) => Exit::Overloaded,
        Some(code) => {
            let status = code.entry().and_then(|entry| entry.status);
            status.map_or(Exit::Failure, Exit::of_status)
        }
        None => Exit::Failure,
    }
}
