//! The price of a whole batch, before anything is submitted.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;
use svc_sdk::{Client, Open};

use super::manifest::{LinePosition, Manifest};
use super::options::BatchOptions;
use super::plan::{NextStep, Plan, surface_of};
use crate::args::SurfaceChoice;
use crate::error::{Exit, Failure};
use crate::journal::RequestHash;
use crate::output::Table;
use crate::output::values::money;
use crate::pricing::{EstimateSource, SpendCap, estimate_request, has_no_price};
use crate::session::Session;
use crate::text::{counted, sanitize};

/// The maximum number of estimates that are fetched for a quote.
const MAX_ESTIMATES: usize = 200;
/// The maximum number of reasons for missing prices that are shown.
const MAX_REASONS: usize = 3;

/// The price of the items that are to be submitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Quote {
    pub(super) items: usize,
    /// The price of all items with a known price.
    pub(super) total: Usd,
    /// The number of items whose price is unknown.
    pub(super) unpriced: usize,
    /// The number of items whose price was not asked for, as too many prices differ.
    not_estimated: usize,
    /// The number of items that the service rejects. They cost nothing.
    rejected: usize,
    by_operation: Map<String, Value>,
    /// Some reasons for missing prices.
    reasons: Vec<PriceProblem>,
}

/// Why items have no price.
#[derive(Clone, Debug, PartialEq)]
struct PriceProblem {
    text: String,
    /// How a message names the first item.
    first: String,
    /// The number of items.
    count: usize,
}

/// Items with the same price.
#[derive(Debug)]
struct Group {
    count: usize,
    /// The first item.
    position: LinePosition,
    id: String,
    body: Map<String, Value>,
}

impl Quote {
    /// Fetches the estimates of the items that are to be submitted.
    pub(super) async fn new(
        session: &Session,
        manifest: &Manifest,
        plan: &Plan,
    ) -> Result<Self, Failure> {
        let mut quote = Self::default();
        let mut groups: Vec<Group> = Vec::new();
        let mut by_shape: HashMap<Shape, usize> = HashMap::new();
        let mut items = plan.items.iter();
        manifest.for_each(|position, line| {
            let Some(item) = items.next() else { return Ok(()) };
            if item.next_step != NextStep::Submit {
                return Ok(());
            }
            quote.items += 1;
            let name = line.operation.name();
            let count = quote.by_operation.get(name).and_then(Value::as_u64);
            let count = count.unwrap_or_default() + 1;
            quote.by_operation.insert(name.to_owned(), count.into());
            match price_source(line.operation, &line.body) {
                PriceSource::Known(price) => quote.add(price, 1),
                PriceSource::Unknown => {
                    quote.unpriced += 1;
                    quote.add_reason(format!("the service does not estimate {name}"), 1, || {
                        item_name(manifest, position, &line.id)
                    });
                }
                PriceSource::Estimate(shape) => {
                    let known = by_shape.get(&shape).and_then(|index| groups.get_mut(*index));
                    if let Some(group) = known {
                        group.count += 1;
                    } else if groups.len() < MAX_ESTIMATES {
                        by_shape.insert(shape, groups.len());
                        groups.push(Group { count: 1, position, id: line.id, body: line.body });
                    } else {
                        quote.not_estimated += 1;
                        let why = format!("only {MAX_ESTIMATES} different prices are estimated");
                        quote.add_reason(why, 1, || item_name(manifest, position, &line.id));
                    }
                }
            }
            Ok(())
        })?;
        if !groups.is_empty() {
            let access = session.access::<Open>()?;
            for group in groups {
                quote.estimate(&access.client, manifest, group).await?;
            }
        }
        Ok(quote)
    }

