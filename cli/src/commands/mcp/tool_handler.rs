//! The implementation of the tools of `svc mcp serve`.
//!
//! Arguments become requests to the service, within the spend limits. Idempotency keys are generated
//! here, never by the model.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use svc_sdk::contract::{Operation, Surface};
use svc_sdk::handle::{AgentRun, FormatRun, Handle, JobResource};
use svc_sdk::types::{FormatRef, IdempotencyKey, Usd};
use svc_sdk::{Client, ClientSurface, Developer, Error, ErrorKind, Open};

use super::error::ToolError;
use super::spend_limits::{SpendLimits, amount_of};
use crate::error::Exit;
use crate::follow::ResourceKind;
use crate::journal::Submissions;
use crate::request::SubmitRequest;
use crate::request::body::run::{self as run_body, usd_number};
use crate::request::body::{RequestBody, has_content, has_input};
use crate::request::pricing::{EstimateSource, Price};
use crate::session::Access;
use crate::submit::payment::{PaidRequest, Payment, prepare};

#[derive(Debug)]
pub(super) struct ToolHandler {
    pub(super) open: Option<Access<Open>>,
    pub(super) developer: Option<Access<Developer>>,
    /// The folder of the journal, unless calls are not recorded.
    pub(super) state_dir: Option<PathBuf>,
    pub(super) limits: SpendLimits,
    pub(super) tools: Vec<Value>,
}

type ToolResult = Result<Value, ToolError>;

/// What to do about a call whose outcome is unknown, and that cannot be sent again.
const ASK_USER: &str = "ask the user to check whether it was executed";
const MAX_PRICE: &str = "max_price";
/// The argument of a run that limits its spending, and the field of the request.
const CAP: &str = "cap";
const CAP_FIELD: &str = "generation_spend_cap_usd";
const EARLIER_NAMES: [(&str, &str); 2] = [("max_spend_usd", MAX_PRICE), (CAP_FIELD, CAP)];

impl ToolHandler {
    pub(super) fn is_available(&self, tool: &str) -> bool {
        match tool {
            "image_generate" | "video_generate" | "jobs_status" | "jobs_result" | "models_list" => {
                true
            }
            "estimate" => self.open.is_some(),
            _ => self.developer.is_some(),
        }
    }

    pub(super) async fn call(&self, tool: &Value, mut arguments: Map<String, Value>) -> ToolResult {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let schema = tool.get("inputSchema");
        let properties = schema.and_then(|schema| schema.get("properties"));
        let is_known = |name: &str| properties.is_some_and(|known| known.get(name).is_some());
        for (earlier, name) in EARLIER_NAMES.into_iter().filter(|(_, name)| is_known(name)) {
            if let Some(value) = arguments.remove(earlier)
                && arguments.insert(name.to_owned(), value).is_some()
            {
                return Err(invalid(format!(
                    "`{earlier}` is the earlier name of `{name}`: pass one of them"
                )));
            }
        }
        if let Some(unknown) = arguments.keys().find(|name| !is_known(name)) {
            return Err(invalid(format!("unknown argument `{unknown}` of {name}")));
        }
        let required = schema.and_then(|schema| schema.get("required")?.as_array());
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        let is_missing = |name: &&str| !arguments.get(*name).is_some_and(has_content);
        if let Some(missing) = required.find(is_missing) {
            let empty =
                if arguments.contains_key(missing) { ", and must not be empty" } else { "" };
            return Err(invalid(format!("{missing} is required{empty}")));
        }
        use Operation as Op;
        match name {
            "image_generate" => self.image(arguments).await,
            "video_generate" => self.video(arguments).await,
            "music_generate" => {
                self.job(self.developer()?, "music track", Op::Music1Generate, arguments).await
            }
            "format_run" => self.format_run(arguments).await,
            "agent_completion" => self.agent_run(arguments).await,
            "jobs_status" => self.read_job(Op::JobsStatus, &arguments).await,
            "jobs_result" => self.read_job(Op::JobsResult, &arguments).await,
            "run_status" => {
                self.read_run([Op::FormatRunsStatus, Op::AgentRunsStatus], &arguments).await
            }
            "run_result" => {
                self.read_run([Op::FormatRunsResult, Op::AgentRunsResult], &arguments).await
            }
            "estimate" => {
                let client = &self.open()?.client;
                read(client, Op::OpenEstimate, &[], Some(&Value::Object(arguments))).await
            }
            "models_list" => match &self.open {
                Some(open) => {
                    let models = read(&open.client, Op::OpenCatalogList, &[], None).await?;
                    Ok(json!({ "models": models }))
                }
                None => read(&self.developer()?.client, Op::Catalog, &[], None).await,
            },
            "balance" => read(&self.developer()?.client, Op::Balance, &[], None).await,
            _ => Err(invalid(format!("unknown tool `{name}`"))),
        }
    }

