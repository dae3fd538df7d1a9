//! Limits before a submit: `--max-price`, the confirmation prompt, and the type of the model.

use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;

use crate::args::SpendingArgs;
use crate::error::{Exit, Failure, Suggestion};
use crate::output::values::money;
use crate::request::SubmitRequest;
use crate::request::pricing::Price;
use crate::session::Session;

/// The consequence of a submit that was not confirmed, for messages.
pub(crate) const NOTHING_CHARGED: &str = "nothing was submitted and nothing was charged";

/// Checks a price against `--max-price`.
pub(crate) fn check_max_price(price: &Price, limit: Option<Usd>) -> Result<(), Failure> {
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
        (_, None) => (
            "the price is unknown, and --max-price requires a known price".to_owned(),
            "omit --max-price to submit at any price".into(),
        ),
    };
    let failure = Failure::new(Exit::Funds, format!("{why}; nothing was charged"));
    Err(failure.context("not submitted").hint(next))
}

/// Prints the price, and asks for confirmation if the user can be prompted.
pub(crate) async fn confirm(
    session: &Session,
    what: &str,
    price: &Price,
    spending: &SpendingArgs,
) -> Result<(), Failure> {
    let price = price.describe();
    if spending.yes || session.is_sandbox() || !session.printer.can_prompt() {
        session.printer.note(&format!("price: {price}"));
        return Ok(());
    }
    let question = format!("{what} for {price}?");
    session.confirm(&question, NOTHING_CHARGED).await
}

/// Checks that the price of an image is not that of seconds, and the price of a video not that of images.
pub(crate) fn check_model_kind(price: &Price, request: &SubmitRequest) -> Result<(), Failure> {
    let unit = price.estimate().and_then(|estimate| estimate.unit.as_deref());
    let kind = match (request.operation, unit) {
        (Operation::ImageGenerate, Some("second")) => "video",
        (Operation::VideoGenerate, Some("image")) => "image",
        _ => return Ok(()),
    };
    let model = request.body.get("model").and_then(Value::as_str);
    let model = model.unwrap_or_default();
    let article = match kind {
        "image" => "an",
        _ => "a",
    };
    Err(Failure::usage(format!("`{model}` is {article} {kind} model; nothing was sent"))
        .hint(Suggestion::from("use it with: ").svc([kind, "generate"]))
        .hint(Suggestion::from(format!("or list the {} models with: ", request.noun)).svc([
            "model",
            "list",
            "--type",
            request.noun,
        ])))
}
