//! The conditions of a step, and their words.

use serde_json::{Value, json};

use crate::Variables;

/// Parses JSON, and panics with the text if it is none.
pub fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns a value as a word of a script.
pub fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Splits a text at a character that is neither in quotes nor in brackets, and trims the parts.
pub fn split(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut is_quoted, mut is_escaped) =
        (Vec::new(), 0, 0, false, false);
    for (index, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            other if other == at && depth == 0 => {
                parts.push(&text[start..index]);
                start = index + other.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    let parts = parts.into_iter().map(str::trim);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Checks a condition, and returns the actual value if it does not hold. Sets a variable of it.
///
/// `look_up` returns what the left side of the condition names.
pub fn check(
    condition: &str,
    variables: &mut Variables,
    look_up: impl Fn(&str) -> Option<Value>,
) -> Option<String> {
    if let Some(absent) = condition.strip_prefix('!') {
        return look_up(absent).map(|value| value.to_string());
    }
    let equals = condition.find('=').unwrap_or_else(|| panic!("no condition: {condition}"));
    let operator = condition[..equals].chars().next_back();
    let operator = operator.filter(|last| "!^$*<".contains(*last));
    let left = &condition[..equals - usize::from(operator.is_some())];
    let negated = left.strip_suffix('!').filter(|_| operator.is_some());
    let left = negated.unwrap_or(left);
    let right = &condition[equals + 1..];
    let actual = look_up(left).unwrap_or(Value::Null);
    // An entity tag is compared with its quotes.
    let unquoted = right.starts_with('"').then(|| word(&parse(right)));
    let text = unquoted.as_deref().unwrap_or(right);
    let mut equals =
        |actual: &Value| actual.as_str() == Some(right) || is_equal(actual, text, variables);
    let is_met = match operator {
        None => equals(&actual),
        Some('!') => !equals(&actual),
        Some('^') => word(&actual).starts_with(text),
        Some('$') => word(&actual).ends_with(text),
        Some('<') => match (word(&actual).parse::<f64>(), text.parse::<f64>()) {
            (Ok(actual), Ok(limit)) => actual <= limit,
            _ => return Some(actual.to_string()),
        },
        _ => match &actual {
            Value::Array(items) => items.iter().any(equals),
            other => word(other).contains(text),
        },
    };
    (is_met == negated.is_some()).then(|| actual.to_string())
}

/// Compares a value with the right side of a condition.
fn is_equal(actual: &Value, expected: &str, variables: &mut Variables) -> bool {
    let name = expected.strip_prefix('<').and_then(|name| name.strip_suffix('>'));
    match name {
        Some("some") => !actual.is_null(),
        Some("string") => actual.is_string(),
        Some("number") => actual.is_number(),
        Some("object") => actual.is_object(),
        Some("array") => actual.is_array(),
        Some(name) => {
            variables.insert(name.to_owned(), word(actual));
            !actual.is_null()
        }
        None if actual.as_str() == Some(expected) => true,
        None => serde_json::from_str::<Value>(expected).is_ok_and(|expected| {
            match (actual.as_f64(), expected.as_f64()) {
                (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
                _ => *actual == expected,
            }
        }),
    }
}

/// Returns what a path names: fields and indexes joined by dots, `*` for each item, `#` for their number, `-1` for the last,
/// `@x` for the item whose `item`, `id`, `key` or `check` is x.
pub fn at(root: &Value, path: &str) -> Option<Value> {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let found = match (name, root) {
        ("", root) => Some(root.clone()),
        ("#", Value::Array(items)) => Some(json!(items.len())),
        ("*", Value::Array(items)) => {
            let of_item = |item| at(item, rest).unwrap_or(Value::Null);
            return Some(items.iter().map(of_item).collect());
        }
        ("-1", Value::Array(items)) => items.last().cloned(),
        (name, Value::Array(items)) if name.starts_with('@') => {
            let is_it = |item: &&Value| {
                ["item", "id", "key", "check"].iter().any(|key| item[key] == name[1..])
            };
            items.iter().find(is_it).cloned()
        }
        (name, Value::Array(items)) => items.get(name.parse::<usize>().ok()?).cloned(),
        (_, Value::Object(fields)) => {
            // A name may have dots of its own.
            let ends = path.match_indices('.').map(|(end, _)| end).chain([path.len()]);
            return ends.into_iter().find_map(|end| {
                let (found, rest) = (fields.get(&path[..end])?, path.get(end + 1..));
                rest.map_or_else(|| Some(found.clone()), |rest| at(found, rest))
            });
        }
        _ => None,
    };
    if rest.is_empty() { found } else { at(&found?, rest) }
}
