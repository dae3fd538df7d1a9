//! JSON for reading: indented, with its names, texts and numbers marked.
//!
//! The text is formatted as it was sent, without parsing it into values, so that the order of
//! fields and the spelling of numbers remain.

use maud::{Markup, html};

/// The kind of a part of a JSON text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TokenKind {
    Punctuation,
    Name,
    Text,
    Literal,
}

/// Returns a body as it is to be shown: indented if it is JSON, and as it is otherwise.
pub(super) fn body(text: &str) -> Markup {
    let parts = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => indent(text),
        Err(_) => vec![(TokenKind::Punctuation, text.to_owned())],
    };
    html! {
        @for (kind, part) in parts {
            @match kind {
                TokenKind::Punctuation => (part),
                TokenKind::Name => span.json-name { (part) },
                TokenKind::Text => span.json-text { (part) },
                TokenKind::Literal => span.json-literal { (part) },
            }
        }
    }
}

/// Splits valid JSON into parts, with line breaks and indentation added.
fn indent(json: &str) -> Vec<(TokenKind, String)> {
    let mut parts: Vec<(TokenKind, String)> = Vec::new();
    let mut depth = 0_usize;
    let mut rest = json.trim();
    while let Some(first) = rest.chars().next() {
        let (length, kind) = match first {
            '"' => (string_length(rest), TokenKind::Text),
            '{' | '}' | '[' | ']' | ',' | ':' => (1, TokenKind::Punctuation),
            _ => {
                let end = rest.find([',', '}', ']', ':']);
                (end.unwrap_or(rest.len()), TokenKind::Literal)
            }
        };
        let (part, after) = rest.split_at(length);
        let after = after.trim_start();
        let next = after.chars().next();
        let text = match first {
            '{' | '[' if matches!(next, Some('}' | ']')) => {
                depth += 1;
                part.to_owned()
            }
            '{' | '[' => {
                depth += 1;
                format!("{part}{}", line(depth))
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                let is_empty = parts.last().is_some_and(|(_, last)| last.ends_with(['{', '[']));
                if is_empty { part.to_owned() } else { format!("{}{part}", line(depth)) }
            }
            ',' => format!(",{}", line(depth)),
            ':' => ": ".to_owned(),
            _ => part.trim_end().to_owned(),
        };
        let kind = match kind {
            TokenKind::Text if next == Some(':') => TokenKind::Name,
            kind => kind,
        };
        match parts.last_mut() {
            Some((TokenKind::Punctuation, last)) if kind == TokenKind::Punctuation => {
                last.push_str(&text);
            }
            _ => parts.push((kind, text)),
        }
        rest = after;
    }
    parts
}

fn line(depth: usize) -> String {
    format!("\n{}", "  ".repeat(depth))
}

/// Returns the length of the string that a valid JSON text begins with, including its quotes.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indented(json: &str) -> String {
        indent(json).into_iter().map(|(_, part)| part).collect()
    }

    #[test]
    fn json_is_indented_in_its_own_order() {
        let json = r#"{"b":1.50,"a":[{},[],"x,\"y:{",null],"c":{"d":true}}"#;
        let expected = "{\n  \"b\": 1.50,\n  \"a\": [\n    {},\n    [],\n    \"x,\\\"y:{\",\n    null\n  ],\n  \"c\": {\n    \"d\": true\n  }\n}";
        assert_eq!(indented(json), expected);
        assert_eq!(indented(expected), expected);
    }

    #[test]
    fn the_value_is_unchanged() {
        for json in [
            "1",
            "\"a\"",
            "[]",
            " [ ] ",
            "{ }",
            "[[],[[1]]]",
            r#"{"":[{"a":[]}]}"#,
            r#"["é\\",-1e5]"#,
        ] {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            let again: serde_json::Value = serde_json::from_str(&indented(json)).unwrap();
            assert_eq!(value, again, "{json}");
        }
    }

    #[test]
    fn html_is_escaped() {
        let shown = body(r#"{"prompt":"<script>alert(1)</script>"}"#).into_string();
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("&lt;script&gt;"), "{shown}");
        assert!(!body("<b>").into_string().contains("<b>"));
    }
}
