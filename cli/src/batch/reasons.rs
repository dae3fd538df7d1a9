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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_with_the_same_reason_share_a_line() {
        let mut reasons = Reasons::default();
        let mut add = |id: String, error: Value| reasons.add(&json!({"item": id, "error": error}));
        add("a".to_owned(), Value::Null);
        let funds = json!({"code": "insufficient_funds", "message": "The balance is too low"});
        let lost = json!({"code": "ambiguous", "message": "No answer", "idempotency_key": "k-1"});
        add("b".to_owned(), funds.clone());
        add("c".to_owned(), lost);
        add("d".to_owned(), funds);
        for number in 0..20 {
            let error = json!({"code": "failed", "message": format!("job failed: {number}")});
            add(number.to_string(), error);
        }
        let lines = reasons.lines();
        assert_eq!(lines[0], "2 items: The balance is too low (insufficient_funds)");
        assert_eq!(lines[1], "item c: No answer (idempotency key k-1)");
        assert_eq!(lines[2], "item 0: job failed: 0");
        assert_eq!(lines.len(), 21);
        assert!(lines[20].starts_with("2 more items"), "{}", lines[20]);
    }
}
