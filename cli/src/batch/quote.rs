//! The price of a whole batch, before anything is submitted.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::Usd;
use svc_sdk::{Client, Open};

use super::manifest::Manifest;
use super::options::BatchOptions;
use super::plan::{NextStep, Plan};
use crate::args::SurfaceChoice;
use crate::error::{ClientCode, Exit, Failure, Result, Suggestion};
use crate::journal::canonical;
use crate::output::Table;
use crate::output::values::money;
use crate::request::pricing::{
    EstimateSource, SpendCap, before_submit, estimate_request, has_no_price,
};
use crate::session::Session;
use crate::text::counted;

const MAX_ESTIMATES: usize = 200;
const NOT_ESTIMATED: &str = "only 200 different prices are estimated";
const MAX_REASONS: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Quote {
    groups: Vec<PriceGroup>,
    /// The groups of the items, in their order.
    items: Vec<usize>,
    by_operation: BTreeMap<&'static str, usize>,
}

#[derive(Debug)]
struct PriceGroup {
    count: usize,
    first: String,
    price: GroupPrice,
}

#[derive(Debug)]
enum GroupPrice {
    Known(Usd),
    /// The service estimates it, for this body.
    Estimate(Map<String, Value>),
    /// There is none, for this reason.
    Unknown(String),
    /// It was not asked for, as too many prices differ.
    NotEstimated,
    /// The service rejects the items, which cost nothing.
    Rejected(String),
}

impl Quote {
    pub(super) async fn new(session: &Session, manifest: &Manifest, plan: &Plan) -> Result<Self> {
        let mut quote = Self::default();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut estimates = 0;
        let mut items = plan.items.iter();
        manifest.for_each(|position, line| {
            let Some(item) = items.next() else { return Ok(()) };
            if item.next_step != NextStep::Submit {
                return Ok(());
            }
            *quote.by_operation.entry(line.operation.name()).or_default() += 1;
            let mut price = GroupPrice::of(line.operation, line.body);
            let mut key = price.key();
            if matches!(price, GroupPrice::Estimate(_)) && !places.contains_key(&key) {
                match estimates < MAX_ESTIMATES {
                    true => estimates += 1,
                    false => (price, key) = (GroupPrice::NotEstimated, NOT_ESTIMATED.to_owned()),
                }
            }
            let place = *places.entry(key).or_insert_with(|| {
                let first = manifest.item_name(position, &line.id);
                quote.groups.push(PriceGroup { count: 0, first, price });
                quote.groups.len() - 1
            });
            if let Some(group) = quote.groups.get_mut(place) {
                group.count += 1;
            }
            quote.items.push(place);
            Ok(())
        })?;
        if estimates > 0 {
            let client = session.access::<Open>()?.client;
            for group in &mut quote.groups {
                before_submit(session, group.estimate(&client)).await?;
            }
        }
        Ok(quote)
    }

    fn all_rejected(&self) -> Option<Failure> {
        let reason = |group: &PriceGroup| match &group.price {
            GroupPrice::Rejected(why) => Some(format!("{why}, first: {}", group.first)),
            _ => None,
        };
        let mut reasons = self.groups.iter().map(reason).collect::<Option<Vec<_>>>()?.into_iter();
        let (first, count) = (reasons.next()?, self.items.len());
        let verb = if count == 1 { "is" } else { "are" };
        let failure = Failure::usage(format!("{} {verb} invalid: {first}", counted(count, "item")));
        Some(reasons.take(MAX_REASONS).fold(failure, Failure::issue))
    }

