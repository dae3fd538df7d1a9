//! The OpenAPI document and the mock agree about requests: what a generator makes of the document is
//! accepted, and what the document forbids is refused.
//!
//! Fields under a rule that a schema does not state (`x-svc-rules`) have values that keep it.

use std::collections::BTreeSet;

use fastrand::Rng;
use jsonschema::{Draft, Validator};

use super::*;

/// The number of bodies of each operation that must be accepted.
const ACCEPTED_BODIES: usize = 12;
/// The number of bodies of each operation that are changed in all ways.
const CHANGED_BODIES: usize = 1;
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
/// The operations whose `avatar_handle` must not be in use.
const NEW_AVATARS: [&str; 3] =
    ["avatar_generate", "alias_avatar_1_0_generate", "alias_avatar_v1_0"];

/// An operation of the document with a request body.
struct Described {
    name: String,
    client: Client,
    path: String,
    schema: Value,
    validator: Validator,
}

/// What the bodies of an operation are made of.
struct Bodies<'d> {
    document: &'d Value,
    operation: String,
    asset: String,
    random: Rng,
}

impl Bodies<'_> {
    /// Returns a value that keeps the rules that the schema does not state; `None` if the schema
    /// suffices. `Null` leaves the field out.
    fn ruled(&mut self, name: &str) -> Option<Value> {
        let operation = self.operation.as_str();
        Some(match name {
            "model" => match operation {
                "video_generate" | "open_estimate" => json!("video-l"),
                _ => json!("image-i"),
            },
            "resolution" => json!("1080p"),
            "aspect_ratio" => json!("16:9"),
            "duration" => json!(5 + self.random.u64(..20)),
            // The model that is used makes videos, and has no video and no sound as its input.
            "num_images" | "video_url" | "audio_url" if operation == "open_estimate" => Value::Null,
            "video_url" | "audio_url" if operation == "video_generate" => Value::Null,
            "num_images" => json!(1),
            name if name.ends_with("video_url") => json!("https://cdn.example.com/a.mp4"),
            "reference_video_urls" => json!(["https://cdn.example.com/a.mp4"]),
            "reference_image_urls" => json!(["https://cdn.example.com/a.png"]),
            "webhook_url" => json!("https://hooks.example.com/in"),
            name if name.ends_with("_url") || ["url", "photo"].contains(&name) => {
                json!("https://cdn.example.com/a.png")
            }
            "avatar_handle" if NEW_AVATARS.contains(&operation) => {
                json!(format!("{}-{}", operation.replace('_', "-"), self.random.u64(..1 << 40)))
            }
            "avatar_handle" => json!("ada"),
            "previous_run_id" => Value::Null,
            "asset_id" => json!(self.asset),
            "output_schema" | "schema" => {
                json!({"type": "object", "properties": {"title": {"type": "string"}}})
            }
            "language" => json!("pt-BR"),
            "mood" | "category" => Value::Null,
            _ => return None,
        })
    }

    fn choose(&mut self, values: &[Value]) -> Value {
        self.random.choice(values).cloned().unwrap()
    }

    /// Makes a value of a schema, which need not match what the schema says of several fields.
    fn value(&mut self, schema: &Value) -> Value {
        if let Some(reference) = schema["$ref"].as_str() {
            let document = self.document;
            return self.value(document.pointer(&reference[1..]).unwrap());
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let choices = schema.get("enum").or(schema.get("anyOf")).and_then(Value::as_array);
        if let Some(choices) = choices.filter(|_| schema.get("properties").is_none()) {
            let chosen = self.choose(choices);
            return if chosen.is_object() { self.value(&chosen) } else { chosen };
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.choose(kinds),
            kind => kind.clone(),
        };
        let bound = |name: &str| schema[name].as_f64();
        match kind.as_str().unwrap_or_default() {
            "object" => self.object(schema),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or_default();
                let count = least + self.random.u64(..2);
                (0..count).map(|_| self.value(&schema["items"])).collect()
            }
            "boolean" => json!(self.random.bool()),
            "integer" => {
                let least = schema["minimum"].as_u64().unwrap_or_default();
                let most = schema["maximum"].as_u64().unwrap_or(least + 9);
                let middle = self.random.u64(least..=most);
                self.choose(&[least, middle, most].map(Value::from))
            }
            "number" => {
                let bounds = [bound("minimum").unwrap(), bound("maximum").unwrap(), 1.5];
                self.choose(&bounds.map(Value::from))
            }
            "string" => self.choose(&["a", "a red fox", " ü "].map(Value::from)),
            _ => Value::Null,
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let Some(properties) = schema["properties"].as_object() else { return json!({"a": 1}) };
        let is_required = |name: &str| {
            schema["required"]
                .as_array()
                .is_some_and(|required| required.iter().any(|it| it == name))
        };
        let mut object = json!({});
        for (name, property) in properties {
            // The model that is used needs a prompt.
            let uses_model = ["video_generate", "open_estimate"].contains(&self.operation.as_str());
            let is_needed = name == "prompt" && uses_model;
            if is_required(name) || is_needed || self.random.bool() {
                let value = self.ruled(name);
                let value = value.unwrap_or_else(|| self.value(property));
                let may_be_null = property["type"].is_array();
                if !value.is_null() || may_be_null {
                    object[name] = value;
                }
            }
        }
        if object["mode"] == "sync" || object["mode"] == "subscribe" {
            // The clock stands still, so that a longer wait does not end.
            object["wait_timeout_seconds"] = json!(0);
        }
        let outer = object.clone();
        if let Some(inner) = object.get_mut("communication").and_then(Value::as_object_mut) {
            inner.retain(|name, value| outer.get(name).is_none_or(|outer| *outer == *value));
        }
        object
    }

    /// Makes a body that matches the schema.
    fn body(&mut self, described: &Described) -> Value {
        let mut bodies = std::iter::repeat_with(|| self.value(&described.schema)).take(10_000);
        let valid = bodies.find(|body| described.validator.is_valid(body));
        valid.unwrap_or_else(|| panic!("{} has no valid body", described.name))
    }
}

