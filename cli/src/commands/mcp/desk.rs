//! What the tools of `svc mcp serve` do: the arguments become requests of the service, within the
//! limits, under keys that are made here and never by a model.

use serde_json::{Map, Value, json};
use svc_sdk::contract::Operation;
use svc_sdk::types::{IdempotencyKey, Usd};
use svc_sdk::{Client, Developer, Open};

use super::ask::{Ask, Refusal};
use super::limits::{Limits, amount_of};
use super::tools::Tool;
use crate::pricing;
use crate::random;

/// Who does the work: a client for each surface that is configured.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) open: Option<Client<Open>>,
    pub(super) developer: Option<Client<Developer>>,
    pub(super) limits: Limits,
}

type Outcome = Result<Value, Refusal>;

impl Desk {
    /// Whether a tool has what it needs here.
    pub(super) fn has(&self, tool: Tool) -> bool {
        match tool {
            Tool::ImageGenerate
            | Tool::VideoGenerate
            | Tool::JobsStatus
            | Tool::JobsResult
            | Tool::ModelsList => true,
            Tool::Estimate => self.open.is_some(),
            Tool::MusicGenerate
            | Tool::FormatRun
            | Tool::AgentCompletion
            | Tool::RunStatus
            | Tool::RunResult
            | Tool::Balance => self.developer.is_some(),
        }
    }

    /// Does what a tool does, and gives its structured content.
    pub(super) async fn perform(&self, tool: Tool, mut arguments: Map<String, Value>) -> Outcome {
        if let Some(name) = arguments.keys().find(|name| !tool.takes(name)) {
            let message = format!("{name} is no argument of {}.", tool.name());
            return Err(Refusal::new("invalid_request", message));
        }
        match tool {
            Tool::ImageGenerate => self.image(arguments).await,
            Tool::VideoGenerate => self.video(arguments).await,
            Tool::MusicGenerate => {
                let operation = Operation::Music1Generate;
                self.unpriced(tool, operation, arguments).await
            }
            Tool::FormatRun => self.format(arguments).await,
            Tool::AgentCompletion => {
                let ceiling = self.ceiling(&mut arguments)?;
                let cap = cap(&mut arguments, None, ceiling)?;
                let operation = Operation::AgentCompletionsCreate;
                self.run(tool, operation, &[], arguments, cap, ceiling)
                    .await
            }
            Tool::JobsStatus => self.job(Operation::JobsStatus, &arguments).await,
            Tool::JobsResult => self.job(Operation::JobsResult, &arguments).await,
            Tool::RunStatus => {
                let operations = [Operation::FormatRunsStatus, Operation::AgentRunsStatus];
                self.run_read(operations, &arguments).await
            }
            Tool::RunResult => {
                let operations = [Operation::FormatRunsResult, Operation::AgentRunsResult];
                self.run_read(operations, &arguments).await
            }
            Tool::Estimate => {
                let body = Value::Object(arguments);
                let ask = Ask {
                    body: Some(&body),
                    ..Ask::read(Operation::OpenEstimate, &[])
                };
                ask.of(self.open()?).await
            }
            Tool::ModelsList => match &self.open {
                Some(open) => {
                    let models = Ask::read(Operation::OpenCatalogList, &[]).of(open).await?;
                    Ok(json!({"models": models}))
                }
                None => {
                    let catalog = Ask::read(Operation::Catalog, &[]);
                    catalog.of(self.developer()?).await
                }
            },
            Tool::Balance => {
                Ask::read(Operation::Balance, &[])
                    .of(self.developer()?)
                    .await
            }
        }
    }

    async fn image(&self, mut arguments: Map<String, Value>) -> Outcome {
        let Some(open) = &self.open else {
            let operation = Operation::Image1Generate;
            return self
                .unpriced(Tool::ImageGenerate, operation, arguments)
                .await;
        };
        if !arguments.contains_key("model") {
            let models = Ask::read(Operation::ImageModelsList, &[]).of(open).await?;
            let first = models
                .pointer("/0/id")
                .or_else(|| models.pointer("/items/0/id"));
            let Some(model) = first.cloned() else {
                let message = "The service lists no image model: say which model.";
                return Err(Refusal::new("invalid_request", message));
            };
            arguments.insert("model".to_owned(), model);
        }
        self.priced(Tool::ImageGenerate, Operation::ImageGenerate, arguments)
            .await
    }

