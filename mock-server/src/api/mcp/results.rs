//! Results of tool calls.

use serde_json::{Value, json};

/// Returns the result of a successful call: structured content, the same as text for clients that
/// do not support it, and a link for each file.
pub(super) fn success(structured: Value) -> Value {
    let mut content = vec![text(&structured)];
    content.extend(links(&structured));
    json!({"content": content, "structuredContent": structured, "isError": false})
}

/// Returns the result of a failed call: the error envelope as text. It has no structured content,
/// because clients validate that against the output schema even for errors.
pub(super) fn error(envelope: &Value) -> Value {
    json!({"content": [text(envelope)], "isError": true})
}

fn text(value: &Value) -> Value {
    json!({"type": "text", "text": value.to_string()})
}

fn links(structured: &Value) -> Vec<Value> {
    let artifacts = structured.get("artifacts").and_then(Value::as_array);
    let link = |artifact: &Value| {
        let url = artifact.get("url")?.as_str()?;
        Some(json!({
            "type": "resource_link",
            "uri": url,
            "name": artifact.get("id")?,
            "mimeType": artifact.get("content_type")?,
        }))
    };
    artifacts.into_iter().flatten().filter_map(link).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_linked() {
        let artifact = json!({"id": "art_1", "url": "https://media.example/a.png", "media_type": "image", "content_type": "image/png"});
        let result = success(json!({"artifacts": [artifact]}));
        assert_eq!(
            result["content"][1],
            json!({"type": "resource_link", "uri": "https://media.example/a.png", "name": "art_1", "mimeType": "image/png"})
        );
        let text_content: Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text_content, result["structuredContent"]);
    }

    #[test]
    fn errors_are_text_only() {
        let envelope = json!({"error": {"code": "rate_limited"}});
        let result = error(&envelope);
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], envelope.to_string());
        assert!(result.get("structuredContent").is_none());
    }
}
