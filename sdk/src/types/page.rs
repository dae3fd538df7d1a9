//! Pages of lists.

use serde::de::{DeserializeOwned, Error as _};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::Extra;

/// A page of a list.
///
/// An item that cannot be decoded is in `unreadable`; it does not affect the other items.
///
/// The service sends `{"data": [ … ]}`. Also accepted are `{"data": {"items": [ … ]}}`, an object
/// with exactly one array in it, and an array. The other fields of the objects are kept in `extra`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items, in the order of the service.
    pub items: Vec<T>,
    /// The cursor of the next page, if there is one: it is not empty, and `has_more` is not false.
    /// Assumed.
    pub next_cursor: Option<String>,
    /// The items that could not be decoded.
    pub unreadable: Vec<UnreadableItem>,
    /// The other fields next to the items.
    pub extra: Extra,
}

/// An item of a list that could not be decoded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UnreadableItem {
    /// The position in the array of the response, from 0.
    pub index: usize,
    /// The item's JSON.
    pub json: Value,
    /// Why the item could not be decoded.
    pub error: String,
}

const NEXT_CURSOR: &str = "next_cursor";

impl<T> Page<T> {
    /// Returns the number of items, without those that could not be decoded.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns `true` if the page has no items that could be decoded.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<T> IntoIterator for Page<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Page<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T: Serialize> Serialize for Page<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("data", &OriginalOrder(self))?;
        for (name, value) in self.extra.iter() {
            let is_replaced = name == "data" || (name == NEXT_CURSOR && self.next_cursor.is_some());
            if !is_replaced {
                map.serialize_entry(name, value)?;
            }
        }
        if let Some(cursor) = &self.next_cursor {
            map.serialize_entry(NEXT_CURSOR, cursor)?;
        }
        map.end()
    }
}

/// The items of a page in their original order, with those that could not be decoded.
struct OriginalOrder<'p, T>(&'p Page<T>);

impl<T: Serialize> Serialize for OriginalOrder<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Page { items, unreadable, .. } = self.0;
        let length = items.len() + unreadable.len();
        let mut sequence = serializer.serialize_seq(Some(length))?;
        let mut items = items.iter();
        let mut unreadable = unreadable.iter().peekable();
        for index in 0..length {
            if let Some(item) = unreadable.next_if(|item| item.index <= index) {
                sequence.serialize_element(&item.json)?;
            } else if let Some(item) = items.next() {
                sequence.serialize_element(item)?;
            } else if let Some(item) = unreadable.next() {
                sequence.serialize_element(&item.json)?;
            }
        }
        sequence.end()
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Page<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (array, mut extra) =
            find_array(Value::deserialize(deserializer)?).ok_or_else(|| {
                D::Error::custom(
                    "expected a list: an array, or an object with exactly one array in it",
                )
            })?;
        let mut items = Vec::with_capacity(array.len());
        let mut unreadable = Vec::new();
        for (index, json) in array.into_iter().enumerate() {
            match T::deserialize(&json) {
                Ok(item) => items.push(item),
                Err(error) => {
                    unreadable.push(UnreadableItem { index, json, error: error.to_string() });
                }
            }
        }
        let has_more = extra.get("has_more").and_then(Value::as_bool);
        let next_cursor = match extra.get(NEXT_CURSOR) {
            Some(Value::String(cursor)) if !cursor.is_empty() && has_more != Some(false) => {
                Some(cursor.clone())
            }
            _ => None,
        };
        if next_cursor.is_some() {
            extra.remove(NEXT_CURSOR);
        }
        Ok(Self { items, next_cursor, unreadable, extra })
    }
}

/// Finds the array of a list's body, and the fields next to it.
fn find_array(body: Value) -> Option<(Vec<Value>, Extra)> {
    let mut fields = match body {
        Value::Array(items) => return Some((items, Extra::default())),
        Value::Object(fields) => fields,
        _ => return None,
    };
    match fields.remove("data") {
        Some(Value::Array(items)) => Some((items, fields.into())),
        Some(Value::Object(inner)) => {
            let (items, mut extra) = only_array(inner)?;
            for (name, value) in fields {
                if extra.get(&name).is_none() {
                    extra.insert(name, value);
                }
            }
            Some((items, extra))
        }
        // Some servers write an empty list as null.
        Some(Value::Null) if !fields.values().any(Value::is_array) => {
            Some((Vec::new(), fields.into()))
        }
        other => {
            fields.extend(other.map(|other| ("data".to_owned(), other)));
            only_array(fields)
        }
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
    use serde_json::json;

    use super::*;

    fn page(json: Value) -> Page<u32> {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn reads_all_list_shapes() {
        for json in [
            json!({"data": [1, 2]}),
            json!({"data": {"items": [1, 2]}}),
            json!({"data": {"items": [1, 2], "tags": []}}),
            json!({"data": {"models": [1, 2], "total": 2}}),
            json!({"models": [1, 2]}),
            json!([1, 2]),
        ] {
            let page = page(json.clone());
            assert_eq!(page.items, [1, 2], "{json}");
            assert_eq!((page.len(), page.is_empty()), (2, false));
        }
        assert!(page(json!({"data": null})).is_empty());
        for json in [json!({"a": [], "b": []}), json!({}), json!(1), json!({"data": 1})] {
            let result = serde_json::from_value::<Page<u32>>(json.clone());
            assert!(result.is_err(), "{json}");
        }
    }

    #[test]
    fn reads_the_cursor_at_every_level() {
        for json in [
            json!({"data": [1], "next_cursor": "c"}),
            json!({"data": {"items": [1]}, "next_cursor": "c"}),
            json!({"data": {"items": [1], "next_cursor": "c"}}),
        ] {
            let page = page(json);
            assert_eq!(page.next_cursor.as_deref(), Some("c"));
            assert!(page.extra.is_empty());
        }
        let json = json!({"data": {"items": [1], "total": 9}, "next_cursor": "c", "total": 7});
        assert_eq!(page(json).extra.get_as::<u32>("total"), Some(9));
        for json in [
            json!({"data": [1], "next_cursor": null}),
            json!({"data": [1], "next_cursor": ""}),
            json!({"data": [1], "next_cursor": 7}),
            json!({"data": [1], "next_cursor": "c", "has_more": false}),
        ] {
            let page = page(json.clone());
            assert_eq!(page.next_cursor, None);
            assert_eq!(serde_json::to_value(page).unwrap(), json);
        }
    }

    #[test]
    fn unreadable_items_do_not_affect_their_neighbours() {
        let json = json!({"data": ["x", 1, null, 2], "next_cursor": "c", "total": 4});
        let page = page(json.clone());
        assert_eq!(page.items, [1, 2]);
        let unreadable: Vec<_> = page.unreadable.iter().map(|it| it.index).collect();
        assert_eq!(unreadable, [0, 2]);
        assert_eq!(page.unreadable[0].json, "x");
        assert!(page.unreadable[0].error.contains("u32"));
        assert_eq!(serde_json::to_value(&page).unwrap(), json);
    }
}
