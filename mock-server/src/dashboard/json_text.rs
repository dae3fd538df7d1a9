//! JSON for reading: indented, with its names, texts and numbers marked.
//!
//! The text is formatted as it was sent, without parsing it into values, so that the order of
//! fields and the spelling of numbers remain.

use maud::{Markup, PreEscaped, html};
use serde::de::IgnoredAny;

/// Returns a body as it is to be shown: indented if it is JSON, and as it is otherwise.
pub(super) fn body(text: &str) -> Markup {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => indent(text.trim()),
        Err(_) => html! { (text) },
    }
}

fn indent(json: &str) -> Markup {
    let mut shown = String::new();
    let mut rest = json;
    let mut depth = 0_usize;
    let mut is_empty = false;
    while !rest.is_empty() {
        let (token, after) = rest.split_at(token_length(rest));
        rest = after.trim_start();
        match token {
            "{" | "[" => {
                depth += 1;
                shown.push_str(token);
                is_empty = rest.starts_with(['}', ']']);
                if !is_empty {
                    break_line(&mut shown, depth);
                }
            }
            "}" | "]" => {
                depth = depth.saturating_sub(1);
                if !is_empty {
                    break_line(&mut shown, depth);
                }
                is_empty = false;
                shown.push_str(token);
            }
            "," => {
                shown.push(',');
                break_line(&mut shown, depth);
            }
            ":" => shown.push_str(": "),
            token => {
                let class = match token.starts_with('"') {
                    true if rest.starts_with(':') => "json-name",
                    true => "json-text",
                    false => "json-literal",
                };
                shown.push_str(&html! { span class=(class) { (token.trim_end()) } }.into_string());
            }
        }
    }
    PreEscaped(shown)
}

fn break_line(shown: &mut String, depth: usize) {
    shown.push('\n');
    shown.push_str(&"  ".repeat(depth));
}

/// Returns the length of the token that a valid JSON text begins with: a string with its quotes, a
/// punctuation mark or a literal.
fn token_length(text: &str) -> usize {
    if text.starts_with(['{', '}', '[', ']', ',', ':']) {
        return 1;
    }
    if !text.starts_with('"') {
        return text.find([',', '}', ']', ':']).unwrap_or(text.len());
    }
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text that a reader sees.
    fn indented(json: &str) -> String {
        let mut shown = body(json).into_string().replace("</span>", "");
        for class in ["name", "text", "literal"] {
            shown = shown.replace(&format!("<span class=\"json-{class}\">"), "");
        }
        shown.replace("&quot;", "\"")
    }

    #[test]
    fn json_is_indented_in_its_own_order() {
        let json = r#"{"b":1.50,"a":[{},[],"x,\"y:{",null],"c":{"d":true}}"#;
        let expected = "{\n  \"b\": 1.50,\n  \"a\": [\n    {},\n    [],\n    \"x,\\\"y:{\",\n    null\n  ],\n  \"c\": {\n    \"d\": true\n  }\n}";
        assert_eq!(indented(json), expected);
        assert_eq!(indented(expected), expected);
        for json in ["1", "\"a\"", " [ ] ", "[[],[[1]]]", r#"{"":[{"a":[]}]}"#, r#"["é\\",-1e5]"#]
        {
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            assert_eq!(serde_json::from_str::<serde_json::Value>(&indented(json)).unwrap(), value);
        }
    }

    #[test]
    fn html_is_escaped() {
        let shown = body(r#"{"prompt":"<script>alert(1)</script>"}"#).into_string();
        assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script"), "{shown}");
        assert!(!body("<b>").into_string().contains("<b>"));
    }
}
