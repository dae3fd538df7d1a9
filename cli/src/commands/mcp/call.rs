//! `svc mcp call`: calls of the tools of the service's MCP endpoint.
//!
//! A tool with the argument `max_spend_usd` is paid. A call of it is handled like every paid request:
//! its price is confirmed, an intent is written to the journal before the call, and a call whose
//! outcome is unknown is sent again with the same key if the tool recognizes keys.

use clap::Args;
use serde_json::{Map, Value, json};
use svc_mcp::{McpClient, McpError, Tool, ToolResult};
use svc_sdk::Developer;
use svc_sdk::contract::Operation;
use svc_sdk::types::{IdempotencyKey, InvalidField};

use crate::args::{Pair, SpendingArgs, headings, parse_usd};
use crate::clock;
use crate::commands::mcp::EndpointArgs;
use crate::commands::mcp::error::{call_failure, read_failure};
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::follow::wait;
use crate::input::read_json_or_file;
use crate::output::Table;
use crate::request::SubmitRequest;
use crate::request::body::run::usd_number;
use crate::request::pricing::{self, Price, SpendCap};
use crate::resource::Outcome;
use crate::session::{Access, Session};
use crate::submit::payment::{PaidRequest, Payment, ambiguous_if_key_in_use, submitted_with_key};
use crate::text::nearest;

const KEY: &str = "idempotency_key";
/// The help of `--yes`: unlike a submit, a call without a terminal is rejected if its cost has no limit.
const YES_HELP: &str = "Skip the confirmation prompt; without a terminal, a paid call requires this, --max-price or --arg max_spend_usd=USD";
/// The name of the argument that limits the cost of a call. Every paid tool has it.
const MAX_SPEND: &str = "max_spend_usd";

#[derive(Args, Debug)]
#[command(mut_arg("yes", |arg| arg.help(YES_HELP)))]
pub(crate) struct Call {
    /// Name of the tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Argument: text if the tool takes a text there, otherwise JSON if valid; repeatable
    #[arg(long = "arg", value_name = "KEY=VALUE", help_heading = headings::INPUT)]
    arguments: Vec<Pair>,
    /// All arguments: a JSON object, FILE, or - for stdin
    #[arg(long, value_name = "FILE|-", help_heading = headings::INPUT)]
    input: Option<String>,
    #[command(flatten)]
    spending: SpendingArgs,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub(super) async fn run(session: &Session, args: &Call) -> Result {
    let mut arguments = arguments(args)?;
    let access = session.mcp(args.endpoint.mcp_url.as_deref())?;
    let channel = access.client.with_account(access.key_fingerprint.as_str());
    let connect = async {
        let client = McpClient::with_client(&channel).await.map_err(read_failure)?;
        let tools = client.tools().await.map_err(read_failure)?;
        Ok::<_, Failure>((client, tools))
    };
    let (client, tools) = tokio::select! {
        connected = connect => connected?,
        _ = session.interrupts.first() => return Err(Failure::interrupted()),
    };
    let tool = tools.iter().find(|tool| tool.name == args.tool);
    if let Some(tool) = tool {
        keep_texts(tool, &args.arguments, &mut arguments);
        check_names(tool, &arguments)?;
    }
    match tool {
        Some(tool) if tool.is_paid() => {
            let (client, spending) = (&client, &args.spending);
            PaidCall { session, access: &access, client, tool, spending }.run(arguments).await
        }
        _ if args.spending.dry_run => {
            dry_run(session, &access.base_url, &args.tool, &arguments, None)
        }
        tool => {
            let call = async {
                let called = client.call(&args.tool, Value::Object(arguments)).await;
                called.map_err(call_failure)
            };
            let called = session.send(call).await.map_err(|failure| match tool {
                Some(_) => failure,
                None => failure.hint(hint_for_unknown(&args.tool, &tools)),
            });
            print(session, &called?)
        }
    }
}

/// Makes a text, such as a prompt `2026`, of an argument that is one by the tool's schema.
fn keep_texts(tool: &Tool, given: &[Pair], arguments: &mut Map<String, Value>) {
    for Pair { name, value } in given {
        let kind = tool.input_schema.pointer(&format!("/properties/{name}/type"));
        if kind.is_some_and(|kind| kind == "string")
            && let Some(argument) = arguments.get_mut(name).filter(|argument| !argument.is_string())
        {
            *argument = Value::from(value.as_str());
        }
    }
}

/// Checks the names of the arguments, if the tool takes no others than those of its schema.
fn check_names(tool: &Tool, arguments: &Map<String, Value>) -> Result {
    let schema = &tool.input_schema;
    let Some(known) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Ok(());
    }
    let Some(name) = arguments.keys().find(|name| !known.contains_key(*name)) else {
        return Ok(());
    };
    let failure = Failure::usage(format!("unknown argument `{name}` of {}", tool.name));
    let names = || known.keys().map(String::as_str);
    Err(failure.hint(match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its arguments are: {}", names().collect::<Vec<_>>().join(", ")),
    }))
}

