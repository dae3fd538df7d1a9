//! Prices before a submit: estimates, spend caps, limits and the confirmation prompt.

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;
use svc_sdk::types::{Estimate, EstimateRequest, Usd};
use svc_sdk::{Call, Client, ClientSurface, Developer, Error, ErrorKind, Open};

use crate::args::SpendingArgs;
use crate::error::{Exit, Failure, Result, Suggestion};
use crate::output::values::money;
use crate::request::SubmitRequest;
use crate::session::Session;
use crate::text::sanitize;

#[derive(Clone, Debug)]
pub(crate) enum Price {
    /// An estimate, which equals the charge.
    Estimate(Estimate),
    SpendCap(SpendCap),
    /// The cap that the Format's owner has set, which may change, and the sum of the caps of the runs.
    OwnerCap(Usd, SpendCap),
    /// The cap of an Action, which the service does not show.
    ActionCap,
    Uncapped,
    Unknown,
}

impl Price {
    /// Returns the maximum cost, if it is guaranteed.
    pub(crate) fn upper_bound(&self) -> Option<Usd> {
        match self {
            Self::Estimate(estimate) => Some(estimate.price_usd),
            Self::SpendCap(cap) => Some(cap.max_usd),
            Self::OwnerCap(..) | Self::ActionCap | Self::Uncapped | Self::Unknown => None,
        }
    }

    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Estimate(estimate) => Some(estimate),
            _ => None,
        }
    }

    pub(crate) fn cap_total(&self) -> Option<Usd> {
        match self {
            Self::SpendCap(cap) | Self::OwnerCap(_, cap) => Some(cap.max_usd),
            _ => None,
        }
    }

    /// Describes the price: `$0.7035 (…)`, `up to $2.00 (spend cap)`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Estimate(estimate) => describe_estimate(estimate),
            Self::SpendCap(SpendCap { max_usd, runs: 1 }) => {
                format!("up to {} (spend cap)", money(*max_usd))
            }
            Self::SpendCap(SpendCap { max_usd, runs }) => {
                format!("up to {} (spend caps of {runs} runs)", money(*max_usd))
            }
            Self::OwnerCap(cap, SpendCap { runs: 1, .. }) => {
                format!("up to {} (the Format's default cap)", money(*cap))
            }
            Self::OwnerCap(cap, SpendCap { max_usd, runs }) => {
                let (total, cap) = (money(*max_usd), money(*cap));
                format!("up to {total} for {runs} runs (the Format's default cap of {cap} each)")
            }
            Self::ActionCap => "up to the Action's spend cap".to_owned(),
            Self::Uncapped => "an unknown price".to_owned(),
            Self::Unknown => format!("an unknown price ({ESTIMATED})"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpendCap {
    pub(crate) max_usd: Usd,
    pub(crate) runs: usize,
}

impl SpendCap {
    pub(crate) fn from_body(body: &Map<String, Value>) -> Option<Self> {
        let cap = body.get("generation_spend_cap_usd")?;
        let max_usd = serde_json::from_value(cap.clone()).ok()?;
        Some(Self { max_usd, runs: 1 })
    }

    /// Returns the sum of the items' caps, unless one has neither a cap nor the default.
    pub(crate) fn from_items(items: &[Value], default_cap: Option<Usd>) -> Option<Self> {
        let mut max_usd = Usd::ZERO;
        for item in items {
            let cap = Self::from_body(item.as_object()?).map(|cap| cap.max_usd);
            max_usd = max_usd.checked_add(cap.or(default_cap)?)?;
        }
        let runs = items.len();
        (runs > 0).then_some(Self { max_usd, runs })
    }
}

/// Why a price is not known.
const ESTIMATED: &str = "the service estimates images and videos of the open surface only";

const NON_PRICING_FIELDS: [&str; 4] = ["mode", "webhook_url", "wait_timeout_seconds", "metadata"];

pub(crate) fn estimate_request(body: &Map<String, Value>) -> EstimateRequest {
    let mut input = body.clone();
    let model = match input.remove("model") {
        Some(Value::String(model)) => model,
        _ => String::new(),
    };
    for field in NON_PRICING_FIELDS {
        input.remove(field);
    }
    EstimateRequest::new(model, input)
}

/// A surface that may offer estimates.
pub(crate) trait EstimateSource: ClientSurface {
    /// Returns the call that gets an estimate, or `None` if the surface has no estimates.
    fn estimate(client: &Client<Self>, request: EstimateRequest) -> Option<Call<Estimate>>;
}

impl EstimateSource for Open {
    fn estimate(client: &Client<Self>, request: EstimateRequest) -> Option<Call<Estimate>> {
        Some(client.estimates().create(request))
    }
}

impl EstimateSource for Developer {
    fn estimate(_: &Client<Self>, _: EstimateRequest) -> Option<Call<Estimate>> {
        None
    }
}

/// Fetches the estimate of a body. Returns `None` if the service has no price for it.
pub(crate) async fn fetch_estimate<S: EstimateSource>(
    client: &Client<S>,
    body: &Map<String, Value>,
) -> Result<Option<Estimate>> {
    let Some(call) = S::estimate(client, estimate_request(body)) else { return Ok(None) };
    match call.await {
        Ok(estimate) => Ok(Some(estimate)),
        Err(error) if has_no_price(&error) => Ok(None),
        Err(error) => {
            Err(Failure::from(error).context("cannot get the price; nothing was submitted"))
        }
    }
}

pub(crate) fn has_no_price(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidResponse || error.is_not_found()
}

/// Describes an estimate: `$0.7035 (5 × $0.1407 per second, model video-f)`.
pub(crate) fn describe_estimate(estimate: &Estimate) -> String {
    let mut parts = Vec::new();
    if let (Some(units), Some(unit_price)) = (estimate.units, estimate.unit_price_usd) {
        let unit = estimate.unit.as_deref().unwrap_or("unit");
        parts.push(format!("{units} × {} per {}", money(unit_price), sanitize(unit)));
    }
    if let Some(model) = &estimate.model {
        parts.push(format!("model {}", sanitize(model)));
    }
    let details = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{}{details}", money(estimate.price_usd))
}

pub(crate) const NOTHING_CHARGED: &str = "nothing was submitted and nothing was charged";

/// Does what comes before a submit, unless a signal interrupts it.
pub(crate) async fn before_submit<T>(
    session: &Session,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        done = work => done,
        _ = session.interrupts.first() => Err(session.interrupted(NOTHING_CHARGED)),
    }
}

