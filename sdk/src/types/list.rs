//! Lists, in the shapes that they come in.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::Extra;

/// A list of the service.
///
/// Written by the service as `{"data": [ … ]}`; what stands beside the array is kept in `extra`.
/// Read too: `{"data": {"items": [ … ]}}`, an object with exactly one array in it, and a bare array.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct List<T> {
    /// The items, in the service's order.
    pub items: Vec<T>,
    /// What stood beside them.
    #[serde(flatten)]
    pub extra: Extra,
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;

        let (items, extra) = find_items(Value::deserialize(deserializer)?).ok_or_else(|| {
            D::Error::custom("expected a list: an array, or an object with exactly one array in it")
        })?;
        let items = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                T::deserialize(item)
                    .map_err(|error| D::Error::custom(format_args!("[{index}]: {error}")))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { items, extra })
    }
}

fn find_items(body: Value) -> Option<(Vec<Value>, Extra)> {
    match body {
        Value::Array(items) => Some((items, Extra::default())),
        Value::Object(mut fields) => {
            let inner = match fields.remove("data") {
                Some(Value::Object(inner)) => {
                    let (items, mut extra) = only_array(inner)?;
                    for (name, value) in fields {
                        if extra.get(&name).is_none() {
                            extra.insert(name, value);
                        }
                    }
                    return Some((items, extra));
                }
                Some(Value::Array(items)) => return Some((items, fields.into())),
                // Some servers write an empty list so.
                Some(Value::Null) if !fields.values().any(Value::is_array) => {
                    return Some((Vec::new(), fields.into()));
                }
                Some(other) => {
                    fields.insert("data".to_owned(), other);
                    fields
                }
                None => fields,
            };
            only_array(inner)
        }
        _ => None,
    }
}

fn only_array(mut fields: Map<String, Value>) -> Option<(Vec<Value>, Extra)> {
    let name = if fields.get("items").is_some_and(Value::is_array) {
        "items".to_owned()
    } else {
        let mut arrays = fields.iter().filter(|(_, value)| value.is_array());
        let (name, _) = arrays.next()?;
        if arrays.next().is_some() {
            return None;
        }
        name.clone()
    };
    match fields.remove(&name)? {
        Value::Array(items) => Some((items, fields.into())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_from_every_known_shape() {
        for json in [
            r#"{"data": [1, 2]}"#,
            r#"{"data": {"items": [1, 2]}}"#,
            r#"{"data": {"items": [1, 2], "tags": []}}"#,
            r#"{"data": {"models": [1, 2], "total": 2}}"#,
            r#"{"models": [1, 2]}"#,
            "[1, 2]",
        ] {
            let list: List<u32> = serde_json::from_str(json).unwrap();
            assert_eq!(list.items, [1, 2], "{json}");
        }
    }

    #[test]
    fn what_stands_beside_the_items_is_kept() {
        let list: List<u32> = serde_json::from_str(r#"{"data": [1], "next_cursor": "c"}"#).unwrap();
        assert_eq!(
            list.extra.field::<String>("next_cursor").as_deref(),
            Some("c")
        );
    }

    #[test]
    fn what_stands_beside_a_nested_list_is_kept_at_both_levels() {
        let json = r#"{"data": {"items": [1], "total": 9}, "next_cursor": "c", "total": 7}"#;
        let list: List<u32> = serde_json::from_str(json).unwrap();
        assert_eq!(
            list.extra.field::<String>("next_cursor").as_deref(),
            Some("c")
        );
        assert_eq!(list.extra.field::<u32>("total"), Some(9));
    }

    #[test]
    fn no_items_may_be_written_as_null() {
        let list: List<u32> = serde_json::from_str(r#"{"data": null}"#).unwrap();
        assert!(list.items.is_empty());
    }

    #[test]
    fn what_is_no_list_is_an_error_that_names_the_item() {
        for json in [r#"{"a": [], "b": []}"#, "{}", "1", r#"{"data": 1}"#] {
            assert!(serde_json::from_str::<List<u32>>(json).is_err(), "{json}");
        }
        let error = serde_json::from_str::<List<u32>>(r#"{"data": [1, "x"]}"#).unwrap_err();
        assert!(error.to_string().starts_with("[1]: "), "{error}");
    }
}