fn hint_for_unknown(name: &str, tools: &[Tool]) -> Suggestion {
    match nearest(name, tools.iter().map(|tool| &*tool.name)) {
        Some(tool) => Suggestion::from("did you mean: ").svc(["mcp", "call", tool]),
        None => Suggestion::from("list the tools with: ").svc(["mcp", "tools"]),
    }
}

struct PaidCall<'a> {
    session: &'a Session,
    access: &'a Access<Developer>,
    client: &'a McpClient,
    tool: &'a Tool,
    spending: &'a SpendingArgs,
}

impl PaidCall<'_> {
    async fn run(&self, mut arguments: Map<String, Value>) -> Result {
        let chosen_key = self.chosen_key(&mut arguments)?;
        if let (Some(limit), None) = (self.spending.max_price, arguments.get(MAX_SPEND)) {
            arguments.insert(MAX_SPEND.to_owned(), usd_number(limit));
        }
        let price = match arguments.get(MAX_SPEND) {
            Some(limit) => {
                let text = limit.as_str().map_or_else(|| limit.to_string(), str::to_owned);
                let max_usd = parse_usd(&text)
                    .map_err(|why| Failure::usage(format!("argument {MAX_SPEND}: {why}")))?;
                Price::SpendCap(SpendCap { max_usd, runs: 1 })
            }
            None => Price::Unknown,
        };
        let request = SubmitRequest {
            noun: "MCP tool",
            operation: Operation::Mcp,
            segments: vec![self.tool.name.clone()],
            body: arguments,
        };
        if self.spending.dry_run {
            pricing::check_max_price(&price, self.spending.max_price)?;
            let url = &self.access.base_url;
            return dry_run(self.session, url, &self.tool.name, &request.body, Some(&price));
        }
        let paid = PaidRequest {
            chosen_key: chosen_key.as_ref(),
            max_price: price.upper_bound(),
            is_idempotent: self.tool.recognizes_keys(),
            ..PaidRequest::new(self.access, &request)
        };
        self.send(paid, &price).await
    }

    async fn send(&self, paid: PaidRequest<'_>, price: &Price) -> Result {
        let args = self.spending.journal;
        if let Some(id) = submitted_with_key(self.session, &paid, args).await? {
            return print_fields(self.session, &json!({ id.field(): id.id() }));
        }
        let journal = self.session.submissions(args).await?;
        let payment = Payment::new(paid, journal, args.new, list_hints()).await?;
        match payment.is_new() {
            true => self.confirm(price).await?,
            false => payment.announce(&self.session.printer),
        }
        let new_key = match paid.chosen_key {
            Some(key) => key.clone(),
            None => clock::idempotency_key()?,
        };
        let mut arguments = paid.request.body.clone();
        if self.tool.has_argument(KEY) {
            arguments.insert(KEY.to_owned(), new_key.as_str().into());
        }
        let key = payment.key(new_key);
        let (tool, arguments) = (&self.tool.name, Value::Object(arguments));
        let calling = async {
            let called = match payment.record_tool(self.client, tool, arguments.clone()) {
                Some(call) => call.await,
                None => self.client.call(tool, arguments).await,
            };
            called.map_err(|error| sent_call_failure(error, &payment))
        };
        let failed = "could not call the tool";
        let result = payment.send(self.session, calling, &key, failed).await?;
        let printed = print(self.session, &result);
        let outcome = wait::outcome_of(&printed).map(|_| Outcome::Submitted);
        payment.close(&self.session.printer, result.intent_id(), outcome).await;
        printed
    }

    /// Removes the caller's idempotency key from the arguments, and returns it or that of the flag.
    fn chosen_key(&self, arguments: &mut Map<String, Value>) -> Result<Option<IdempotencyKey>> {
        let flag = self.spending.idempotency_key.clone();
        if !self.tool.has_argument(KEY) && flag.is_some() {
            let why = format!("the tool {} does not accept an idempotency key", self.tool.name);
            return Err(Failure::usage(why));
        }
        if !self.tool.has_argument(KEY) {
            return Ok(None);
        }
        let Some(key) = arguments.remove(KEY) else { return Ok(flag) };
        let key = key.as_str().unwrap_or_default().parse();
        key.map(Some).map_err(|error: InvalidField| Failure::usage(error.to_string()))
    }

    async fn confirm(&self, price: &Price) -> Result {
        pricing::check_max_price(price, self.spending.max_price)?;
        if self.session.printer.can_prompt() {
            let what = format!("Call {}", self.tool.name);
            return pricing::confirm(self.session, &what, price, self.spending).await;
        }
        let is_approved = self.spending.yes || price.upper_bound().is_some();
        if is_approved || self.session.is_sandbox() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "cannot prompt for confirmation of the paid tool {}: stdin or stderr is not a terminal",
            self.tool.name
        ))
        .hint(format!(
            "limit the cost with --max-price USD or --arg {MAX_SPEND}=USD, or pass --yes"
        )))
    }
}