    async fn image(&self, mut arguments: Map<String, Value>) -> ToolResult {
        let Some(open) = &self.open else {
            let operation = Operation::Image1Generate;
            return self.job(self.developer()?, "image", operation, arguments).await;
        };
        if !arguments.contains_key("model") {
            let models = read(&open.client, Operation::ImageModelsList, &[], None).await?;
            let first = models.pointer("/0/id").or_else(|| models.pointer("/items/0/id"));
            let Some(model) = first.cloned() else {
                let why = "model is required: the service does not list any image models";
                return Err(invalid(why));
            };
            arguments.insert("model".to_owned(), model);
        }
        self.job(open, "image", Operation::ImageGenerate, arguments).await
    }

    async fn video(&self, mut arguments: Map<String, Value>) -> ToolResult {
        // A video of nothing in particular would be paid for as well.
        if !has_input(&arguments) {
            return Err(invalid(
                "the video has no input: pass prompt, image_url, video_url, audio_url, \
                 reference_image_urls or reference_video_urls",
            ));
        }
        let Some(open) = &self.open else {
            let operation = Operation::Video1Generate;
            return self.job(self.developer()?, "video", operation, arguments).await;
        };
        arguments.entry("model").or_insert_with(|| json!("auto"));
        self.job(open, "video", Operation::VideoGenerate, arguments).await
    }

    /// Submits a job. On the developer surface its price is unknown in advance.
    async fn job<S: EstimateSource>(
        &self,
        access: &Access<S>,
        noun: &'static str,
        operation: Operation,
        mut arguments: Map<String, Value>,
    ) -> ToolResult {
        let spend_limit = self.spend_limit(&mut arguments)?;
        if S::SURFACE == Surface::Developer {
            arguments.remove("model");
        }
        let body = RequestBody::from_fields(arguments).finish()?;
        let request = SubmitRequest::new(noun, operation, body);
        self.submit::<JobResource<S>>(access, &request, spend_limit).await
    }

    async fn format_run(&self, mut arguments: Map<String, Value>) -> ToolResult {
        let spend_limit = self.spend_limit(&mut arguments)?;
        let access = self.developer()?;
        let format = FormatRef::from(id_of(&arguments, "format_id")?.to_owned());
        arguments.remove("format_id");
        run_body::validate_format(&arguments)?;
        let (get, segments) =
            format.select_operation(Operation::FormatsGet, Operation::FormatsBySlugGet);
        // The limit can lower the Format's own cap, but not raise it.
        let found = read(&access.client, get, &segments, None).await?;
        let default_cap = found.get("generation_spend_cap_usd_micros");
        let default_cap = default_cap.and_then(Value::as_i64).map(Usd::from_micros);
        set_cap(&mut arguments, default_cap, spend_limit)?;
        let (operation, segments) = format
            .select_operation(Operation::FormatsRunsCreate, Operation::FormatsBySlugRunsCreate);
        let request = SubmitRequest {
            noun: "Format run",
            operation,
            segments: segments.into_iter().map(str::to_owned).collect(),
            body: arguments,
        };
        self.submit::<FormatRun>(access, &request, spend_limit).await
    }

