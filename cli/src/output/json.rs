//! JSON of what is printed.
//!
//! For each type that is printed, only its serialization to text is compiled: all else works on the text.

use serde::Serialize;
use serde::ser::Error as _;
use serde_json::{Error, Result, Serializer, Value};

/// Returns the JSON of a value in one line.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut json = Vec::new();
    let written = value.serialize(&mut Serializer::new(&mut json));
    into_text(json, written)
}

fn into_text(json: Vec<u8>, written: Result<()>) -> Result<String> {
    written?;
    String::from_utf8(json).map_err(Error::custom)
}

/// Returns what `serde_json::to_value` does.
pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    parse(to_json(value))
}

pub(super) fn parse(json: Result<String>) -> Result<Value> {
    serde_json::from_str(&json?)
}

/// Indents JSON in one line as `serde_json::to_string_pretty` does.
pub(super) fn indent(json: &str) -> String {
    let mut indented = String::with_capacity(json.len() * 2);
    let mut line_break = "\n".to_owned();
    let (mut in_string, mut is_escaped) = (false, false);
    let mut chars = json.chars().peekable();
    while let Some(c) = chars.next() {
        if matches!(c, '}' | ']') && !in_string {
            line_break.truncate(line_break.len() - 2);
            indented.push_str(&line_break);
        }
        indented.push(c);
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '{' | '[' => match chars.next_if(|next| matches!(next, '}' | ']')) {
                Some(end) => indented.push(end),
                None => {
                    line_break.push_str("  ");
                    indented.push_str(&line_break);
                }
            },
            ',' => indented.push_str(&line_break),
            ':' => indented.push(' '),
            _ => {}
        }
    }
    indented
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            any::<f64>().prop_map(Value::from),
            (0.0..1.0).prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
        ];
        let text = || prop_oneof![any::<String>(), "[\\\\\"{}:,é\\[\\] ]{0,5}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number,
            text().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(text(), inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_is_that_of_serde_json(value in any_json()) {
            let json = to_json(&value).unwrap();
            prop_assert_eq!(&json, &serde_json::to_string(&value).unwrap());
            prop_assert_eq!(indent(&json), serde_json::to_string_pretty(&value).unwrap());
            prop_assert_eq!(to_value(&value).unwrap(), value);
        }
    }

    #[test]
    fn fields_keep_their_order_and_empty_ones_their_line() {
        let json = r#"{"b":[],"a":{},"c":[{"d":1.50,"e":"\\\"{,:"}]}"#;
        let expected = "{\n  \"b\": [],\n  \"a\": {},\n  \"c\": [\n    {\n      \"d\": 1.50,\n      \
                        \"e\": \"\\\\\\\"{,:\"\n    }\n  ]\n}";
        assert_eq!(indent(json), expected);
        assert_eq!(
            to_value(&json!({"a": [-0.0, 1e300, 7]})).unwrap().to_string(),
            r#"{"a":[-0.0,1e+300,7]}"#
        );
    }
}
