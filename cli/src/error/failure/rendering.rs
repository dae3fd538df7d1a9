//! A failure as text for people, and as JSON for programs.

use std::fmt::Display;

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
        let mut lines: Vec<String> = inner.issues.iter().map(|issue| sanitize(issue)).collect();
        // The issues contain the same information as the details.
        let details = inner.details.as_ref().filter(|_| inner.issues.is_empty());
        let details = details.and_then(|details| details_text(details, &inner.message));
        lines.extend(details.map(|details| format!("details: {}", sanitize(&details))));
        for part in &inner.parts {
            lines.push(part.headline());
            lines.extend(part.detail_lines().iter().map(|line| format!("  {line}")));
        }
        for (redacted, origin) in &inner.api_keys {
            lines.push(format!("API key: {redacted} from {}", sanitize(origin)));
        }
        let mut add = |name: &str, value: &dyn Display| {
            lines.push(format!("{name}: {}", sanitize(&value.to_string())));
        };
        inner.next.iter().for_each(|hint| add("next", hint));
        inner.resume.iter().for_each(|command| add("resume with", command));
        inner.resource.iter().for_each(|resource| add(resource.noun(), &resource.id()));
        inner.idempotency_key.iter().for_each(|key| add("idempotency key", key));
        inner.request_id.iter().for_each(|id| add("request id", id));
        lines
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
        let list = |items: Vec<Value>| Some(Value::Array(items)).filter(|it| *it != json!([]));
        let api_keys = inner.api_keys.iter();
        let api_keys = api_keys.map(|(key, origin)| json!({"redacted": key, "origin": origin}));
        put("api_keys", list(api_keys.collect()));
        put("next_action", text(&inner.next_action));
        put("next", list(inner.next.iter().map(|hint| hint.to_string().into()).collect()));
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