    async fn agent_run(&self, mut arguments: Map<String, Value>) -> ToolResult {
        let spend_limit = self.spend_limit(&mut arguments)?;
        set_cap(&mut arguments, None, spend_limit)?;
        let operation = Operation::AgentCompletionsCreate;
        let request = SubmitRequest::new("agent run", operation, arguments);
        let access = self.developer()?;
        self.submit::<AgentRun>(access, &request, spend_limit).await
    }

    /// Submits a request within the limits, through the journal.
    ///
    /// As long as the outcome of a call is unknown, repeating the same call reuses its key. The journal
    /// is closed after each call, so that another process can take over what it left open.
    async fn submit<R: ResourceKind>(
        &self,
        access: &Access<R::Surface>,
        request: &SubmitRequest,
        spend_limit: Usd,
    ) -> ToolResult {
        let paid =
            PaidRequest { max_price: Some(spend_limit), ..PaidRequest::new(access, request) };
        let journal = match &self.state_dir {
            Some(state_dir) => Some(Submissions::create(state_dir).await?),
            None => None,
        };
        let payment = Payment::new(paid, journal, false, Vec::new()).await;
        let payment = payment.map_err(|failure| {
            let is_unknown = failure.exit() == Exit::Ambiguous;
            let error = ToolError::from(failure);
            if is_unknown { error.with("next", json!(ASK_USER)) } else { error }
        })?;
        let is_submitted = payment.submitted().is_some();
        let price = match is_submitted {
            true => Price::Unknown,
            false => R::price(&access.client, request).await?,
        };
        let client = access.client.with_account(access.key_fingerprint.as_str());
        let (call, key) = prepare::<R>(&client, request, None)?;
        let estimate = price.estimate().map(|it| it.price_usd);
        let (call, key) = payment.record(call, key, estimate);
        if !is_submitted {
            self.limits.reserve(&key, self.cost(&price)?, spend_limit)?;
        }
        match call.await {
            Ok(resource) => {
                self.limits.capture(&key);
                tool_result(&resource).await
            }
            Err(error) => Err(self.failed(&payment, &key, error).await),
        }
    }

    async fn failed(&self, payment: &Payment<'_>, key: &IdempotencyKey, error: Error) -> ToolError {
        // A receipt without a readable id was charged.
        let was_accepted = error.kind() == ErrorKind::InvalidResponse;
        if !error.is_ambiguous() && !was_accepted {
            self.limits.release(key);
        }
        let tool_error = error.journal().is_none().then(|| ToolError::from(&error));
        let failure = payment.failure(error);
        let next = match failure.exit() {
            Exit::Ambiguous if payment.can_repeat().await => Some(
                "the outcome is unknown: repeat exactly the same call, which is not charged twice",
            ),
            Exit::Ambiguous => Some(ASK_USER),
            _ if was_accepted => Some(ASK_USER),
            _ => None,
        };
        let tool_error = tool_error.unwrap_or_else(|| ToolError::from(failure));
        match next {
            Some(next) => tool_error.with("next", json!(next)),
            None => tool_error,
        }
    }

    /// Returns the maximum cost of a call, or zero for an unknown price if such calls are allowed.
    fn cost(&self, price: &Price) -> Result<Usd, ToolError> {
        match price.upper_bound() {
            Some(cost) => Ok(cost),
            None => self.limits.check_unpriced().map(|()| Usd::ZERO),
        }
    }

    async fn read_job(&self, operation: Operation, arguments: &Map<String, Value>) -> ToolResult {
        let id = [id_of(arguments, "job_id")?];
        if let Some(open) = &self.open {
            match read(&open.client, operation, &id, None).await {
                Err(error) if error.code() == "job_not_found" && self.developer.is_some() => {}
                result => return result,
            }
        }
        read(&self.developer()?.client, operation, &id, None).await
    }