    async fn video(&self, mut arguments: Map<String, Value>) -> Outcome {
        if self.open.is_none() {
            let operation = Operation::Video1Generate;
            return self
                .unpriced(Tool::VideoGenerate, operation, arguments)
                .await;
        }
        arguments.entry("model").or_insert_with(|| json!("auto"));
        self.priced(Tool::VideoGenerate, Operation::VideoGenerate, arguments)
            .await
    }

    /// A submit to the open surface, which tells the price before.
    async fn priced(
        &self,
        tool: Tool,
        operation: Operation,
        mut arguments: Map<String, Value>,
    ) -> Outcome {
        let ceiling = self.ceiling(&mut arguments)?;
        let open = self.open()?;
        let question = serde_json::to_value(pricing::estimate_request(&arguments));
        let question =
            question.map_err(|error| Refusal::new("invalid_request", error.to_string()))?;
        let ask = Ask {
            body: Some(&question),
            ..Ask::read(Operation::OpenEstimate, &[])
        };
        let estimate = ask.of(open).await?;
        let price = estimate.get("price_usd").and_then(Value::as_str);
        let Some(price) = price.and_then(|price| price.parse::<Usd>().ok()) else {
            let message = "The estimate has no price, so no limit could be kept.";
            return Err(Refusal::new("price_unknown", message));
        };
        let body = Value::Object(arguments);
        let what = format!("{} {body}", tool.name());
        let key = self.begin(&what, price, ceiling)?;
        let ask = Ask {
            operation,
            segments: &[],
            body: Some(&body),
            key: Some(&key),
        };
        let receipt = ask.of(open).await;
        self.limits.settle(&what, &key, price, &receipt);
        receipt.map(with_job_id)
    }

    /// A submit to the developer surface, which tells no price.
    async fn unpriced(
        &self,
        tool: Tool,
        operation: Operation,
        mut arguments: Map<String, Value>,
    ) -> Outcome {
        self.ceiling(&mut arguments)?;
        self.limits.unpriced()?;
        arguments.remove("model");
        let body = Value::Object(arguments);
        let what = format!("{} {body}", tool.name());
        let key = self.begin(&what, Usd::ZERO, Usd::ZERO)?;
        let ask = Ask {
            operation,
            segments: &[],
            body: Some(&body),
            key: Some(&key),
        };
        let receipt = ask.of(self.developer()?).await;
        self.limits.settle(&what, &key, Usd::ZERO, &receipt);
        receipt.map(with_job_id)
    }

    async fn format(&self, mut arguments: Map<String, Value>) -> Outcome {
        let ceiling = self.ceiling(&mut arguments)?;
        let name = take_id(&mut arguments, "format_id")?;
        let (get, create, segments) = match name.split_once('/') {
            Some((handle, slug)) => (
                Operation::FormatsBySlugGet,
                Operation::FormatsBySlugRunsCreate,
                vec![handle, slug],
            ),
            None => (
                Operation::FormatsGet,
                Operation::FormatsRunsCreate,
                vec![name.as_str()],
            ),
        };
        // The Format's own cap is lowered to the limit, and never raised to it.
        let format = Ask::read(get, &segments).of(self.developer()?).await?;
        let own = format.get("generation_spend_cap_usd_micros");
        let own = own.and_then(Value::as_i64).map(Usd::from_micros);
        let cap = cap(&mut arguments, own, ceiling)?;
        self.run(Tool::FormatRun, create, &segments, arguments, cap, ceiling)
            .await
    }

    /// Starts a run, which may cost what its cap is.
    async fn run(
        &self,
        tool: Tool,
        operation: Operation,
        segments: &[&str],
        mut arguments: Map<String, Value>,
        cap: Usd,
        ceiling: Usd,
    ) -> Outcome {
        let number: Value = serde_json::from_str(&cap.to_string()).unwrap_or_default();
        arguments.insert("generation_spend_cap_usd".to_owned(), number);
        let body = Value::Object(arguments);
        let what = format!("{} {segments:?} {body}", tool.name());
        let key = self.begin(&what, cap, ceiling)?;
        let ask = Ask {
            operation,
            segments,
            body: Some(&body),
            key: Some(&key),
        };
        let receipt = ask.of(self.developer()?).await;
        self.limits.settle(&what, &key, cap, &receipt);
        receipt
    }