/// Returns the body with one value replaced, removed or added, in each place and way.
fn changed(body: &Value) -> Vec<Value> {
    let others = json!([
        null, true, -1, 0, 0.5, 1e9, "", " ", "x y", "http://cdn.example.com/a.png", [], ["x"], {},
        {"x_unknown": 1}
    ]);
    let mut bodies = others.as_array().unwrap().clone();
    match body {
        Value::Object(fields) => {
            for (name, value) in fields {
                let mut without = body.clone();
                without.as_object_mut().unwrap().remove(name);
                bodies.push(without);
                for value in changed(value) {
                    bodies.push(with(body.clone(), json!({name: value})));
                }
            }
            let added = json!([
                {"x_unknown": 1},
                {"mode": "webhook"},
                {"mode": "async"},
                {"webhook_url": "https://hooks.example.com/in"},
                {"script": "Hi."},
                {"video_inputs": [{"script": "Hi."}]},
                {"end_image_url": "https://cdn.example.com/a.png"},
                {"url": "https://cdn.example.com/a.png"},
                {"json_schema": {"schema": {"type": "object"}}},
                {"response_format": {"type": "text"}},
            ]);
            let added = added.as_array().unwrap().iter();
            bodies.extend(added.map(|fields| with(body.clone(), fields.clone())));
        }
        Value::Array(items) => {
            bodies.push(items.iter().cycle().take(101 * items.len()).cloned().collect());
            for (index, item) in items.iter().enumerate() {
                for value in changed(item) {
                    let mut items = items.clone();
                    items[index] = value;
                    bodies.push(items.into());
                }
            }
        }
        _ => {}
    }
    bodies
}

/// Returns the operations with a request body, on paths that lead to what exists.
async fn operations(mock: &Mock, document: &Value) -> Vec<Described> {
    let started = async |line: &str, id: &str| {
        let receipt = request(mock, line).await.expect(202).data();
        text(receipt.pointer(id).unwrap())
    };
    let stuck = r#"{"instruction": "[mock:stuck]"}"#;
    let job = started(r#"developer music {"prompt": "[mock:stuck]"}"#, "/job/id").await;
    let run = started(&format!("developer run:format {stuck}"), "/run_id").await;
    let action_run = started(&format!("developer run:action {stuck}"), "/run_id").await;
    let agent_run = started(&format!("developer run:agent {stuck}"), "/run_id").await;
    let preview = started("developer preview", "/preview/id").await;
    mock.advance(100).await;
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() || path == "/mcp" {
                continue;
            }
            let id = match path.split('/').nth(2).unwrap() {
                "jobs" => &job,
                "format-runs" => &run,
                "action-runs" => &action_run,
                "agent-runs" => &agent_run,
                "avatar-video-previews" => &preview,
                _ => "",
            };
            let mut path = path.clone();
            for parameter in operation["parameters"].as_array().unwrap() {
                let example = parameter["example"].as_str().unwrap_or_default();
                let value = if id.is_empty() { example } else { id };
                path = path.replace(&format!("{{{}}}", text(&parameter["name"])), value);
            }
            let whole = with(schema.clone(), json!({"components": document["components"]}));
            let options = jsonschema::options().with_draft(Draft::Draft202012);
            found.push(Described {
                name: text(&operation["operationId"]),
                client: match operation["tags"][0] == "open" {
                    true => mock.open(),
                    false => mock.developer(),
                },
                path,
                schema: schema.clone(),
                validator: options.should_validate_formats(true).build(&whole).unwrap(),
            });
        }
    }
    found
}