    async fn read_run(
        &self,
        [format, agent]: [Operation; 2],
        arguments: &Map<String, Value>,
    ) -> ToolResult {
        let id = [id_of(arguments, "run_id")?];
        let client = &self.developer()?.client;
        match arguments.get("kind").and_then(Value::as_str) {
            Some("format") => read(client, format, &id, None).await,
            Some("agent") => read(client, agent, &id, None).await,
            Some(kind) => Err(invalid(format!("invalid kind `{kind}`: expected format or agent"))),
            None => match read(client, format, &id, None).await {
                // A key with access to the agent alone cannot read Format runs.
                Err(error)
                    if matches!(error.code(), "format_run_not_found" | "insufficient_scope") =>
                {
                    read(client, agent, &id, None).await
                }
                result => result,
            },
        }
    }

    fn spend_limit(&self, arguments: &mut Map<String, Value>) -> Result<Usd, ToolError> {
        self.limits.spend_limit(arguments.remove(MAX_PRICE).as_ref())
    }

    fn open(&self) -> Result<&Access<Open>, ToolError> {
        let missing = || ToolError::new("not_configured", "the open surface is not configured");
        self.open.as_ref().ok_or_else(missing)
    }

    fn developer(&self) -> Result<&Access<Developer>, ToolError> {
        let missing =
            || ToolError::new("not_configured", "the developer surface is not configured");
        self.developer.as_ref().ok_or_else(missing)
    }
}

/// Returns and acknowledges the receipt, because the model receives the id.
async fn tool_result<R: ResourceKind>(resource: &Handle<R>) -> ToolResult {
    let id = R::resource_id(resource);
    let receipt = R::receipt(resource).await;
    let (mut receipt, _) = receipt.map_err(|error| ToolError::from(&error))?;
    if let Some(fields) = receipt.as_object_mut() {
        fields.insert(id.field().to_owned(), id.id().into());
    }
    // If this fails, the next equal call returns the same receipt.
    let _ = resource.acknowledge().await;
    Ok(receipt)
}

/// Sets the requested cap, or else the lower of the spend limit and the Format's own cap.
fn set_cap(
    arguments: &mut Map<String, Value>,
    default_cap: Option<Usd>,
    spend_limit: Usd,
) -> Result<(), ToolError> {
    let cap = match arguments.remove(CAP) {
        Some(requested) => amount_of(&requested),
        None => Some(default_cap.map_or(spend_limit, |default_cap| default_cap.min(spend_limit))),
    };
    let cap = cap
        .filter(|cap| *cap > Usd::ZERO)
        .ok_or_else(|| invalid("invalid cap: expected dollars as a number above 0"))?;
    arguments.insert(CAP_FIELD.to_owned(), usd_number(cap));
    Ok(())
}

async fn read<S: ClientSurface>(
    client: &Client<S>,
    operation: Operation,
    segments: &[&str],
    body: Option<&Value>,
) -> ToolResult {
    let path = operation.expand(segments).map_err(|error| invalid(error.to_string()))?;
    let mut raw = client.raw_request(operation.method(), &path);
    if let Some(body) = body {
        raw = raw.body(body);
    }
    let response = raw.await.map_err(|error| ToolError::from(&error))?;
    let mut body: Value = serde_json::from_slice(&response.body).map_err(|_| {
        let status = response.status;
        ToolError::new("no_answer", format!("cannot decode the response with status {status}"))
    })?;
    Ok(body.get_mut("data").map_or(Value::Null, Value::take))
}

fn id_of<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<&'a str, ToolError> {
    let id = arguments.get(name).and_then(Value::as_str);
    id.ok_or_else(|| invalid(format!("invalid {name}: expected a string")))
}

fn invalid(why: impl Into<String>) -> ToolError {
    ToolError::new("invalid_request", why)
}
