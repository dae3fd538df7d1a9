//! The price of a whole batch, before anything is submitted.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use svc_sdk::Open;
use svc_sdk::types::Usd;

use super::manifest::Manifest;
use super::options::BatchOptions;
use super::plan::{NextStep, Plan};
use super::prices::{PriceSource, Shape, price_source};
use crate::error::{Exit, Failure};
use crate::output::Table;
use crate::pricing::fetch_estimate;
use crate::session::Session;

/// The maximum number of estimates that are fetched for a quote.
const MAX_ESTIMATES: usize = 200;

/// The price of the items that are to be submitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Quote {
    pub(super) items: usize,
    /// The price of all items with a known price.
    pub(super) total: Usd,
    /// The number of items whose price is unknown.
    pub(super) unpriced: usize,
    /// The number of items that the service rejects. They cost nothing.
    rejected: usize,
    by_operation: Map<String, Value>,
}

impl Quote {
    /// Fetches the estimates of the items that are to be submitted.
    ///
    /// # Errors
    ///
    /// Returns an error if an estimate cannot be fetched.
    pub(super) async fn new(
        session: &Session,
        manifest: &mut Manifest,
        plan: &Plan,
    ) -> Result<Self, Failure> {
        let mut quote = Self::default();
        let mut shapes: HashMap<Shape, (usize, Map<String, Value>)> = HashMap::new();
        let mut items = plan.items.iter();
        manifest.for_each(|_, line| {
            let Some(item) = items.next() else {
                return Ok(());
            };
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
                PriceSource::Unknown => quote.unpriced += 1,
                PriceSource::Estimate(shape) => {
                    if let Some((count, _)) = shapes.get_mut(&shape) {
                        *count += 1;
                    } else if shapes.len() < MAX_ESTIMATES {
                        shapes.insert(shape, (1, line.body));
                    } else {
                        quote.unpriced += 1;
                    }
                }
            }
            Ok(())
        })?;
        if !shapes.is_empty() {
            let access = session.access::<Open>()?;
            for (count, body) in shapes.into_values() {
                match fetch_estimate(&access.client, &body).await {
                    Ok(Some(estimate)) => quote.add(estimate.price_usd, count),
                    Ok(None) => quote.unpriced += count,
                    Err(failure) if failure.exit() == Exit::Failure => quote.rejected += count,
                    Err(failure) => return Err(failure),
                }
            }
        }
        Ok(quote)
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
        match (self.items - self.unpriced, self.unpriced) {
            (_, 0) => format!("{} USD", self.total),
            (0, _) => "an unknown price".to_owned(),
            (_, unpriced) => {
                format!("{} USD and {unpriced} items of unknown price", self.total)
            }
        }
    }

    /// Prints what would be submitted (`--dry-run`).
    ///
    /// # Errors
    ///
    /// Returns an error if not everything fits into `--max-spend`.
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
            "unpriced": self.unpriced,
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
            table.field(
                "spent and reserved",
                Some(format!("{} USD", plan.committed)),
            );
            let limit = options.max_spend.map(|limit| format!("{limit} USD"));
            table.field("--max-spend", limit);
            table.field("sent", Some("no (dry run)"));
            table
        })?;
        let Some(limit) = options.max_spend else {
            return Ok(());
        };
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
                "the price of {count} items is unknown, and --max-spend requires known prices"
            ),
        };
        let code = Some("over_budget".to_owned());
        Err(Failure::new(Exit::Funds, why).with_response(code, None, None, None))
    }
}