/// Sends a body, again if the rate limit has to be waited for.
async fn send(mock: &Mock, described: &Described, body: &Value) -> Response {
    loop {
        let sent = described.client.post(&described.path, body.clone());
        let response = tokio::time::timeout(TIMEOUT, sent).await;
        let response = response.unwrap_or_else(|_| panic!("{} waits: {body}", described.name));
        if response.status() != 429 {
            return response;
        }
        mock.advance(60).await;
    }
}

#[tokio::test]
async fn bodies_are_accepted_as_the_document_says() {
    let mock = Mock::start(FrontendKind::InProcess, "plan=enterprise balance=10000000").await;
    let document = mock.developer().get_json("/v1/openapi.json").await;
    let asset = json!({"workspace": "ws_demo", "content_type": "image/png", "bytes": 10});
    let asset = mock.control().post("/assets", asset).await.expect_success().json();
    let mut wrong = BTreeSet::new();
    let operations = operations(&mock, &document).await;
    assert!(operations.len() > 30, "{}", operations.len());
    for described in &operations {
        let mut bodies = Bodies {
            document: &document,
            operation: described.name.clone(),
            asset: text(&asset["asset_id"]),
            random: Rng::with_seed(7),
        };
        for number in 0..ACCEPTED_BODIES {
            let body = bodies.body(described);
            let response = send(&mock, described, &body).await;
            if matches!(response.status(), 400 | 413 | 415 | 500..) {
                wrong.insert(format!("{} refuses {body}: {response:?}", described.name));
            }
            mock.advance(100).await;
            if number >= CHANGED_BODIES {
                continue;
            }
            for changed in changed(&body) {
                if described.validator.is_valid(&changed) {
                    continue;
                }
                let response = send(&mock, described, &changed).await;
                if response.status() != 400 {
                    let status = response.status();
                    wrong.insert(format!("{} answers {status} to {changed}", described.name));
                }
            }
        }
    }
    let shown: Vec<_> = wrong.iter().take(40).collect();
    assert!(wrong.is_empty(), "{} disagreements, such as {shown:#?}", wrong.len());
}

#[tokio::test]
async fn query_parameters_are_accepted_as_the_document_says() {
    let mock = Mock::start(FrontendKind::InProcess, "plan=enterprise").await;
    let document = mock.developer().get_json("/v1/openapi.json").await;
    let mut checked = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        let Some(operation) = item.get("get") else { continue };
        let parameters = operation["parameters"].as_array().unwrap();
        let mut path = path.clone();
        for parameter in parameters {
            let example = parameter["example"].as_str().unwrap_or_default();
            path = path.replace(&format!("{{{}}}", text(&parameter["name"])), example);
        }
        for parameter in parameters.iter().filter(|it| it["in"] == "query") {
            let schema = &parameter["schema"];
            let schema = match schema["$ref"].as_str() {
                Some(reference) => document.pointer(&reference[1..]).unwrap(),
                None => schema,
            };
            let name = text(&parameter["name"]);
            let values: Vec<String> = match schema["enum"].as_array() {
                Some(values) => values.iter().map(text).collect(),
                None if name == "limit" => vec!["1".to_owned(), "1000".to_owned()],
                None => continue,
            };
            for (value, status) in values.iter().map(|it| (it.as_str(), 200)).chain([("0", 400)]) {
                mock.advance(1).await;
                mock.developer().get(&format!("{path}?{name}={value}")).await.expect(status);
                checked += 1;
            }
        }
    }
    assert!(checked > 40, "{checked}");
}
