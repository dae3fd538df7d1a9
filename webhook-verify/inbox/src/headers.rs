//! Headers as JSON text, the form in which stores keep them.

use http::{HeaderMap, HeaderName, HeaderValue};

/// Returns headers as a JSON array of pairs. Each byte of a value becomes one character, because
/// a value need not be UTF-8.
pub(crate) fn to_json(headers: &HeaderMap) -> String {
    let pairs: Vec<(&str, String)> = headers
        .iter()
        .map(|(name, value)| {
            let value = value.as_bytes().iter().copied().map(char::from).collect();
            (name.as_str(), value)
        })
        .collect();
    serde_json::to_string(&pairs).unwrap_or_default()
}

/// Returns the headers of a JSON text. Pairs that are not headers are left out.
pub(crate) fn from_json(text: &str) -> HeaderMap {
    let pairs: Vec<(String, String)> = serde_json::from_str(text).unwrap_or_default();
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let bytes: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(c).ok()).collect();
        let value = bytes.and_then(|bytes| HeaderValue::from_bytes(&bytes).ok());
        if let (Ok(name), Some(value)) = (HeaderName::try_from(name), value) {
            headers.append(name, value);
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_a_round_trip() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.append("x-svc-odd", HeaderValue::from_bytes(b"\xff\x80a").unwrap());
        headers.append("x-svc-odd", HeaderValue::from_static("b"));
        assert_eq!(from_json(&to_json(&headers)), headers);
        assert_eq!(from_json("not JSON"), HeaderMap::new());
    }
}
