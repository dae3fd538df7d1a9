//! Reading the parts of a body that cannot be decoded as a whole.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// How many levels of a body are searched: the body, `data`, and the fields in it.
const MAX_DEPTH: usize = 3;

/// Returns the body without the fields that [`Value`] cannot represent, such as a number out of
/// range or a value nested too deeply, so that the id of what was paid for can still be found.
pub(crate) fn parse_lenient(body: &[u8]) -> Option<Value> {
    parse(std::str::from_utf8(body).ok()?, MAX_DEPTH)
}

fn parse(json: &str, depth: usize) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(json) {
        return Some(value);
    }
    let depth = depth.checked_sub(1)?;
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    let fields = fields.into_iter();
    Some(Value::Object(
        fields.filter_map(|(name, json)| Some((name, parse(json.get(), depth)?))).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_cannot_be_represented_hides_no_other() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"data": {{"id": "run_1", "a": 1e999, "b": {deep}}}, "c": 7}}"#);
        let salvaged = parse_lenient(body.as_bytes()).unwrap();
        assert_eq!(salvaged, json!({"data": {"id": "run_1"}, "c": 7}));
        assert_eq!(parse_lenient(br#"{"data": {"id": "run_1""#), None);
    }
}