pub(crate) fn check_max_price(price: &Price, limit: Option<Usd>) -> Result {
    let Some(limit) = limit else { return Ok(()) };
    let (why, next) = match (price, price.upper_bound()) {
        (_, Some(max_usd)) if max_usd <= limit => return Ok(()),
        (Price::SpendCap(_), Some(max_usd)) => (
            format!("it may cost up to {}, above --max-price {limit}", money(max_usd)),
            "pass a lower --cap, or a higher --max-price".into(),
        ),
        (_, Some(max_usd)) => (
            format!("the price is {}, above --max-price {limit}", money(max_usd)),
            Suggestion::from("pass a higher --max-price, or request less: a cheaper model (")
                .svc(["pricing", "list"])
                .then("), fewer seconds or fewer images"),
        ),
        (Price::OwnerCap(..), None) => (
            format!(
                "the only cap is set by the Format's owner ({}) and may change, and --max-price \
                 requires a fixed one",
                price.describe()
            ),
            "pass --cap USD, the maximum cost of a run's generations".into(),
        ),
        (Price::Uncapped, None) => (
            "it has no cap, and --max-price requires one".to_owned(),
            "pass --cap USD, the maximum cost of a run's generations".into(),
        ),
        (Price::ActionCap, None) => (
            "the only cap is the Action's own, which the service does not show, and --max-price \
             requires a known price"
                .to_owned(),
            "omit --max-price to run it for up to that cap".into(),
        ),
        (_, None) => (
            "the price is unknown, and --max-price requires a known price".to_owned(),
            Suggestion::from(format!("omit --max-price to submit at any price: {ESTIMATED} ("))
                .svc(["catalog"])
                .then(" shows what it publishes of others)"),
        ),
    };
    let failure = Failure::new(Exit::Funds, format!("{why}; nothing was charged"));
    Err(failure.context("not submitted").hint(next))
}

pub(crate) async fn confirm(
    session: &Session,
    what: &str,
    price: &Price,
    spending: &SpendingArgs,
) -> Result {
    let price = price.describe();
    if spending.yes || session.is_sandbox() || !session.printer.can_prompt() {
        session.printer.note(&format!("price: {price}"));
        return Ok(());
    }
    let question = format!("{what} for {price}?");
    session.confirm(&question, NOTHING_CHARGED).await
}

/// Checks that the price of an image is not that of seconds, and the price of a video not that of images.
pub(crate) fn check_model_kind(price: &Price, request: &SubmitRequest) -> Result {
    let unit = price.estimate().and_then(|estimate| estimate.unit.as_deref());
    let kind = match (request.operation, unit) {
        (Operation::ImageGenerate, Some("second")) => "video",
        (Operation::VideoGenerate, Some("image")) => "image",
        _ => return Ok(()),
    };
    let model = request.body.get("model").and_then(Value::as_str).unwrap_or_default();
    let article = if kind == "image" { "an" } else { "a" };
    Err(Failure::usage(format!("`{model}` is {article} {kind} model; nothing was sent"))
        .hint(Suggestion::from("use it with: ").svc([kind, "generate"]))
        .hint(Suggestion::from(format!("or list the {} models with: ", request.noun)).svc([
            "model",
            "list",
            "--type",
            request.noun,
        ])))
}
