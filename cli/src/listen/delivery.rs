//! Received deliveries, with everything that is needed to forward them unchanged.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use http::header::{
    PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use serde::{Deserialize, Serialize};
use svc_webhook_verify::DedupeKey;

/// Headers that belong to a single connection and are not forwarded.
const HOP_BY_HOP: [HeaderName; 11] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// A verified delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Delivery {
    /// The time of arrival, in Unix seconds.
    pub(super) at: u64,
    /// The key that identifies duplicates. Test deliveries have none.
    #[serde(with = "key", skip_serializing_if = "Option::is_none", default)]
    pub(super) key: Option<DedupeKey>,
    /// The name in messages, such as `job.completed job_1`.
    pub(super) name: String,
    /// Names and values. Each byte of a value is one character.
    headers: Vec<(String, String)>,
    body: Body,
}

/// A body: text, or hexadecimal digits if it is not valid UTF-8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Body {
    Text(String),
    Hex { hex: String },
}

impl Delivery {
    /// Creates a delivery from the parts of a request.
    pub(super) fn new(
        at: u64,
        key: Option<DedupeKey>,
        name: String,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Self {
        let is_end_to_end = |name: &HeaderName| !HOP_BY_HOP.contains(name);
        let headers = headers.iter().filter(|(name, _)| is_end_to_end(name));
        let body = match std::str::from_utf8(body) {
            Ok(text) => Body::Text(text.to_owned()),
            Err(_) => Body::Hex {
                hex: body.iter().map(|byte| format!("{byte:02x}")).collect(),
            },
        };
        Self {
            at,
            key,
            name,
            headers: headers
                .map(|(name, value)| {
                    let value = value.as_bytes().iter().copied().map(char::from);
                    (name.as_str().to_owned(), value.collect())
                })
                .collect(),
            body,
        }
    }

    /// Returns the headers to forward.
    pub(super) fn headers(&self) -> HeaderMap {
        let pairs = self.headers.iter().filter_map(|(name, value)| {
            let bytes: Option<Vec<u8>> = value.chars().map(|c| u8::try_from(c).ok()).collect();
            let value = HeaderValue::from_bytes(&bytes?).ok()?;
            Some((HeaderName::try_from(name).ok()?, value))
        });
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        headers
    }

    /// Returns the raw body, or `None` if the stored hexadecimal digits are invalid.
    pub(super) fn body(&self) -> Option<Bytes> {
        match &self.body {
            Body::Text(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
            Body::Hex { hex } => {
                let digits = hex.as_bytes().chunks(2);
                let bytes: Option<Vec<u8>> = digits
                    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                    .collect();
                bytes.map(Bytes::from)
            }
        }
    }

    /// Returns the approximate size in memory.
    pub(super) fn size(&self) -> usize {
        let body = match &self.body {
            Body::Text(text) | Body::Hex { hex: text } => text.len(),
        };
        let headers = self.headers.iter();
        headers.fold(body, |sum, (name, value)| sum + name.len() + value.len())
    }
}

/// Serialization of a deduplication key as a pair of strings.
pub(super) mod key {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use svc_webhook_verify::DedupeKey;

    pub(in super::super) fn serialize<S: Serializer>(
        key: &Option<DedupeKey>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pair = key.as_ref().map(|key| (key.event(), key.resource_id()));
        pair.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DedupeKey>, D::Error> {
        let pair = Option::<(String, String)>::deserialize(deserializer)?;
        Ok(pair.map(|(event, id)| DedupeKey::new(event, id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_round_trips_without_hop_by_hop_headers() {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert(HOST, HeaderValue::from_static("hooks.example"));
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("2"));
        headers.append("x-svc-odd", HeaderValue::from_bytes(b"\xff\x80a").unwrap());
        headers.append("x-svc-odd", HeaderValue::from_static("b"));
        let key = DedupeKey::new("job.completed", "job:job_1");
        for body in [
            &b"{\"a\": \"\\u00e9 \xc3\xa9\"}"[..],
            b"\x00\xff\xfe\x80",
            b"",
        ] {
            let body = Bytes::copy_from_slice(body);
            let delivery = Delivery::new(5, Some(key.clone()), "n".into(), &headers, &body);
            let text = serde_json::to_string(&delivery).unwrap();
            let back: Delivery = serde_json::from_str(&text).unwrap();
            assert_eq!(back, delivery);
            assert_eq!(back.body(), Some(body));
            let back = back.headers();
            assert_eq!(back.len(), 3, "{back:?}");
            let odd: Vec<_> = back.get_all("x-svc-odd").iter().collect();
            assert_eq!(odd[0].as_bytes(), b"\xff\x80a");
        }
    }
}
