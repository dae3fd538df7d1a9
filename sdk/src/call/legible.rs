//! What can be read of a body that cannot be read as a whole.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// How deep the parts of a body are looked for: `data`, what is in it, and its fields.
const DEEPEST: usize = 3;

/// The body without the fields that no value can hold: a number out of range, one that is nested too
/// deeply. So it still tells what was paid for.
pub(crate) fn legible(body: &[u8]) -> Option<Value> {
    part(std::str::from_utf8(body).ok()?, DEEPEST)
}

fn part(json: &str, deepest: usize) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(json) {
        return Some(value);
    }
    let deeper = deepest.checked_sub(1)?;
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let fields = fields.into_iter();
    Some(Value::Object(
        fields
            .filter_map(|(name, json)| Some((name, part(json.get(), deeper)?)))
            .collect(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_value_can_hold_hides_nothing_else() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"data": {{"id": "run_1", "a": 1e999, "b": {deep}}}, "c": 7}}"#);
        let legible = legible(body.as_bytes()).unwrap();
        assert_eq!(legible, json!({"data": {"id": "run_1"}, "c": 7}));
        assert_eq!(super::legible(br#"{"data": {"id": "run_1""#), None);
    }
}
