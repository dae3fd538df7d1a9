//! `svc me`, `svc balance` and `svc top-up`: the account, and funds added to its balance.

use clap::{Args, Subcommand};
use serde_json::Value;
use svc_sdk::contract::{Operation, Scope, TopUpStatus};
use svc_sdk::handle::TopUpResource;
use svc_sdk::types::{IdempotencyKey, Me, TopUp as Record, TopUpId, Usd};
use svc_sdk::{Developer, Open};

use crate::args::{BodyArgs, JournalArgs, SurfaceChoice, Timeout, headings};
use crate::commands::operations::command_of;
use crate::download::open_with_default;
use crate::error::{Exit, Failure, Result};
use crate::follow::wait;
use crate::output::values::money;
use crate::output::{ObjectKind, Table};
use crate::request::SubmitRequest;
use crate::request::body::RequestBody;
use crate::resource::{Outcome, ResourceId};
use crate::session::Session;
use crate::submit::payment::{PaidRequest, Payment, prepare};
use crate::text::sanitize;

pub(crate) async fn me(session: &Session) -> Result {
    let client = session.access::<Developer>()?.client;
    let me = client.account().me().await?;
    session.printer.print_item(&me, me_table)
}

fn me_table(me: &Me) -> Table {
    let mut table = Table::key_value();
    if let Some(key) = &me.key {
        table.fields(key, "key=id, name, prefix, last used=last_used_at");
    }
    table.fields(me, "workspace=workspace.id, plan=workspace.plan");
    table.field("owner", me.owner.as_ref().map(format_owner));
    if let Some(limits) = me.generation_limits.as_ref() {
        let count = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
        let in_flight = count(limits.in_flight);
        let limit = count(limits.concurrent_jobs);
        table.field("jobs in flight", Some(format!("{in_flight} of {limit}")));
    }
    let Some(key) = &me.key else { return table };
    for scope in Scope::KNOWN {
        let allowed = if key.scopes.contains(scope) { "yes" } else { "no" };
        table.field(scope.as_str(), Some(format!("{allowed}: {}", commands_with_scope(scope))));
    }
    for scope in key.scopes.iter().filter(|it| !Scope::KNOWN.contains(it)) {
        table.field(scope.as_str(), Some("yes"));
    }
    table
}

/// Returns the name and the id of an owner, or all its fields if it has neither.
fn format_owner(owner: &Value) -> String {
    let text = |name: &str| owner.get(name).and_then(Value::as_str);
    match (text("name"), text("id")) {
        (Some(name), Some(id)) => format!("{name} ({id})"),
        (Some(text), None) | (None, Some(text)) => text.to_owned(),
        (None, None) => owner.to_string(),
    }
}

fn commands_with_scope(scope: &Scope) -> String {
    let mut commands: Vec<String> = Vec::new();
    for operation in Operation::ALL {
        let words = command_words(command_of(*operation));
        if operation.scope().as_ref() == Some(scope) && !commands.contains(&words) {
            commands.push(words);
        }
    }
    commands.join(", ")
}

