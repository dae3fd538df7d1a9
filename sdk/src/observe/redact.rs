//! Removal of secrets from what is traced and from what errors show.

use std::borrow::Cow;
use std::fmt::Write;

use http::header::{
    AUTHORIZATION, COOKIE, HeaderMap, HeaderValue, PROXY_AUTHORIZATION, SET_COOKIE,
};
use serde_json::Value;

/// The maximum size of a body that is traced; of a larger one only the size is.
const MAX_BODY_BYTES: usize = 64 * 1024;
const REDACTED: &str = "[redacted]";
/// Fields whose values are secrets, if their name contains one of these words.
const SECRET_FIELDS: [&str; 5] = ["secret", "password", "api_key", "apikey", "token"];
/// How the service's signing secrets begin.
const SIGNING_SECRET_PREFIX: &str = "whsec_";

/// Returns the headers as lines, without the values of credentials.
pub(super) fn format_headers(headers: &HeaderMap, key: Option<&HeaderValue>) -> String {
    let mut lines = String::new();
    for (name, value) in headers {
        let is_secret = value.is_sensitive()
            || [AUTHORIZATION, PROXY_AUTHORIZATION, COOKIE, SET_COOKIE].contains(name)
            || name.as_str() == "x-api-key";
        let value = match is_secret {
            true => Cow::Borrowed(REDACTED),
            false => redact(&String::from_utf8_lossy(value.as_bytes()), key).into(),
        };
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{name}: {value}");
    }
    lines.truncate(lines.trim_end().len());
    lines
}

/// Returns a body as text. JSON is compact, and has no values of secret fields.
pub(super) fn format_body(body: &[u8], key: Option<&HeaderValue>) -> String {
    if body.len() > MAX_BODY_BYTES {
        // A part of a JSON document cannot be redacted by its fields.
        return format!("({} bytes)", body.len());
    }
    match serde_json::from_slice(body) {
        Ok(mut json) => {
            redact_json(&mut json);
            without_key(json.to_string(), key)
        }
        Err(_) => redact(&String::from_utf8_lossy(body), key),
    }
}

/// Returns a query, not encoded, without the values of secret parameters.
pub(super) fn format_query(parameters: &[(String, String)], key: Option<&HeaderValue>) -> String {
    let mut query = String::new();
    for (name, value) in parameters {
        query.push(if query.is_empty() { '?' } else { '&' });
        let value = if is_secret_field(name) { REDACTED.to_owned() } else { redact(value, key) };
        // Writing to a string does not fail.
        let _ = write!(query, "{name}={value}");
    }
    query
}

/// Returns text without the key, signing secrets and the queries of URLs.
pub(super) fn redact(text: &str, key: Option<&HeaderValue>) -> String {
    without_key(redact_urls_and_signing_secrets(text), key)
}

fn without_key(text: String, key: Option<&HeaderValue>) -> String {
    match key.and_then(|key| key_in(key)) {
        Some(key) if text.contains(key) => text.replace(key, REDACTED),
        _ => text,
    }
}

/// Returns a body without the key of an `Authorization` header, or `None` if it does not contain it.
pub(crate) fn body_without_key(body: &[u8], key: &HeaderValue) -> Option<String> {
    let key = key_in(key)?;
    let text = String::from_utf8_lossy(body);
    text.contains(key).then(|| text.replace(key, REDACTED))
}

fn key_in(header: &HeaderValue) -> Option<&str> {
    let key = std::str::from_utf8(header.as_bytes()).ok()?;
    // A shorter key could be part of ordinary words.
    key.strip_prefix("Bearer ").filter(|key| key.len() >= 8)
}

fn is_secret_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_FIELDS.iter().any(|word| name.contains(word)) || name == "x-api-key"
}

fn redact_json(json: &mut Value) {
    match json {
        Value::String(text) => *text = redact_urls_and_signing_secrets(text),
        Value::Array(items) => items.iter_mut().for_each(redact_json),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if is_secret_field(name) => REDACTED.clone_into(text),
                    value => redact_json(value),
                }
            }
        }
        _ => {}
    }
}