/// Returns the failure of a call, which is ambiguous if the tool may have run.
fn sent_call_failure(error: McpError, payment: &Payment<'_>) -> Failure {
    let is_ambiguous = error.is_ambiguous();
    match error {
        McpError::Request(error) => {
            let is_unsettled = error.has_unsettled_attempt();
            let failure = payment.failure(error);
            if is_ambiguous && !is_unsettled { failure.with_exit(Exit::Ambiguous) } else { failure }
        }
        error => ambiguous_if_key_in_use(call_failure(error)),
    }
}

fn dry_run(
    session: &Session,
    url: &str,
    tool: &str,
    arguments: &Map<String, Value>,
    price: Option<&Price>,
) -> Result {
    let shown = json!({
        "dry_run": true,
        "request": {"url": url, "tool": tool, "arguments": arguments},
        "cap_usd": price.and_then(Price::upper_bound),
    });
    session.printer.print_item(&shown, |_| {
        let mut table = Table::key_value();
        table.field("tool", Some(tool));
        table.field("arguments", Some(Value::Object(arguments.clone())));
        table.field(
            "price",
            price.map(|price| match price {
                Price::Unknown => "unknown; limit it with --max-price USD".to_owned(),
                price => price.describe(),
            }),
        );
        table.field("sent", Some("nothing (dry run)"));
        table
    })
}

fn list_hints() -> Vec<Suggestion> {
    let check = Suggestion::from("check whether it was executed: ")
        .svc(["job", "list", "--surface", "developer"])
        .then(", ")
        .svc(["agent", "runs"]);
    let new = "if it was not, or to make another call, run this command with --new";
    vec![check, new.into()]
}

fn print(session: &Session, result: &ToolResult) -> Result {
    if let Some(key) = &result.idempotency_key {
        session.printer.note(&format!("idempotency key: {key}"));
    }
    for link in &result.links {
        session.printer.note(&format!("file: {}", link.uri));
    }
    match &result.structured {
        Some(structured) => print_fields(session, structured),
        None => session.printer.print_text(&result.texts.join("\n")),
    }
}

fn print_fields(session: &Session, structured: &Value) -> Result {
    session.printer.print_item(structured, |structured| {
        let mut table = Table::key_value();
        for (name, value) in structured.as_object().into_iter().flatten() {
            table.field(name, Some(value));
        }
        table
    })
}

fn arguments(args: &Call) -> Result<Map<String, Value>> {
    let input = args.input.as_deref().map(|input| read_json_or_file("--input", input));
    let mut arguments = match input.transpose()? {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(Failure::usage("invalid --input: expected a JSON object")),
    };
    for pair in &args.arguments {
        let text = || Value::from(pair.value.as_str());
        let value = serde_json::from_str(&pair.value).unwrap_or_else(|_| text());
        arguments.insert(pair.name.clone(), value);
    }
    Ok(arguments)
}