    pub(super) fn warn_about_missing_prices(&self, session: &Session) {
        let mut missing = 0;
        let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
        for group in &self.groups {
            let why = match &group.price {
                GroupPrice::Unknown(why) | GroupPrice::Rejected(why) => why.as_str(),
                GroupPrice::NotEstimated => NOT_ESTIMATED,
                GroupPrice::Known(_) | GroupPrice::Estimate(_) => continue,
            };
            missing += group.count;
            match reasons.iter_mut().find(|(_, it, _)| *it == why) {
                Some((_, _, count)) => *count += group.count,
                None => reasons.push((&group.first, why, group.count)),
            }
        }
        if missing == 0 {
            return;
        }
        reasons.truncate(MAX_REASONS);
        let shown: usize = reasons.iter().map(|(_, _, count)| count).sum();
        let line = |(first, why, count): &(&str, &str, usize)| match count {
            1 => format!("{first}: {why}"),
            count => format!("{first} and {}: {why}", counted(count - 1, "more item")),
        };
        let mut lines: Vec<String> = reasons.iter().map(line).collect();
        if shown < missing {
            lines.push(format!("and {}", counted(missing - shown, "more item")));
        }
        let verb = if missing == 1 { "has" } else { "have" };
        let start = format!("{missing} of {} {verb} no price", counted(self.items.len(), "item"));
        session.printer.warn(&match lines.as_slice() {
            [line] => format!("{start}: {line}"),
            lines => format!("{start}:\n  {}", lines.join("\n  ")),
        });
    }

    /// Returns the price of all items with a known price.
    fn total(&self) -> Usd {
        self.items.iter().filter_map(|place| self.price(*place)).sum()
    }

    fn price(&self, place: usize) -> Option<Usd> {
        match self.groups.get(place)?.price {
            GroupPrice::Known(price) => Some(price),
            GroupPrice::Rejected(_) => Some(Usd::ZERO),
            _ => None,
        }
    }

    fn count(&self, is_counted: impl Fn(&GroupPrice) -> bool) -> usize {
        let groups = self.groups.iter().filter(|group| is_counted(&group.price));
        groups.map(|group| group.count).sum()
    }

    fn describe(&self) -> String {
        let missing = self.count(|price| !matches!(price, GroupPrice::Known(_)));
        match missing {
            0 => money(self.total()),
            _ if missing == self.items.len() => "an unknown price".to_owned(),
            _ => format!("{} and {missing} without a price", money(self.total())),
        }
    }

    /// Returns how many items fit into what is left of a limit, in their order, and what they cost.
    fn fitting(&self, left: Usd) -> (usize, Usd) {
        let prices = self.items.iter().filter_map(|place| self.price(*place));
        prices.fold((0, Usd::ZERO), |(count, sum), price| match sum.checked_add(price) {
            Some(sum) if sum <= left => (count + 1, sum),
            _ => (count, sum),
        })
    }

    /// Returns the question before anything is submitted, unless nothing fits into the limit.
    pub(super) fn question(&self, plan: &Plan, limit: Option<Usd>) -> Option<String> {
        let (total, price) = (self.items.len(), self.describe());
        let items = counted(total, "item");
        let Some(limit) = limit else { return Some(format!("Submit {items} for {price}?")) };
        let left = limit.checked_sub(plan.committed).unwrap_or_default();
        let spent = match plan.committed {
            Usd::ZERO => String::new(),
            committed => format!(", of which {} are already spent or reserved", money(committed)),
        };
        let limit = money(limit);
        let not_estimated = self.count(|price| matches!(price, GroupPrice::NotEstimated));
        match self.fitting(left) {
            (count, _) if count == total => {
                Some(format!("Submit {items} for {price}, within a limit of {limit}{spent}?"))
            }
            (0, _) if not_estimated == 0 => None,
            (count, sum) => Some(format!(
                "Submit the {count} of {items} that fit within the limit of {limit}{spent}, for {} \
                 (all {total}: {price})?",
                money(sum)
            )),
        }
    }

