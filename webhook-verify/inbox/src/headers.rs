//! Headers in the form in which stores keep them.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Returns headers as pairs of a name and a value. Each byte of a value becomes one character,
/// because a value need not be UTF-8.
pub(crate) fn to_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    let pairs = headers.iter().map(|(name, value)| {
        let value = value.as_bytes().iter().copied().map(char::from);
        (name.as_str().to_owned(), value.collect())
    });
    pairs.collect()
}

/// Returns the headers of pairs. Pairs that are not headers are left out.
pub(crate) fn from_pairs(pairs: &[(String, String)]) -> HeaderMap {
    let headers = pairs.iter().filter_map(|(name, value)| {
        let bytes: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(c).ok()).collect();
        let value = HeaderValue::from_bytes(&bytes?).ok()?;
        Some((HeaderName::try_from(name).ok()?, value))
    });
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, value);
    }
    map
}

/// Returns headers as a JSON array of pairs.
#[cfg(any(feature = "nats", feature = "postgres", feature = "redis", feature = "sqlite"))]
pub(crate) fn to_json(headers: &HeaderMap) -> String {
    serde_json::to_string(&to_pairs(headers)).unwrap_or_default()
}

/// Returns the headers of a JSON array of pairs.
#[cfg(any(feature = "nats", feature = "postgres", feature = "redis", feature = "sqlite"))]
pub(crate) fn from_json(text: &str) -> HeaderMap {
    from_pairs(&serde_json::from_str::<Vec<(String, String)>>(text).unwrap_or_default())
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    #[test]
    fn headers_that_are_not_json_are_none() {
        assert!(super::from_json("not JSON").is_empty());
    }
}