    /// Fetches the estimate of a group of items.
    async fn estimate(
        &mut self,
        client: &Client<Open>,
        manifest: &Manifest,
        group: Group,
    ) -> Result<(), Failure> {
        let Some(call) = Open::estimate(client, estimate_request(&group.body)) else {
            self.unpriced += group.count;
            return Ok(());
        };
        let error = match call.await {
            Ok(estimate) => {
                self.add(estimate.price_usd, group.count);
                return Ok(());
            }
            Err(error) => error,
        };
        let has_none = has_no_price(&error);
        let failure = Failure::from(error);
        match failure.exit() {
            _ if has_none => self.unpriced += group.count,
            Exit::Failure => self.rejected += group.count,
            _ => return Err(failure.context("cannot get the price; nothing was submitted")),
        }
        // The estimate has the fields of the body in the field `input`.
        let reason = failure.headline().replace("`input.", "`");
        self.add_reason(reason, group.count, || item_name(manifest, group.position, &group.id));
        Ok(())
    }

    fn add_reason(&mut self, text: String, count: usize, first: impl FnOnce() -> String) {
        if let Some(reason) = self.reasons.iter_mut().find(|it| it.text == text) {
            reason.count += count;
        } else if self.reasons.len() < MAX_REASONS {
            let first = first();
            self.reasons.push(PriceProblem { text, first, count });
        }
    }

    /// Says which items have no price, and why.
    pub(super) fn warn_about_missing_prices(&self, session: &Session) {
        let missing = self.missing();
        if missing == 0 {
            return;
        }
        let verb = if missing == 1 { "has" } else { "have" };
        let items = counted(self.items, "item");
        let start = format!("{missing} of {items} {verb} no price");
        let shown: usize = self.reasons.iter().map(|reason| reason.count).sum();
        let line = |reason: &PriceProblem| match reason.count {
            1 => format!("{}: {}", reason.first, reason.text),
            count => {
                let others = counted(count - 1, "more item");
                format!("{} and {others}: {}", reason.first, reason.text)
            }
        };
        let mut reasons: Vec<String> = self.reasons.iter().map(line).collect();
        if shown < missing {
            reasons.push(format!("and {}", counted(missing - shown, "more item")));
        }
        session.printer.warn(&match reasons.as_slice() {
            [reason] => format!("{start}: {reason}"),
            reasons => format!("{start}:\n  {}", reasons.join("\n  ")),
        });
    }

    /// Returns the number of items whose price is not part of the total.
    fn missing(&self) -> usize {
        self.unpriced + self.not_estimated + self.rejected
    }

    fn add(&mut self, price: Usd, count: usize) {
        let sum = i64::try_from(count)
            .ok()
            .and_then(|count| self.total.checked_add(price.checked_mul(count)?));
        match sum {
            Some(sum) => self.total = sum,
            None => self.unpriced += count,
        }
    }

    /// Describes the price in words.
    pub(super) fn describe(&self) -> String {
        let missing = self.missing();
        match missing {
            0 => money(self.total),
            _ if missing == self.items => "an unknown price".to_owned(),
            _ => format!("{} and {missing} without a price", money(self.total)),
        }
    }

    /// Prints what would be submitted (`--dry-run`).
    pub(super) fn print(
        &self,
        session: &Session,
        plan: &Plan,
        options: &BatchOptions,
    ) -> Result<(), Failure> {
        let shown = json!({
            "dry_run": true,
            "total": plan.items.len(),
            "to_submit": self.items,
            "in_flight": plan.count(|item| matches!(item.next_step, NextStep::Wait | NextStep::Resolve)),
            "finished": plan.count(|item| item.next_step == NextStep::Done),
            "by_operation": self.by_operation,
            "estimate_usd": self.total,
            "unpriced": self.unpriced + self.not_estimated,
            "rejected": self.rejected,
            "committed_usd": plan.committed,
            "max_spend_usd": options.max_spend,
        });
        session.printer.print_item(&shown, |_| {
            let mut table = Table::key_value();
            table.field("items", Some(plan.items.len()));
            table.field("to submit", Some(self.items));
            for (operation, count) in &self.by_operation {
                table.field(&format!("  {operation}"), Some(count));
            }
            table.field("price", Some(self.describe()));
            table.field("spent and reserved", Some(money(plan.committed)));
            let limit = options.max_spend.map(money);
            table.field("--max-spend", limit);
            table.field("sent", Some("no (dry run)"));
            table
        })?;
        self.warn_about_missing_prices(session);
        let Some(limit) = options.max_spend else { return Ok(()) };
        let needed = plan.committed.checked_add(self.total);
        if self.unpriced == 0 && needed.is_some_and(|needed| needed <= limit) {
            return Ok(());
        }
        let why = match self.unpriced {
            0 => format!(
                "the batch costs {}, above what --max-spend {limit} leaves",
                self.describe()
            ),
            count => format!(
                "the price of {} is unknown, and --max-spend requires known prices",
                counted(count, "item")
            ),
        };
        let code = Some("over_budget".to_owned());
        Err(Failure::new(Exit::Funds, why).with_response(code, None, None, None))
    }
}

