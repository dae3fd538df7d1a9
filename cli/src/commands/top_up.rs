//! `svc top-up`: funds added to the balance.

use std::future::IntoFuture;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use svc_sdk::Open;
use svc_sdk::types::{IdempotencyKey, TopUp as Record, TopUpCreate, TopUpId};

use crate::args::{BodyArgs, JsonField, SurfaceChoice, Timeout};
use crate::error::{Exit, Failure};
use crate::output::Table;
use crate::request_body::RequestBody;
use crate::session::Session;

/// The subcommands of `svc top-up`.
#[derive(Debug, Subcommand)]
pub(crate) enum TopUp {
    /// Create a top-up, and print its checkout URL
    Create(Create),
    /// Show a top-up
    Get {
        /// Top-up id
        #[arg(value_name = "TOP_UP_ID")]
        id: String,
    },
    /// Wait until a top-up is paid
    Wait {
        /// Top-up id
        #[arg(value_name = "TOP_UP_ID")]
        id: String,
        /// Time to wait before giving up, such as 30s, 5m, 1h, a number of seconds, or none
        /// [default: 20m]
        #[arg(long, value_name = "TIME")]
        timeout: Option<Timeout>,
    },
}

/// The flags of `svc top-up create`.
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Amount in whole US cents, 500 to 1000000
    #[arg(long, value_name = "N", required_unless_present = "input")]
    amount_usd_cents: Option<u64>,
    /// URL to redirect to after the payment (HTTPS)
    #[arg(long, value_name = "URL")]
    success_url: Option<String>,
    /// URL to redirect to if the payment is canceled (HTTPS)
    #[arg(long, value_name = "URL")]
    cancel_url: Option<String>,
    /// Any other field, as JSON; repeatable
    #[arg(long = "param", value_name = "KEY=JSON")]
    params: Vec<JsonField>,
    /// JSON file with the whole body, or - for stdin; flags override its fields
    #[arg(long, value_name = "FILE|-")]
    input: Option<std::path::PathBuf>,
    /// Idempotency key: the same key returns the same top-up [default: generated]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,
}

/// Runs the command.
pub(crate) async fn run(session: &Session, top_up: TopUp) -> Result<(), Failure> {
    match top_up {
        TopUp::Create(args) => create(session, args).await,
        TopUp::Get { id } => {
            let top_up = session
                .access::<Open>()?
                .client
                .top_ups()
                .handle(id)
                .get()
                .await?;
            session.printer.print_item(&top_up, table)
        }
        TopUp::Wait { id, timeout } => wait(session, TopUpId::from(id), timeout).await,
    }
}

async fn create(session: &Session, args: Create) -> Result<(), Failure> {
    let common = BodyArgs {
        prompt: None,
        params: args.params,
        input: args.input,
    };
    let mut body = RequestBody::read(&common)?;
    body.set("amount_usd_cents", args.amount_usd_cents)?;
    body.set("success_url", args.success_url)?;
    body.set("cancel_url", args.cancel_url)?;
    let body = to_request(body.finish()?)?;
    let mut call = session.access::<Open>()?.client.top_ups().create(&body);
    if let Some(key) = args.idempotency_key {
        call = call.idempotency_key(key);
    }
    let key = call
        .request()
        .ok()
        .and_then(|request| request.idempotency_key.clone());
    let sent = session.send(call).await;
    let handle = sent.map_err(|failure| {
        let failure = failure.context("could not create the top-up");
        match key {
            Some(key) if failure.exit() == Exit::Ambiguous => failure.with_idempotency_key(key.as_str()).hint(format!(
                "run the same command with --idempotency-key {key}: the same key returns the same top-up"
            )),
            _ => failure,
        }
    })?;
    if let Some(top_up) = handle.receipt() {
        session.printer.print_item(top_up, table)?;
    }
    if session.is_sandbox() {
        return Ok(());
    }
    let words = ["top-up", "wait", handle.id().as_str()];
    session.printer.note(&format!(
        "open the checkout URL in a browser, then wait for the payment with: {}",
        session.resume_command(SurfaceChoice::Open, &words)
    ));
    Ok(())
}

fn to_request(mut fields: Map<String, Value>) -> Result<TopUpCreate, Failure> {
    let amount = fields.remove("amount_usd_cents");
    let cents = amount.as_ref().and_then(Value::as_u64).ok_or_else(|| {
        Failure::usage("invalid amount_usd_cents: expected a whole number of cents")
    })?;
    Ok(fields
        .into_iter()
        .fold(TopUpCreate::new(cents), |body, (name, value)| {
            body.field(name, value)
        }))
}

async fn wait(session: &Session, id: TopUpId, timeout: Option<Timeout>) -> Result<(), Failure> {
    let client = session.access::<Open>()?.client;
    let wait = client.top_ups().handle(&id).wait();
    let wait = match timeout {
        None => wait,
        Some(Timeout(Some(timeout))) => wait.timeout(timeout),
        Some(Timeout(None)) => wait.no_timeout(),
    };
    let wait_command =
        || session.resume_command(SurfaceChoice::Open, &["top-up", "wait", id.as_str()]);
    let resume = |failure: Failure| match failure.exit() {
        Exit::JobFailed | Exit::JobCanceled | Exit::NotFound => failure,
        Exit::StillRunning => Failure::new(
            Exit::StillRunning,
            "timed out; the payment may still arrive",
        )
        .with_resume(wait_command()),
        _ => failure.with_resume(wait_command()),
    };
    session
        .printer
        .note(&format!("Waiting for the payment of {id}…"));
    let paid = tokio::select! {
        biased;
        paid = wait.into_future() => paid.map_err(Failure::from),
        () = session.interrupts.first() => Err(Failure::new(Exit::Interrupted, "interrupted; the top-up remains open")),
    };
    session.printer.print_item(&paid.map_err(resume)?, table)
}

fn table(top_up: &Record) -> Table {
    let mut table = Table::key_value();
    table.field("id", Some(&top_up.id));
    table.field("status", Some(&top_up.status));
    table.field(
        "amount",
        top_up
            .amount_usd_cents
            .map(|cents| format!("{}.{:02} USD", cents / 100, cents % 100)),
    );
    table.field("checkout", top_up.checkout_url.as_ref());
    table
}
