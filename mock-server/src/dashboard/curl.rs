//! Requests as command lines of curl.

use serde_json::Value;

use super::values::{fields, text};

/// The headers that curl sets on its own, or that belong to one connection.
const OMITTED_HEADERS: [&str; 7] = [
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// Returns the command that sends a request of the request log again. `secret` is the key that the
/// request was sent with, whose headers are redacted.
pub(super) fn command(base: &str, request: &Value, secret: Option<&str>) -> String {
    let method = text(request, "/method");
    let body = text(request, "/request/body");
    let mut parts = vec!["curl -sS".to_owned()];
    if method == "HEAD" {
        parts.push("--head".to_owned());
    } else if method != if body.is_empty() { "GET" } else { "POST" } {
        parts.push(format!("-X {method}"));
    }
    let path = text(request, "/path");
    if path.contains(['[', ']', '{', '}']) {
        parts.push("--globoff".to_owned());
    }
    parts.push(quote(&format!("{base}{path}")));
    let headers = fields(request, "/headers");
    if !body.is_empty() && !headers.iter().any(|(name, _)| name == "content-type") {
        // Otherwise curl sends that of a form.
        parts.push("-H 'content-type:'".to_owned());
    }
    for (name, value) in headers {
        if OMITTED_HEADERS.contains(&name.as_str()) || (name == "accept" && value == "*/*") {
            continue;
        }
        let value = match (name.as_str(), secret) {
            ("authorization", Some(secret)) => format!("Bearer {secret}"),
            ("x-api-key", Some(secret)) => secret.to_owned(),
            _ => value,
        };
        parts.push(format!("-H {}", quote(&format!("{name}: {value}"))));
    }
    if !body.is_empty() {
        parts.push(format!("--data-raw {}", quote(body)));
    }
    parts.join(" \\\n  ")
}

/// Quotes a text for a POSIX shell.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_command_has_the_headers_the_key_and_the_body() {
        let request = json!({
            "method": "POST", "path": "/v1/image-router/generate?a=b",
            "headers": {
                "authorization": "[redacted]", "content-length": "23",
                "content-type": "application/json", "host": "127.0.0.1:4010",
            },
            "request": {"body": "{\"prompt\": \"Ada's fox\"}"},
        });
        let expected = "curl -sS \\\n  'http://127.0.0.1:4010/v1/image-router/generate?a=b' \\\n  \
            -H 'authorization: Bearer svc_open_demo' \\\n  -H 'content-type: application/json' \\\n  \
            --data-raw '{\"prompt\": \"Ada'\\''s fox\"}'";
        let command = command("http://127.0.0.1:4010", &request, Some("svc_open_demo"));
        assert_eq!(command, expected);
    }

    #[test]
    fn other_methods_are_named() {
        let request = |method: &str| json!({"method": method, "path": "/v1/jobs", "headers": {}});
        let command = |method: &str| command("http://h", &request(method), None);
        assert_eq!(command("GET"), "curl -sS \\\n  'http://h/v1/jobs'");
        assert_eq!(command("POST"), "curl -sS \\\n  -X POST \\\n  'http://h/v1/jobs'");
        assert_eq!(command("HEAD"), "curl -sS \\\n  --head \\\n  'http://h/v1/jobs'");
    }

    #[test]
    fn curl_sends_what_the_client_sent() {
        let request = json!({
            "method": "POST", "path": "/v1/jobs?ids[]=1", "headers": {}, "request": {"body": "{}"},
        });
        assert_eq!(
            command("http://h", &request, None),
            "curl -sS \\\n  --globoff \\\n  'http://h/v1/jobs?ids[]=1' \\\n  \
             -H 'content-type:' \\\n  --data-raw '{}'"
        );
    }
}
