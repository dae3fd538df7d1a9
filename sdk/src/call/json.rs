//! JSON that serde_json decodes with loss or not at all: decimal numbers with many digits, and bodies with
//! a part that cannot be represented.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

/// The number of significant digits that suffices for every `f64`. Software that computes in `f64`
/// writes no more.
const MAX_F64_DIGITS: usize = 17;

/// Returns the JSON with each number that has a fraction and more digits than an `f64` holds as a
/// string. As numbers they would be rounded when they are decoded, and they are amounts of money,
/// which are decoded from strings as well.
pub(super) fn quote_long_decimals(json: &[u8]) -> Cow<'_, [u8]> {
    let (mut quoted, mut copied) = (Vec::new(), 0);
    let mut rest = json.iter().enumerate();
    while let Some((start, byte)) = rest.next() {
        match byte {
            b'"' => {
                while let Some((_, byte)) = rest.next() {
                    match byte {
                        b'\\' => {
                            rest.next();
                        }
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                let tail = json.get(start..).unwrap_or_default();
                let len = tail.iter().take_while(|byte| is_part_of_number(**byte)).count();
                let number = tail.get(..len).unwrap_or_default();
                if is_long_decimal(number) {
                    quoted.extend_from_slice(json.get(copied..start).unwrap_or_default());
                    quoted.push(b'"');
                    quoted.extend_from_slice(number);
                    quoted.push(b'"');
                    copied = start + len;
                }
                // The first byte of the number is taken already.
                if len > 1 {
                    rest.nth(len - 2);
                }
            }
            _ => {}
        }
    }
    match quoted.is_empty() {
        true => Cow::Borrowed(json),
        false => {
            quoted.extend_from_slice(json.get(copied..).unwrap_or_default());
            Cow::Owned(quoted)
        }
    }
}

fn is_part_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

/// Returns whether a number is written with a fraction, without an exponent, and with too many digits.
fn is_long_decimal(number: &[u8]) -> bool {
    let is_decimal =
        number.contains(&b'.') && !number.iter().any(|byte| matches!(byte, b'e' | b'E'));
    let digits = number.iter().filter(|byte| byte.is_ascii_digit());
    is_decimal && digits.skip_while(|digit| **digit == b'0').count() > MAX_F64_DIGITS
}

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
    fn only_decimals_that_would_be_rounded_become_strings() {
        for (json, expected) in [
            ("9007199254740.993001", "\"9007199254740.993001\""),
            (
                r#"{"a": -1234567890123.123456, "b": [1.5,1234567890123.123451]}"#,
                r#"{"a": "-1234567890123.123456", "b": [1.5,"1234567890123.123451"]}"#,
            ),
        ] {
            assert_eq!(quote_long_decimals(json.as_bytes()), expected.as_bytes());
        }
        for json in [
            "0.30000000000000004",
            "18446744073709551615",
            "123456789012345678901234567890",
            "0.000000000000000000000000001",
            "1.7976931348623157081452742373e308",
            r#""9007199254740.993001 and \" 9007199254740.993001""#,
            "7",
            "",
        ] {
            assert!(matches!(quote_long_decimals(json.as_bytes()), Cow::Borrowed(_)), "{json}");
        }
    }

    #[test]
    fn an_amount_of_any_size_is_exact() {
        let json = quote_long_decimals(b"9223372036854.775807");
        let amount: crate::types::Usd = serde_json::from_slice(&json).unwrap();
        assert_eq!(amount, crate::types::Usd::from_micros(i64::MAX));
    }

    #[test]
    fn a_field_that_cannot_be_represented_hides_no_other() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(r#"{{"data": {{"id": "run_1", "a": 1e999, "b": {deep}}}, "c": 7}}"#);
        let read = parse_lenient(body.as_bytes()).unwrap();
        assert_eq!(read, json!({"data": {"id": "run_1"}, "c": 7}));
        assert_eq!(parse_lenient(br#"{"data": {"id": "run_1""#), None);
    }
}
