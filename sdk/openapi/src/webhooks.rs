//! The webhook events that the service posts to a `webhook_url`.

use schemars::generate::SchemaGenerator;
use serde_json::{Value, json};
use svc_sdk::types::{WebhookEvent, WebhookEventType};

use crate::{doc_comments, open_sets};

pub(crate) fn describe(generator: &mut SchemaGenerator) -> Value {
    let body = generator.subschema_for::<WebhookEvent>().to_value();
    let header = |name: &str, description: &str| {
        json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": {"type": "string"},
        })
    };
    let events = open_sets::known_values::<WebhookEventType>().into_iter();
    let events = events.map(|(event, comment)| {
        let item = json!({
            "post": {
                "operationId": format!("webhook_{}", event.replace('.', "_")),
                "summary": doc_comments::description(&comment),
                "security": [],
                "parameters": [
                    header("x-svc-webhook-timestamp", "Unix seconds."),
                    header("x-svc-webhook-signature", "`svc-v1=<hex>`; several during a rotation, newest first."),
                    header("x-svc-webhook-secret-fingerprint", "The fingerprint of the newest secret."),
                ],
                "requestBody": {
                    "required": true,
                    "content": {"application/json": {"schema": body}},
                },
                "responses": {"2XX": {"description": "The receiver accepted the event."}},
            },
        });
        (event, item)
    });
    Value::Object(events.collect())
}
