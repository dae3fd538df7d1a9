//! Strict JSON parsing, and digests that ignore formatting and the order of fields.

use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::engine::idempotency::BodyDigest;

/// Parses a single JSON text. An integer that does not fit into 64 bits is an error, as it would lose digits.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let Strict(value) = serde_json::from_slice(bytes)?;
    // Hardly any body has that many digits, so that its text is not looked at again.
    let may_have = bytes.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 18);
    match may_have && std::str::from_utf8(bytes).is_ok_and(has_long_integer) {
        true => Err(de::Error::custom("an integer does not fit into 64 bits")),
        false => Ok(value),
    }
}

/// Returns whether a JSON text has an integer that does not fit into 64 bits.
fn has_long_integer(json: &str) -> bool {
    let (mut is_in_string, mut is_escaped) = (false, false);
    let mut scalars = json.split(|c: char| {
        let is_quote = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_in_string ^= is_quote;
        is_in_string || !(c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    scalars.any(|scalar| {
        let digits = scalar.strip_prefix('-').unwrap_or(scalar);
        let is_integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        is_integer && scalar.parse::<i64>().is_err() && scalar.parse::<u64>().is_err()
    })
}

/// Returns a digest that is the same for values that differ only in formatting and in the order of
/// fields.
pub(crate) fn digest(value: &Value) -> BodyDigest {
    let mut canonical = Vec::new();
    write_canonical(value, &mut canonical);
    BodyDigest::of(&canonical)
}

fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) => {
            out.push(b'[');
            for item in items {
                write_canonical(item, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (name, value) in fields {
                write_json(name, out);
                out.push(b':');
                write_canonical(value, out);
                out.push(b',');
            }
            out.push(b'}');
        }
        scalar => write_json(scalar, out),
    }
}

fn write_json(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing a text or a scalar to memory does not fail.
    let _ = serde_json::to_writer(out, value);
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue).map(Self)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format_args!("duplicate field {name:?}")));
            }
            let Strict(value) = fields.next_value()?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
