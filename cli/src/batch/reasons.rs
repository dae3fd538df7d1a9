//! Why items did not complete, in full: the cells of a table are cut.

use serde_json::Value;

use crate::text::{counted, sanitize};

/// The maximum number of different reasons that are listed.
const MAX_REASONS: usize = 20;

/// The reasons of the items with an error, each with its number of items.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    listed: Vec<Reason>,
    /// The number of items with a reason that is not listed.
    hidden: usize,
}

#[derive(Debug)]
struct Reason {
    text: String,
    count: usize,
    /// The id of the first item.
    id: String,
}

impl Reasons {
    /// Adds an item of the output, if it has an error.
    pub(super) fn add(&mut self, item: &Value) {
        let Some(error) = item.get("error").filter(|error| !error.is_null()) else { return };
        let text = describe_error(error);
        if let Some(reason) = self.listed.iter_mut().find(|it| it.text == text) {
            reason.count += 1;
        } else if self.listed.len() < MAX_REASONS {
            let id = item.get("item").and_then(Value::as_str).unwrap_or_default();
            let id = id.to_owned();
            self.listed.push(Reason { text, count: 1, id });
        } else {
            self.hidden += 1;
        }
    }

    /// Returns a line for each reason: `item fox: …`, or `4 items: …`.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |reason: &Reason| {
            let items = match reason.count {
                1 => format!("item {}", sanitize(&reason.id)),
                count => counted(count, "item"),
            };
            format!("{items}: {}", sanitize(&reason.text))
        };
        let mut lines: Vec<String> = self.listed.iter().map(line).collect();
        if self.hidden > 0 {
            let items = counted(self.hidden, "more item");
            lines.push(format!("{items} for other reasons (see them with -o json)"));
        }
        lines
    }
}

/// Describes the error of an item: its message, its code, and its idempotency key if it is ambiguous.
fn describe_error(error: &Value) -> String {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let (code, message) = (text("code"), text("message"));
    match (message.contains(code), text("idempotency_key")) {
        (true, "") => message.to_owned(),
        (false, "") => format!("{message} ({code})"),
        (_, key) => format!("{message} (idempotency key {key})"),
    }
}