    /// Prints what would be submitted (`--dry-run`).
    pub(super) fn print(&self, session: &Session, plan: &Plan, options: &BatchOptions) -> Result {
        let (total, limit) = (self.total(), options.max_spend);
        let unpriced = self.count(|price| matches!(price, GroupPrice::Unknown(_)));
        let not_estimated = self.count(|price| matches!(price, GroupPrice::NotEstimated));
        let shown = json!({
            "dry_run": true,
            "total": plan.items.len(),
            "to_submit": self.items.len(),
            "in_flight": plan.count(|item| matches!(item.next_step, NextStep::Wait | NextStep::Resolve)),
            "finished": plan.count(|item| item.next_step == NextStep::Done),
            "by_operation": self.by_operation,
            "estimate_usd": total,
            "unpriced": unpriced + not_estimated,
            "rejected": self.count(|price| matches!(price, GroupPrice::Rejected(_))),
            "committed_usd": plan.committed,
            "max_spend_usd": limit,
        });
        session.printer.print_item(&shown, |_| {
            let mut table = Table::key_value();
            table.field("items", Some(plan.items.len()));
            table.field("to submit", Some(self.items.len()));
            for (operation, count) in &self.by_operation {
                table.field(&format!("  {operation}"), Some(count));
            }
            table.field("price", Some(self.describe()));
            table.field("spent and reserved", Some(money(plan.committed)));
            table.field("--max-spend", limit.map(money));
            table.field("sent", Some("no (dry run)"));
            table
        })?;
        if let Some(failure) = self.all_rejected() {
            return Err(failure);
        }
        self.warn_about_missing_prices(session);
        let Some(limit) = limit else { return Ok(()) };
        let needed = plan.committed.checked_add(total);
        let why = match unpriced {
            0 if needed.is_some_and(|needed| needed <= limit) => return Ok(()),
            0 => format!(
                "the batch costs {}, above what --max-spend {limit} leaves",
                self.describe()
            ),
            count => format!(
                "the price of {} is unknown, and --max-spend requires known prices",
                counted(count, "item")
            ),
        };
        let failure = Failure::new(Exit::Funds, why).with_client_code(ClientCode::OVER_BUDGET);
        Err(match needed.filter(|_| unpriced + not_estimated == 0) {
            Some(needed) => {
                let flags: &[&str] = if options.retry_failed { &["--retry-failed"] } else { &[] };
                let enough = BatchOptions { max_spend: Some(needed), ..options.clone() };
                let enough = enough.command(session, flags);
                failure.hint(
                    Suggestion::from("submit it within a limit that is enough: ").command(enough),
                )
            }
            None => failure,
        })
    }
}

impl GroupPrice {
    fn of(operation: Operation, body: Map<String, Value>) -> Self {
        let cap = match operation {
            Operation::AgentCompletionsCreate => SpendCap::from_body(&body),
            _ => None,
        };
        match SurfaceChoice::of(operation.surface()) {
            SurfaceChoice::Open => Self::Estimate(body),
            SurfaceChoice::Developer => cap.map_or_else(
                || Self::Unknown(format!("the service does not estimate {}", operation.name())),
                |cap| Self::Known(cap.max_usd),
            ),
        }
    }

    /// What the price depends on. The text of a prompt does not change it.
    fn key(&self) -> String {
        let Self::Estimate(body) = self else { return format!("{self:?}") };
        let mut request = estimate_request(body);
        if let Some(prompt) = request.input.get_mut("prompt")
            && prompt.as_str().is_some_and(|prompt| !prompt.is_empty())
        {
            *prompt = Value::Bool(true);
        }
        request.input.insert("model".to_owned(), Value::String(request.model));
        canonical(&Value::Object(request.input))
    }
}

impl PriceGroup {
    async fn estimate(&mut self, client: &Client<Open>) -> Result {
        let GroupPrice::Estimate(body) = &self.price else { return Ok(()) };
        let Some(call) = Open::estimate(client, estimate_request(body)) else { return Ok(()) };
        let error = match call.await {
            Ok(estimate) => {
                self.price = GroupPrice::Known(estimate.price_usd);
                return Ok(());
            }
            Err(error) => error,
        };
        let has_none = has_no_price(&error);
        let failure = Failure::from(error);
        let reason = failure.headline();
        self.price = match failure.exit() {
            _ if has_none => GroupPrice::Unknown(reason),
            Exit::Failure => GroupPrice::Rejected(reason),
            _ => return Err(failure.context("cannot get the price; nothing was submitted")),
        };
        Ok(())
    }
}
