//! `svc mcp call`: calls of the tools of the service's MCP endpoint.
//!
//! A tool with the argument `max_spend_usd` is paid. A call of it is handled like every paid request:
//! its price is confirmed, an intent is written to the journal before the call, and a call whose
//! outcome is unknown is sent again with the same key.

use clap::Args;
use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::mcp::{Client, Tool, ToolResult};
use svc_sdk::types::{IdempotencyKey, Usd};

use super::endpoint::{EndpointArgs, call_failure, read_failure};
use crate::args::{Pair, SpendingArgs, SurfaceChoice, headings, parse_usd};
use crate::clock;
use crate::error::{Exit, Failure};
use crate::input::read_json_or_file;
use crate::journal::OpenIntent;
use crate::output::Table;
use crate::pricing::{self, Price, SpendCap};
use crate::random;
use crate::request_body::run::usd_number;
use crate::session::{McpAccess, Session};
use crate::submit::paid_request::{
    PaidRequest, abandon, age, ambiguous_if_key_in_use, close, close_failed,
};
use crate::types::{Outcome, ResourceId, SubmitRequest};
use crate::wait;

/// The name of the argument for the idempotency key.
const KEY: &str = "idempotency_key";
/// The help of `--yes`: unlike a submit, a call without a terminal is rejected if its cost has no limit.
const YES_HELP: &str = "Skip the confirmation prompt; without a terminal, a paid call requires this, --max-price or --arg max_spend_usd=USD";
/// The name of the argument that limits the cost of a call. Every paid tool has it.
const MAX_SPEND: &str = "max_spend_usd";

/// The flags of `svc mcp call`.
#[derive(Args, Debug)]
#[command(mut_arg("yes", |arg| arg.help(YES_HELP)))]
pub(crate) struct Call {
    /// Name of the tool
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Argument: parsed as JSON if valid, otherwise as text; repeatable
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

/// Runs the command.
pub(super) async fn run(session: &Session, args: &Call) -> Result<(), Failure> {
    let arguments = arguments(args)?;
    let McpAccess {
        builder,
        url,
        key_fingerprint,
    } = session.mcp(args.endpoint.mcp_url.as_deref())?;
    let connect = async {
        let client = builder.connect().await.map_err(read_failure)?;
        let tools = client.tools().await.map_err(read_failure)?;
        Ok::<_, Failure>((client, tools))
    };
    let (client, tools) = tokio::select! {
        connected = connect => connected?,
        () = session.interrupts.first() => return Err(Failure::interrupted()),
    };
    match tools.iter().find(|tool| tool.name == args.tool) {
        Some(tool) if tool.has_argument(MAX_SPEND) => {
            let call = PaidCall {
                session,
                url: &url,
                key_fingerprint: &key_fingerprint,
                client: &client,
                tool,
                spending: &args.spending,
            };
            call.run(arguments).await
        }
        _ if args.spending.dry_run => {
            dry_run(session, &url, &args.tool, &arguments, &Price::Unknown)
        }
        _ => {
            let call = async {
                let called = client.call(&args.tool, Value::Object(arguments)).await;
                called.map_err(call_failure)
            };
            print(session, &session.send(call).await?)
        }
    }
}

/// A call of a paid tool.
struct PaidCall<'a> {
    session: &'a Session,
    url: &'a str,
    key_fingerprint: &'a str,
    client: &'a Client,
    tool: &'a Tool,
    spending: &'a SpendingArgs,
}

