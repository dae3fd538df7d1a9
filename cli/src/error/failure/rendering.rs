//! A failure as text for people, and as JSON for programs.

use serde_json::{Map, Value, json};

use crate::error::failure::Failure;
use crate::text::sanitize;

impl Failure {
    pub(crate) fn headline(&self) -> String {
        let inner = &*self.0;
        let mut line = match &inner.context {
            Some(context) => format!("{context}: {}", sanitize(&inner.message)),
            None => sanitize(&inner.message),
        };
        if let Some(code) = &inner.code
            && !inner.message.contains(code.as_str())
        {
            line.push_str(&format!(" ({})", sanitize(code)));
        }
        line
    }

    /// Returns the lines below the headline.
    pub(crate) fn detail_lines(&self) -> Vec<String> {
        let inner = &*self.0;
        let named = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name}: {}", sanitize(value)))
        };
        // The issues contain the same information as the details.
        let details = inner
            .details
            .as_ref()
            .filter(|_| inner.issues.is_empty())
            .and_then(|details| details_text(details, &inner.message))
            .map(|details| format!("details: {}", sanitize(&details)));
        let resume = inner.resume.as_ref().map(|command| format!("resume with: {command}"));
        let resource = inner
            .resource
            .as_ref()
            .map(|resource| format!("{}: {}", resource.noun(), sanitize(resource.id())));
        let issues = inner.issues.iter().map(|issue| sanitize(issue));
        let parts = inner.parts.iter().flat_map(|part| {
            let lines = part.detail_lines();
            let lines = lines.into_iter().map(|line| format!("  {line}"));
            std::iter::once(part.headline()).chain(lines)
        });
        let api_keys = inner
            .api_keys
            .iter()
            .map(|(redacted, origin)| format!("API key: {redacted} from {}", sanitize(origin)));
        issues
            .chain(details)
            .chain(parts)
            .chain(api_keys)
            .chain(inner.next.iter().map(|hint| format!("next: {}", sanitize(&hint.to_string()))))
            .chain(resume)
            .chain(resource)
            .chain(named("idempotency key", &inner.idempotency_key))
            .chain(named("request id", &inner.request_id))
            .collect()
    }

    pub(crate) fn to_json(&self) -> Value {
        Value::Object(Map::from_iter([("error".to_owned(), self.error_json())]))
    }

    fn error_json(&self) -> Value {
        let inner = &*self.0;
        let mut error = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                error.insert(name.to_owned(), value);
            }
        };
        let text = |value: &Option<String>| value.clone().map(Value::from);
        put("code", Some(self.json_code().into()));
        let message = match &inner.context {
            Some(context) => format!("{context}: {}", inner.message),
            None => inner.message.clone(),
        };
        put("message", Some(message.into()));
        put("status", inner.status.map(Value::from));
        put("request_id", text(&inner.request_id));
        put("details", self.details_json());
        put("files", inner.files.clone());
        let api_keys = inner
            .api_keys
            .iter()
            .map(|(redacted, origin)| json!({"redacted": redacted, "origin": origin}));
        put("api_keys", Some(api_keys.collect()).filter(|_| !inner.api_keys.is_empty()));
        put("next_action", text(&inner.next_action));
        put(
            "next",
            Some(inner.next.iter().map(ToString::to_string).collect())
                .filter(|_| !inner.next.is_empty()),
        );
        if let Some(resource) = &inner.resource {
            put(resource.field(), Some(resource.id().into()));
        }
        put("idempotency_key", text(&inner.idempotency_key));
        put("resume", inner.resume.as_ref().map(|command| command.to_string().into()));
        put("exit_code", Some(inner.exit.code().into()));
        Value::Object(error)
    }

    /// Returns the service's details or else the issues, with the errors of the parts.
    fn details_json(&self) -> Option<Value> {
        let inner = &*self.0;
        let issues =
            || Some(json!({ "issues": inner.issues })).filter(|_| !inner.issues.is_empty());
        let details = inner.details.clone().or_else(issues);
        if inner.parts.is_empty() {
            return details;
        }
        let mut details = details.unwrap_or_else(|| json!({}));
        let errors = inner.parts.iter().map(Self::error_json);
        if let Some(members) = details.as_object_mut() {
            members.insert("errors".to_owned(), errors.collect());
        }
        Some(details)
    }
}

/// Returns the details as text, without a field that the message names.
fn details_text(details: &Value, message: &str) -> Option<String> {
    let Some(members) = details.as_object() else { return Some(details.to_string()) };
    let is_named = |name: &str, value: &Value| {
        let words = value.as_str().map(|field| field.replace('_', "-"));
        name == "field" && words.is_some_and(|words| message.replace('_', "-").contains(&words))
    };
    let members = members.iter().filter(|(name, value)| !is_named(name, value));
    let texts: Vec<_> = members
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name}: {text}"),
            other => format!("{name}: {other}"),
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}