    /// The key of a call that costs so much: the one that it was made under before, where its
    /// outcome is not known, else a fresh one, with the cost set aside.
    fn begin(&self, what: &str, cost: Usd, ceiling: Usd) -> Result<IdempotencyKey, Refusal> {
        if let Some(key) = self.limits.unsettled(what) {
            return Ok(key);
        }
        let key = random::idempotency_key();
        let key = key.map_err(|_| Refusal::new("no_randomness", "No key can be made here."))?;
        self.limits.reserve(cost, ceiling)?;
        Ok(key)
    }

    /// A job may be one of either surface.
    async fn job(&self, operation: Operation, arguments: &Map<String, Value>) -> Outcome {
        let id = id_of(arguments, "job_id")?;
        let segments = [id];
        let ask = Ask::read(operation, &segments);
        match (&self.open, &self.developer) {
            (Some(open), Some(developer)) => match ask.of(open).await {
                Err(refusal) if refusal.code() == "job_not_found" => ask.of(developer).await,
                outcome => outcome,
            },
            (Some(open), None) => ask.of(open).await,
            _ => ask.of(self.developer()?).await,
        }
    }

    /// A run may be one of a Format or of the agent.
    async fn run_read(
        &self,
        [format, agent]: [Operation; 2],
        arguments: &Map<String, Value>,
    ) -> Outcome {
        let id = id_of(arguments, "run_id")?;
        let segments = [id];
        let developer = self.developer()?;
        let (format, agent) = (Ask::read(format, &segments), Ask::read(agent, &segments));
        match arguments.get("kind").and_then(Value::as_str) {
            Some("format") => format.of(developer).await,
            Some("agent") => agent.of(developer).await,
            Some(_) => Err(Refusal::new("invalid_request", "kind is format or agent.")),
            None => match format.of(developer).await {
                // A key for the agent alone may not read Formats.
                Err(refusal)
                    if matches!(
                        refusal.code(),
                        "format_run_not_found" | "insufficient_scope"
                    ) =>
                {
                    agent.of(developer).await
                }
                outcome => outcome,
            },
        }
    }

    fn ceiling(&self, arguments: &mut Map<String, Value>) -> Result<Usd, Refusal> {
        self.limits
            .ceiling(arguments.remove("max_spend_usd").as_ref())
    }

    fn open(&self) -> Result<&Client<Open>, Refusal> {
        let missing = || Refusal::new("not_configured", "The open surface is not configured.");
        self.open.as_ref().ok_or_else(missing)
    }

    fn developer(&self) -> Result<&Client<Developer>, Refusal> {
        let missing = || Refusal::new("not_configured", "The developer surface is not configured.");
        self.developer.as_ref().ok_or_else(missing)
    }
}

/// What a run may spend: what the call says, else its limit, or what the Format says if that is
/// less.
fn cap(arguments: &mut Map<String, Value>, own: Option<Usd>, ceiling: Usd) -> Result<Usd, Refusal> {
    let cap = match arguments.remove("generation_spend_cap_usd") {
        Some(said) => amount_of(&said),
        None => Some(own.map_or(ceiling, |own| own.min(ceiling))),
    };
    cap.filter(|cap| *cap > Usd::ZERO).ok_or_else(|| {
        let text = "generation_spend_cap_usd must be a number of dollars above 0";
        Refusal::new("invalid_request", text)
    })
}

fn id_of<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, Refusal> {
    let id = arguments.get(name).and_then(Value::as_str);
    id.ok_or_else(|| Refusal::new("invalid_request", format!("{name} is required, a string.")))
}

fn take_id(arguments: &mut Map<String, Value>, name: &str) -> Result<String, Refusal> {
    let id = id_of(arguments, name)?.to_owned();
    arguments.remove(name);
    Ok(id)
}

fn with_job_id(mut receipt: Value) -> Value {
    let id = receipt.pointer("/job/id").cloned().unwrap_or_default();
    if let Some(fields) = receipt.as_object_mut() {
        fields.insert("job_id".to_owned(), id);
    }
    receipt
}