impl PaidCall<'_> {
    async fn run(&self, mut arguments: Map<String, Value>) -> Result<(), Failure> {
        let chosen_key = self.chosen_key(&mut arguments)?;
        if let (Some(limit), None) = (self.spending.max_price, arguments.get(MAX_SPEND)) {
            arguments.insert(MAX_SPEND.to_owned(), usd_number(limit));
        }
        let price = match arguments.get(MAX_SPEND) {
            Some(limit) => {
                let text = limit
                    .as_str()
                    .map_or_else(|| limit.to_string(), str::to_owned);
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
            return dry_run(
                self.session,
                self.url,
                &self.tool.name,
                &request.body,
                &price,
            );
        }
        let paid = PaidRequest {
            surface: SurfaceChoice::Developer,
            base_url: self.url,
            key_fingerprint: self.key_fingerprint,
            request: &request,
            chosen_key: chosen_key.as_ref(),
            max_price: price.upper_bound(),
            is_idempotent: self.tool.has_argument(KEY),
        };
        let (key, intent, is_retry) = self.begin(&paid, &price).await?;
        let sent = self.session.send(self.call(&request, &key)).await;
        match sent {
            Ok(result) => self.finish(&result, intent),
            Err(failure) => {
                let failure = ambiguous_if_key_in_use(failure)
                    .context("could not call the tool")
                    .with_idempotency_key(key.as_str());
                let failure = self.with_retry_hint(failure, &paid, intent.is_some());
                Err(match intent {
                    Some(intent) => close_failed(&self.session.printer, intent, failure, is_retry),
                    None => failure,
                })
            }
        }
    }

    /// Removes the caller's idempotency key from the arguments, and returns it or that of the flag.
    fn chosen_key(
        &self,
        arguments: &mut Map<String, Value>,
    ) -> Result<Option<IdempotencyKey>, Failure> {
        let flag = self.spending.idempotency_key.clone();
        if !self.tool.has_argument(KEY) {
            return match flag {
                None => Ok(None),
                Some(_) => {
                    let why = format!(
                        "the tool {} does not accept an idempotency key",
                        self.tool.name
                    );
                    Err(Failure::usage(why))
                }
            };
        }
        match arguments.remove(KEY) {
            None => Ok(flag),
            Some(key) => {
                let key = key.as_str().unwrap_or_default().parse();
                key.map(Some)
                    .map_err(|error: svc_sdk::types::InvalidField| {
                        Failure::usage(error.to_string())
                    })
            }
        }
    }

    /// Returns the key to call with, with the intent in the journal, and whether an earlier attempt
    /// with that key may have been carried out.
    async fn begin(
        &self,
        paid: &PaidRequest<'_>,
        price: &Price,
    ) -> Result<(IdempotencyKey, Option<OpenIntent>, bool), Failure> {
        let journal = self.session.journal_for(self.spending.journal)?;
        let hash = paid.hash();
        if let Some(journal) = &journal {
            if self.spending.journal.new {
                abandon(journal, &hash)?;
            }
            if let Some(intent) = journal.reopen(&hash)? {
                if !paid.can_resend(&intent) {
                    return Err(with_list_hint(paid.unresolved(&intent)));
                }
                self.session.printer.note(&format!(
                    "Resending a call that was interrupted {} ago, with the same key so that it is charged only once",
                    clock::format_duration(age(&intent)),
                ));
                let key = intent.entry().intent.idempotency_key.clone();
                return Ok((key, Some(intent), true));
            }
        }
        self.confirm(price).await?;
        let key = match paid.chosen_key {
            Some(key) => key.clone(),
            None => random::idempotency_key()?,
        };
        let intent = match &journal {
            Some(journal) => Some(journal.begin(paid.intent(hash, key.clone(), None))?),
            None => None,
        };
        Ok((key, intent, false))
    }

    async fn confirm(&self, price: &Price) -> Result<(), Failure> {
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

    async fn call(
        &self,
        request: &SubmitRequest,
        key: &IdempotencyKey,
    ) -> Result<ToolResult, Failure> {
        let mut arguments = request.body.clone();
        if self.tool.has_argument(KEY) {
            arguments.insert(KEY.to_owned(), key.as_str().into());
        }
        let called = self
            .client
            .call(&self.tool.name, Value::Object(arguments))
            .await;
        called.map_err(|error| match error.is_ambiguous() {
            true => call_failure(error).with_exit(Exit::Ambiguous),
            false => call_failure(error),
        })
    }

    /// Writes the receipt to the journal, and prints the result.
    fn finish(&self, result: &ToolResult, mut intent: Option<OpenIntent>) -> Result<(), Failure> {
        let structured = result.structured.as_ref();
        if let (Some(intent), Some(id)) = (&mut intent, structured.and_then(resource_id)) {
            let price = structured.and_then(|it| it.pointer("/job/price_usd"));
            let price: Option<Usd> = price.and_then(|it| serde_json::from_value(it.clone()).ok());
            let noun = id.noun();
            if let Err(error) = intent.receipt(id, None, price) {
                self.session.printer.warn(&format!(
                    "could not write to the journal: {error}; keep the {noun}'s id"
                ));
            }
        }
        let printed = print(self.session, result);
        if let Some(intent) = intent
            && wait::outcome_of(&printed).is_some()
        {
            close(&self.session.printer, intent, Outcome::Submitted);
        }
        printed
    }

    /// Adds hints to an ambiguous failure on how to proceed without paying twice.
    fn with_retry_hint(
        &self,
        failure: Failure,
        paid: &PaidRequest<'_>,
        is_journaled: bool,
    ) -> Failure {
        match failure.exit() {
            Exit::Ambiguous if !paid.is_idempotent => with_list_hint(failure),
            Exit::Ambiguous if is_journaled => failure
                .hint("run the same command again on this machine: it is sent with the same key"),
            Exit::Ambiguous => failure.hint(
                "run the same command with --idempotency-key and the same key: it is charged only once",
            ),
            _ => failure,
        }
    }
}

fn dry_run(
    session: &Session,
    url: &str,
    tool: &str,
    arguments: &Map<String, Value>,
    price: &Price,
) -> Result<(), Failure> {
    let shown = json!({
        "dry_run": true,
        "request": {"url": url, "tool": tool, "arguments": arguments},
        "cap_usd": price.upper_bound(),
    });
    session.printer.print_item(&shown, |_| {
        let mut table = Table::key_value();
        table.field("tool", Some(tool));
        table.field("arguments", Some(Value::Object(arguments.clone())));
        table.field("price", Some(price.describe()));
        table.field("sent", Some("nothing (dry run)"));
        table
    })
}

fn with_list_hint(failure: Failure) -> Failure {
    failure
        .hint("check whether it was executed: svc job list --surface developer, svc agent runs")
        .hint("if it was not, or to make another call, run this command with --new")
}

/// Returns the id of the resource that a tool started.
fn resource_id(structured: &Value) -> Option<ResourceId> {
    let text = |name: &str| structured.get(name)?.as_str().map(str::to_owned);
    let job = text("job_id").map(ResourceId::Job);
    job.or_else(|| text("run_id").map(ResourceId::Run))
        .or_else(|| text("queue_id").map(ResourceId::Queue))
}

fn print(session: &Session, result: &ToolResult) -> Result<(), Failure> {
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
            _ => return Err(Failure::usage("invalid --input: expected a JSON object")),
        },
    };
    for pair in &args.arguments {
        let text = || Value::from(pair.value.as_str());
        let value = serde_json::from_str(&pair.value).unwrap_or_else(|_| text());
        arguments.insert(pair.name.clone(), value);
    }
    Ok(arguments)
}