/// Returns text without signing secrets and the queries of URLs.
pub(crate) fn redact_urls_and_signing_secrets(text: &str) -> String {
    // Lower-casing ASCII changes no offset.
    let lower = text.to_ascii_lowercase();
    let mut redacted = String::with_capacity(text.len());
    let mut end = 0;
    while let Some((start, kind)) = next_secret(&lower, end) {
        redacted.push_str(text.get(end..start).unwrap_or_default());
        let found = text.get(start..).unwrap_or_default();
        let length = found.find(ends_word).unwrap_or(found.len());
        let word = found.get(..length).unwrap_or_default();
        match kind {
            Sensitive::Url => redacted.push_str(&redact_url(word)),
            Sensitive::Query if word.contains('=') => redacted.push_str("?…"),
            Sensitive::Query => redacted.push_str(word),
            Sensitive::SigningSecret => redacted.push_str("whsec_…"),
        }
        end = start + length;
    }
    redacted.push_str(text.get(end..).unwrap_or_default());
    redacted
}

#[derive(Clone, Copy)]
enum Sensitive {
    Url,
    /// The query of a relative URL.
    Query,
    SigningSecret,
}

fn next_secret(lower: &str, from: usize) -> Option<(usize, Sensitive)> {
    let rest = lower.get(from..)?;
    let mut next = None;
    for (prefix, kind) in [
        ("http://", Sensitive::Url),
        ("https://", Sensitive::Url),
        ("?", Sensitive::Query),
        (SIGNING_SECRET_PREFIX, Sensitive::SigningSecret),
    ] {
        if let Some(start) = rest.find(prefix)
            && next.is_none_or(|(earlier, _)| from + start < earlier)
        {
            next = Some((from + start, kind));
        }
    }
    next
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '<' | '>' | '`' | '|')
}

/// Returns a URL without its query, its fragment, and its user name and password.
fn redact_url(url: &str) -> String {
    let (url, hidden) = match url.find(['?', '#']) {
        Some(start) => (url.get(..start).unwrap_or_default(), "?…"),
        None => (url, ""),
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = match authority.rsplit_once('@') {
        Some((_, host)) => ("…@", host),
        None => ("", authority),
    };
    let path = if path.contains(SIGNING_SECRET_PREFIX) { "/…" } else { path };
    format!("{scheme}://{user}{host}{path}{hidden}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_traced_without_secrets() {
        for (given, expected) in [
            ("plain", "plain"),
            ("https://a.example/x.png", "https://a.example/x.png"),
            ("see HTTPS://a.example/x?sig=canary, now", "see HTTPS://a.example/x?… now"),
            ("https://a/?canary https://b/#canary", "https://a/?… https://b/?…"),
            ("https://user:canary@a.example/x", "https://…@a.example/x"),
            (r#"{"url":"https://a/x?s=canary","n":1}"#, r#"{"url":"https://a/x?…","n":1}"#),
            (r#"{"url":"https://a/x?s=1\u0026t=canary"}"#, r#"{"url":"https://a/x?…"}"#),
            ("denied /m/a.mp4?sig=canary", "denied /m/a.mp4?…"),
            ("what? why?", "what? why?"),
            ("secret whsec_canary.", "secret whsec_…"),
            ("https://a/whsec_canary", "https://a/…"),
            ("İ https://a/?canary", "İ https://a/?…"),
        ] {
            let shown = redact(given, None);
            assert_eq!(shown, expected);
            assert!(!shown.contains("canary"), "{shown}");
        }
    }

    #[test]
    fn json_is_traced_without_secrets() {
        let given = br#"{"data": {"signing_secret": "canary", "previous": ["whsec_canary"], "max_tokens": 7,
            "artifacts": [{"url": "https:\/\/a.example\/x?s=canary\u0026t=canary"}],
            "nested": "{\"url\": \"https://a/?canary\"}", "X-Api-Key": "canary"}}"#;
        let shown = format_body(given, None);
        assert!(!shown.contains("canary"), "{shown}");
        assert!(
            shown.contains("https://a.example/x?…") && shown.contains("\"max_tokens\":7"),
            "{shown}"
        );
    }

    #[test]
    fn the_key_is_not_traced_wherever_it_occurs() {
        let mut key = HeaderValue::from_static("Bearer svc_open_canary");
        key.set_sensitive(true);
        let page = b"<html>you sent Authorization: Bearer svc_open_canary</html>";
        assert!(!format_body(page, Some(&key)).contains("canary"));
        let mut map = HeaderMap::new();
        map.insert(AUTHORIZATION, key.clone());
        map.insert("x-api-key", HeaderValue::from_static("canary"));
        map.insert("set-cookie", HeaderValue::from_static("canary"));
        map.insert("location", HeaderValue::from_static("https://a/?canary"));
        map.insert("echo", HeaderValue::from_static("svc_open_canary"));
        let shown = format_headers(&map, Some(&key));
        assert!(!shown.contains("canary"), "{shown}");
        assert!(shown.contains("location: https://a/?…"), "{shown}");
    }
}