/// Returns `run get` for `svc run get RUN_ID --kind action`.
fn command_words(cli: &str) -> String {
    let words = cli.split(' ').skip(1);
    let words: Vec<_> =
        words.take_while(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    words.join(" ")
}

pub(crate) async fn balance(session: &Session) -> Result {
    let client = session.access::<Developer>()?.client;
    let balance = client.account().balance().await?;
    let fields = "available=available_usd, reserved=reserved_usd";
    session.printer.print_item(&balance, |balance| Table::of(balance, fields))
}

const MICROS_PER_CENT: i64 = 10_000;
/// The largest amount that is not confirmed on a terminal.
const UNCONFIRMED_CENTS: u64 = 50_000;

/// What can be done about a top-up whose outcome cannot be found out.
const NEW_HINT: &str =
    "to create another top-up, run the command with --new; one that is not paid costs nothing";

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

#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Amount in dollars, 5 to 10000, such as 20 or 20.50 (required)
    #[arg(
        value_name = "DOLLARS",
        required_unless_present_any = ["amount_usd_cents", "params", "input"],
        conflicts_with_all = ["amount_usd_cents", "params", "input"],
        value_parser = parse_amount,
        allow_negative_numbers = true
    )]
    amount: Option<Usd>,
    /// Amount in whole US cents, 500 to 1000000, in place of DOLLARS
    #[arg(long, value_name = "N", help_heading = headings::INPUT)]
    amount_usd_cents: Option<u64>,
    /// URL to redirect to after the payment (HTTPS)
    #[arg(long, value_name = "URL", help_heading = headings::REQUEST)]
    success_url: Option<String>,
    /// URL to redirect to if the payment is canceled (HTTPS)
    #[arg(long, value_name = "URL", help_heading = headings::REQUEST)]
    cancel_url: Option<String>,
    #[command(flatten)]
    body: BodyArgs,
    /// Open the checkout page in a browser
    #[arg(long)]
    open: bool,
    /// Do not ask before a top-up of more than $500
    #[arg(short, long)]
    yes: bool,
    /// Idempotency key [default: generated]
    #[arg(long, value_name = "KEY", help_heading = headings::REPETITION)]
    idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    journal: JournalArgs,
}

pub(crate) async fn top_up(session: &Session, top_up: TopUp) -> Result {
    match top_up {
        TopUp::Create(args) => create(session, args).await,
        TopUp::Get { id } => {
            let top_up = session.access::<Open>()?.client.top_ups().handle(id).get().await?;
            session.printer.print_object(ObjectKind::TopUp, &top_up, top_up_table)
        }
        TopUp::Wait { id, timeout } => wait_until_paid(session, TopUpId::from(id), timeout).await,
    }
}

async fn create(session: &Session, args: Create) -> Result {
    let mut body = RequestBody::read(&args.body)?;
    let cents = args.amount.map(|amount| amount.as_micros() / MICROS_PER_CENT);
    body.set("amount_usd_cents", cents)?;
    body.set("amount_usd_cents", args.amount_usd_cents)?;
    body.set("success_url", args.success_url)?;
    body.set("cancel_url", args.cancel_url)?;
    let request = SubmitRequest::new("top-up", Operation::TopUpsCreate, body.finish()?);
    let amount = request.body.get("amount_usd_cents");
    let Some(cents) = amount.and_then(Value::as_u64) else {
        let why = "invalid amount_usd_cents: expected a whole number of cents";
        return Err(Failure::usage(why));
    };
    let access = session.access::<Open>()?;
    let paid = PaidRequest {
        chosen_key: args.idempotency_key.as_ref(),
        ..PaidRequest::new(&access, &request)
    };
    let journal = session.submissions(args.journal).await?;
    let payment = Payment::new(paid, journal, args.journal.new, vec![NEW_HINT.into()]).await?;
    payment.announce(&session.printer);
    if payment.is_new() {
        confirm(session, cents, args.yes).await?;
    }
    let client = &access.client;
    let client = client.with_account(access.key_fingerprint.as_str());
    let (call, key) = prepare::<TopUpResource>(&client, &request, args.idempotency_key.clone())?;
    let (call, key) = payment.record(call, key, None);
    let sending = async { call.await.map_err(|error| payment.failure(error)) };
    let failed = "could not create the top-up";
    let top_up = payment.send(session, sending, &key, failed).await?;
    let record = match top_up.receipt() {
        Some(record) => record.clone(),
        None => top_up.get().await?,
    };
    let printer = &session.printer;
    let printed = printer.print_submitted(ObjectKind::TopUp, &record, Some(&key), top_up_table);
    let outcome = wait::outcome_of(&printed).map(|_| Outcome::Submitted);
    payment.close(&session.printer, top_up.intent_id(), outcome).await;
    printed?;
    if session.is_sandbox() {
        return Ok(());
    }
    // One that was created before may have ended.
    match record.status {
        TopUpStatus::Paid => return Ok(()),
        TopUpStatus::Expired | TopUpStatus::Failed => {
            let new_key = match args.idempotency_key {
                Some(_) => "another --idempotency-key",
                None => "--new",
            };
            let status = &record.status;
            let why = format!(
                "the top-up has ended ({status}): a new top-up needs a new key ({new_key})"
            );
            session.printer.note(&why);
            return Ok(());
        }
        _ => {}
    }
    let words = ["top-up", "wait", top_up.id().as_str()];
    let wait = session.resume_command(SurfaceChoice::Open, &words);
    let what = match &record.checkout_url {
        Some(url) if args.open && open_page(session, url).await => "pay on the page in the browser",
        _ => "open the checkout URL in a browser",
    };
    session.printer.note(&format!("{what}, then wait for the payment with: {wait}"));
    Ok(())
}

