//! Requests as code that sends them again, for curl, Python and JavaScript.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::values::{fields, text};

/// The headers that clients set on their own, or that belong to one connection.
pub(super) const OMITTED_HEADERS: [&str; 7] = [
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "te",
    "transfer-encoding",
    "user-agent",
];

/// What is needed to send a request of the request log again.
#[derive(Clone, Debug)]
pub(super) struct SentRequest<'r> {
    pub(super) method: &'r str,
    pub(super) path: &'r str,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: &'r str,
    base: &'r str,
}

impl<'r> SentRequest<'r> {
    /// Reads a request of the request log. `secret` is the key that it was sent with, whose headers
    /// are redacted.
    pub(super) fn new(base: &'r str, request: &'r Value, secret: Option<&str>) -> Self {
        let headers = fields(request, "/headers").into_iter();
        let headers = headers.filter(|(name, _)| !OMITTED_HEADERS.contains(&name.as_str()));
        let headers = headers.map(|(name, value)| match (name.as_str(), secret) {
            ("authorization", Some(secret)) => (name, format!("Bearer {secret}")),
            ("x-api-key", Some(secret)) => (name, secret.to_owned()),
            _ => (name, value),
        });
        Self {
            method: text(request, "/method"),
            path: text(request, "/path"),
            headers: headers.collect(),
            body: text(request, "/request/body"),
            base,
        }
    }

    pub(super) fn codes(&self) -> [(&'static str, String); 3] {
        [("curl", self.curl()), ("Python", self.python()), ("JavaScript", self.javascript())]
    }

    fn curl(&self) -> String {
        let Self { method, path, headers, body, base } = self;
        let mut parts = vec!["curl -sS".to_owned()];
        if *method == "HEAD" {
            parts.push("--head".to_owned());
        } else if *method != if body.is_empty() { "GET" } else { "POST" } {
            parts.push(format!("-X {method}"));
        }
        if path.contains(['[', ']', '{', '}']) {
            parts.push("--globoff".to_owned());
        }
        parts.push(quote(&format!("{base}{path}")));
        if !body.is_empty() && !headers.iter().any(|(name, _)| name == "content-type") {
            // Otherwise curl sends that of a form.
            parts.push("-H 'content-type:'".to_owned());
        }
        for (name, value) in headers {
            if name != "accept" || value != "*/*" {
                parts.push(format!("-H {}", quote(&format!("{name}: {value}"))));
            }
        }
        if !body.is_empty() {
            parts.push(format!("--data-raw {}", quote(body)));
        }
        parts.join(" \\\n  ")
    }

    /// Returns a program for Python's standard library. A JSON string is one of Python, too.
    fn python(&self) -> String {
        let (scheme, rest) = self.base.split_once("://").unwrap_or(("http", self.base));
        let (host, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let slash = if prefix.is_empty() { "" } else { "/" };
        let class = if scheme == "https" { "HTTPSConnection" } else { "HTTPConnection" };
        let mut code =
            format!("import http.client\n\nconnection = http.client.{class}(\"{host}\")\n");
        let path = json!(format!("{slash}{prefix}{}", self.path));
        let _ = write!(code, "connection.request(\n    {}, {path},\n", json!(self.method));
        if !self.body.is_empty() {
            let _ = writeln!(code, "    body={}.encode(),", json!(self.body));
        }
        let _ = writeln!(code, "    headers={},\n)", self.header_lines("    "));
        code + "response = connection.getresponse()\nprint(response.status, response.read().decode())\n"
    }

    /// Returns a module for Node and browsers.
    fn javascript(&self) -> String {
        let url = json!(format!("{}{}", self.base, self.path));
        let method = json!(self.method);
        let headers = self.header_lines("  ");
        let mut code = format!(
            "const response = await fetch({url}, {{\n  method: {method},\n  headers: {headers},\n"
        );
        if !self.body.is_empty() {
            let _ = writeln!(code, "  body: {},", json!(self.body));
        }
        code + "});\nconsole.log(response.status, await response.text());\n"
    }

    /// Returns the headers as an object literal, whose closing bracket has the indentation.
    fn header_lines(&self, indentation: &str) -> String {
        let line = |(name, value): &(String, String)| {
            format!("{indentation}{indentation}{}: {},\n", json!(name), json!(value))
        };
        let lines: String = self.headers.iter().map(line).collect();
        if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{lines}{indentation}}}") }
    }
}

/// Quotes a text for a POSIX shell.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_language_has_the_headers_the_key_and_the_body() {
        let request = json!({
            "method": "POST", "path": "/v1/image-router/generate?a=b",
            "headers": {
                "authorization": "[redacted]", "content-length": "23",
                "content-type": "application/json", "host": "127.0.0.1:4010",
            },
            "request": {"body": "{\"prompt\": \"Ada's fox\"}"},
        });
        let request = SentRequest::new("http://127.0.0.1:4010", &request, Some("svc_open_demo"));
        let [(_, curl), (_, python), (_, javascript)] = request.codes();
        assert_eq!(
            curl,
            "curl -sS \\\n  'http://127.0.0.1:4010/v1/image-router/generate?a=b' \\\n  \
             -H 'authorization: Bearer svc_open_demo' \\\n  -H 'content-type: application/json' \\\n  \
             --data-raw '{\"prompt\": \"Ada'\\''s fox\"}'"
        );
        assert_eq!(
            python,
            "import http.client\n\n\
             connection = http.client.HTTPConnection(\"127.0.0.1:4010\")\n\
             connection.request(\n    \"POST\", \"/v1/image-router/generate?a=b\",\n    \
             body=\"{\\\"prompt\\\": \\\"Ada's fox\\\"}\".encode(),\n    headers={\n        \
             \"authorization\": \"Bearer svc_open_demo\",\n        \
             \"content-type\": \"application/json\",\n    },\n)\n\
             response = connection.getresponse()\nprint(response.status, response.read().decode())\n"
        );
        assert_eq!(
            javascript,
            "const response = await fetch(\"http://127.0.0.1:4010/v1/image-router/generate?a=b\", {\n  \
             method: \"POST\",\n  headers: {\n    \"authorization\": \"Bearer svc_open_demo\",\n    \
             \"content-type\": \"application/json\",\n  },\n  \
             body: \"{\\\"prompt\\\": \\\"Ada's fox\\\"}\",\n});\n\
             console.log(response.status, await response.text());\n"
        );
    }

    #[test]
    fn curl_sends_what_the_client_sent() {
        for (method, path, body, expected) in [
            ("GET", "/v1/jobs", "", "'http://h/v1/jobs'"),
            ("POST", "/v1/jobs", "", "-X POST \\\n  'http://h/v1/jobs'"),
            ("HEAD", "/v1/jobs", "", "--head \\\n  'http://h/v1/jobs'"),
            (
                "POST",
                "/v1/jobs?ids[]=1",
                "{}",
                "--globoff \\\n  'http://h/v1/jobs?ids[]=1' \\\n  -H 'content-type:' \\\n  --data-raw '{}'",
            ),
        ] {
            let request =
                json!({"method": method, "path": path, "headers": {}, "request": {"body": body}});
            let curl = SentRequest::new("http://h", &request, None).curl();
            assert_eq!(curl, format!("curl -sS \\\n  {expected}"));
        }
    }
}