/// The shape of a request: what its price depends on.
type Shape = u128;

/// How the price of a request is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PriceSource {
    /// It is known.
    Known(Usd),
    /// The service estimates it.
    Estimate(Shape),
    /// There is none.
    Unknown,
}

/// Returns how the price of a request is found.
fn price_source(operation: Operation, body: &Map<String, Value>) -> PriceSource {
    match surface_of(operation) {
        SurfaceChoice::Open => PriceSource::Estimate(shape(body)),
        SurfaceChoice::Developer if operation == Operation::AgentCompletionsCreate => {
            let cap = SpendCap::from_body(body);
            cap.map_or(PriceSource::Unknown, |cap| PriceSource::Known(cap.max_usd))
        }
        SurfaceChoice::Developer => PriceSource::Unknown,
    }
}

/// Returns the shape of a body. The text of a prompt does not change the price.
fn shape(body: &Map<String, Value>) -> Shape {
    let mut request = estimate_request(body);
    if let Some(prompt) = request.input.get_mut("prompt")
        && prompt.as_str().is_some_and(|prompt| !prompt.is_empty())
    {
        *prompt = Value::Bool(true);
    }
    let mut input = request.input;
    input.insert("model".to_owned(), Value::String(request.model));
    let input = Value::Object(input);
    let hash = RequestHash::new("", "", Operation::OpenEstimate, &[], &input, None).to_string();
    hash.get(..32).and_then(|prefix| u128::from_str_radix(prefix, 16).ok()).unwrap_or_default()
}

/// Returns how a warning names an item: its line, and its id if it has one.
fn item_name(manifest: &Manifest, position: LinePosition, id: &str) -> String {
    let number = manifest.number_at(position);
    let place = manifest.place(number);
    if id == number.to_string() { place } else { format!("{place}, item {}", sanitize(id)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn source(operation: Operation, body: Value) -> PriceSource {
        price_source(operation, body.as_object().unwrap())
    }

    #[test]
    fn the_text_of_a_prompt_does_not_change_the_price() {
        let video = |body| source(Operation::VideoGenerate, body);
        let first = video(json!({"model": "video-f", "prompt": "a", "duration": 5}));
        let same = [
            json!({"duration": 5, "prompt": "b", "model": "video-f"}),
            json!({"model": "video-f", "prompt": "a", "duration": 5, "metadata": {"a": "b"}}),
        ];
        let others = [
            json!({"model": "video-f", "prompt": "a", "duration": 6}),
            json!({"model": "video-l", "prompt": "a", "duration": 5}),
            json!({"model": "video-f", "duration": 5}),
            json!({"model": "video-f", "prompt": "a", "duration": 5, "image_url": "https://a/1"}),
        ];
        for body in same {
            assert_eq!(video(body), first);
        }
        for body in others {
            assert_ne!(video(body), first);
        }
    }

    #[test]
    fn the_price_of_a_run_is_its_cap() {
        let run = json!({"instruction": "x", "generation_spend_cap_usd": 1.5});
        assert_eq!(
            source(Operation::AgentCompletionsCreate, run),
            PriceSource::Known("1.5".parse().unwrap())
        );
        let music = source(Operation::Music1Generate, json!({"prompt": "x"}));
        assert_eq!(music, PriceSource::Unknown);
    }
}