async fn confirm(session: &Session, cents: u64, yes: bool) -> Result {
    let amount = i64::try_from(cents).ok().and_then(Usd::from_cents);
    let amount = amount.map_or_else(|| format!("{cents} cents"), money);
    if cents <= UNCONFIRMED_CENTS || yes || session.is_sandbox() || !session.printer.can_prompt() {
        session.printer.note(&format!("amount: {amount}"));
        return Ok(());
    }
    session.confirm(&format!("Create a top-up of {amount}?"), "nothing was created").await
}

/// Opens a checkout page, and warns if that fails. Returns whether it was opened.
async fn open_page(session: &Session, url: &str) -> bool {
    // Another scheme might run a program.
    let opened = match url.starts_with("https://") || url.starts_with("http://") {
        true => open_with_default(url).await,
        false => Err("it is not a web page".to_owned()),
    };
    if let Err(reason) = &opened {
        let (url, reason) = (sanitize(url), sanitize(reason));
        session.printer.warn(&format!("cannot open {url}: {reason}"));
    }
    opened.is_ok()
}

fn parse_amount(text: &str) -> Result<Usd, String> {
    let amount: Option<Usd> = text.strip_prefix('$').unwrap_or(text).parse().ok();
    let is_valid = |amount: &Usd| {
        let cents = amount.as_micros() / MICROS_PER_CENT;
        amount.as_micros() % MICROS_PER_CENT == 0 && (500..=1_000_000).contains(&cents)
    };
    amount.filter(is_valid).ok_or_else(|| {
        format!(
            "invalid amount `{text}`: expected 5 to 10000 dollars with at most two decimals, such \
             as 20 or 20.50"
        )
    })
}

async fn wait_until_paid(session: &Session, id: TopUpId, timeout: Option<Timeout>) -> Result {
    let client = session.access::<Open>()?.client;
    let wait = client.top_ups().handle(&id).wait();
    let wait = match timeout {
        None => wait,
        Some(Timeout(Some(timeout))) => wait.timeout(timeout),
        Some(Timeout(None)) => wait.no_timeout(),
    };
    let wait_command =
        || session.resume_command(SurfaceChoice::Open, &["top-up", "wait", id.as_str()]);
    let resume = |failure: Failure| {
        let failure = failure.for_resource(ResourceId::TopUp(id.as_str().to_owned()));
        match failure.exit() {
            Exit::JobFailed | Exit::JobCanceled | Exit::NotFound => failure,
            Exit::StillRunning => {
                failure.hint("the payment may still arrive").with_resume(wait_command())
            }
            _ => failure.with_resume(wait_command()),
        }
    };
    session.printer.note(&format!("Waiting for the payment of {id}…"));
    let paid = tokio::select! {
        biased;
        paid = wait => paid.map_err(Failure::from),
        _ = session.interrupts.first() => {
            let why = format!("interrupted; the top-up {id} remains open");
            Err(Failure::new(Exit::Interrupted, why))
        }
    };
    session.printer.print_object(ObjectKind::TopUp, &paid.map_err(resume)?, top_up_table)
}

fn top_up_table(top_up: &Record) -> Table {
    let mut table = Table::of(top_up, "id, status");
    let cents = top_up.amount_usd_cents;
    let amount = cents.and_then(|cents| Usd::from_cents(i64::try_from(cents).ok()?));
    table.field("amount", amount.map(money));
    table.field("checkout", top_up.checkout_url.as_ref());
    table
}
