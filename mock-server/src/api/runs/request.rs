//! Run requests: the fields that runs of all kinds share, and the checks that follow them.

use serde_json::{Map, Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::contract::limits::{
    MAX_RUN_INPUT_BYTES, MAX_RUN_INPUT_KEYS, MAX_SPEND_CAP_USD, WAIT_TIMEOUT_SECONDS_RANGE,
};
use svc_sdk::types::Usd;

use super::attachments::Attachments;
use crate::api::api_error::ApiError;
use crate::api::error_details::requested_error;
use crate::api::fields::Fields;
use crate::api::models::developer_model_ids;
use crate::api::request::Request;
use crate::api::submit::insufficient_funds;
use crate::engine::Hosts;
use crate::engine::directives::Directives;
use crate::engine::models::{self, Router};
use crate::engine::output_schema::{asks_for_a_url, check};
use crate::engine::runs::{
    DEFAULT_COST, DEFAULT_DURATION, PlannedOutcome, Run, RunConfig, RunKind, Thread,
};
use crate::engine::workspaces::OrganizationWallet;

/// The kind and subject of a run, and the defaults for fields that its body does not have.
#[derive(Clone, Debug)]
pub(in crate::api) struct RunDefaults {
    pub(in crate::api) kind: RunKind,
    pub(in crate::api) subject: Option<String>,
    pub(in crate::api) cap: Usd,
    pub(in crate::api) makes_image: bool,
}

#[derive(Clone, Debug)]
pub(in crate::api) struct RunRequest {
    directives: Directives,
    attachments: Attachments,
    cap: Option<Usd>,
    schema: Option<Value>,
    pub(in crate::api) previous_run_id: Option<String>,
    pub(in crate::api) webhook_url: Option<String>,
}

impl RunRequest {
    /// Reads the fields of a body. Unknown fields and fields of other kinds of runs must have been
    /// rejected before.
    pub(in crate::api) fn parse(fields: Fields<'_>) -> Result<Self, ApiError> {
        fields.non_blank_text("instruction")?;
        let input = fields.object("input")?;
        validate_input(fields, input)?;
        let attachments = Attachments::parse(fields)?;
        let previous_run_id = fields.non_blank_text("previous_run_id")?;
        validate_model(fields)?;
        Ok(Self {
            directives: fields.directives()?,
            attachments,
            cap: spend_cap(fields)?,
            schema: schema(fields)?,
            previous_run_id: previous_run_id.map(str::to_owned),
            webhook_url: webhook_url(fields)?,
        })
    }

    /// Returns the request with the directives that apply to it, and that with all of them, which are
    /// counted once the run is accepted.
    pub(in crate::api) fn applicable(self, request: &Request<'_>) -> (Self, Directives) {
        let (state, operation) = (&request.state, request.operation.name());
        let directives = state.applicable(request.workspace(), operation, &self.directives);
        let given = self.directives;
        (Self { directives, ..self }, given)
    }

    /// Returns an error if a Format run has no content to work on.
    pub(in crate::api) fn check_content(&self, fields: Fields<'_>) -> Result<(), ApiError> {
        let has_field = |name: &str| fields.value(name).is_some();
        if has_field("instruction")
            || has_field("input")
            || self.previous_run_id.is_some()
            || self.attachments.count > 0
        {
            return Ok(());
        }
        let problem = "or one of `input`, `previous_run_id` and `attachments` is required";
        Err(fields.error("instruction", problem))
    }

    /// Returns the configuration of the run. If the body has no spend cap, the default cap applies,
    /// lowered to the caller's spend limit.
    pub(in crate::api) fn into_config(
        self,
        request: &Request<'_>,
        defaults: RunDefaults,
    ) -> RunConfig {
        let max_spend = request.max_spend.filter(|max_spend| *max_spend > Usd::ZERO);
        let default_cap = max_spend.map_or(defaults.cap, |max_spend| max_spend.min(defaults.cap));
        let directives = self.directives;
        let planned_outcome = if directives.skip {
            PlannedOutcome::Skipped
        } else if let Some(code) = directives.fail {
            PlannedOutcome::Fails(match code {
                // `[mock:fail]` without a code has the generic code of jobs.
                ErrorCode::GenerationFailed => ErrorCode::FormatRunFailed,
                code => code,
            })
        } else if directives.degraded {
            PlannedOutcome::Degraded
        } else {
            PlannedOutcome::Completes
        };
        let wants_url = self.schema.as_ref().is_some_and(asks_for_a_url);
        let duration = directives.duration.unwrap_or(DEFAULT_DURATION).as_micros();
        RunConfig {
            request_id: request.request_id.to_owned(),
            workspace: request.workspace().to_owned(),
            paid_by_organization: request.state.organization_wallet(request.workspace())
                == OrganizationWallet::Provisioned,
            source: request.source(),
            kind: defaults.kind,
            subject: defaults.subject,
            scheduled: false,
            continued_thread: self.previous_run_id.as_deref().and_then(|id| {
                let previous = request.state.runs.by_id(id);
                previous.and_then(Run::thread).map(Thread::next_turn)
            }),
            previous_run_id: self.previous_run_id,
            makes_image: defaults.makes_image
                || wants_url
                || planned_outcome == PlannedOutcome::Degraded,
            planned_outcome,
            duration_micros: u64::try_from(duration).unwrap_or(u64::MAX),
            stuck: directives.stuck,
            cost: directives.cost.unwrap_or(DEFAULT_COST),
            cap: self.cap.unwrap_or(default_cap),
            usage_unreadable: directives.usage_unreadable,
            harvest_unavailable: directives.harvest_unavailable,
            outages: directives.outages.unwrap_or_default(),
            schema: self.schema,
            webhook_url: self.webhook_url,
        }
    }
}

/// Checks that the wallet of the workspace covers the maximum cost of the runs.
pub(in crate::api) fn check_funds(
    request: &Request<'_>,
    configs: &[RunConfig],
) -> Result<(), ApiError> {
    if request.state.organization_wallet(request.workspace()) == OrganizationWallet::Missing {
        let message = "the organization of this workspace has no wallet";
        let code = ErrorCode::OrganizationWalletNotProvisioned;
        let error = ApiError::new(code, message);
        return Err(error.detail("workspace_id", json!(request.workspace())));
    }
    let Some(first) = configs.first() else { return Ok(()) };
    let required: Usd = configs.iter().map(RunConfig::max_cost).sum();
    let covered = request.state.ledger.covers(&first.account(), required);
    covered.map_err(|shortfall| insufficient_funds(request.host, required, shortfall.available))
}

/// Returns the error that a directive requests, or that of an unreachable attachment. This check
/// comes after all others.
pub(in crate::api) fn check_requested_error(
    run_request: &RunRequest,
    hosts: &Hosts,
) -> Result<(), ApiError> {
    match &run_request.directives.refuse {
        Some(refusal) => Err(requested_error(refusal, hosts)),
        None => run_request.attachments.check_reachable(),
    }
}

fn validate_input(fields: Fields<'_>, input: Option<&Map<String, Value>>) -> Result<(), ApiError> {
    let Some(input) = input else { return Ok(()) };
    if input.len() > MAX_RUN_INPUT_KEYS {
        let problem = format!("must have at most {MAX_RUN_INPUT_KEYS} keys");
        return Err(fields.error("input", &problem));
    }
    let bytes = serde_json::to_vec(input).map_or(usize::MAX, |text| text.len());
    if bytes > MAX_RUN_INPUT_BYTES {
        let problem = format!("must have at most {MAX_RUN_INPUT_BYTES} bytes");
        let error = fields.error("input", &problem);
        return Err(error.detail("limit_bytes", json!(MAX_RUN_INPUT_BYTES)));
    }
    Ok(())
}

fn validate_model(fields: Fields<'_>) -> Result<(), ApiError> {
    let Some(model) = fields.text("model")? else { return Ok(()) };
    let mut known = [Router::Image, Router::Video]
        .into_iter()
        .flat_map(models::for_router)
        .map(|model| model.id)
        .chain(developer_model_ids());
    if known.any(|id| id == model) {
        return Ok(());
    }
    Err(fields.error("model", "is not a model of the catalog"))
}

/// Reads `generation_spend_cap_usd`, which must be greater than 0 and at most 500. `null` stands for
/// the maximum. The value may exceed the Format's own cap.
pub(in crate::api) fn spend_cap(fields: Fields<'_>) -> Result<Option<Usd>, ApiError> {
    const NAME: &str = "generation_spend_cap_usd";
    let max_dollars = f64::from(u32::try_from(MAX_SPEND_CAP_USD).unwrap_or(u32::MAX));
    let invalid = || {
        let problem = format!("must be a number greater than 0 and at most {MAX_SPEND_CAP_USD}");
        fields.error(NAME, &problem)
    };
    match fields.value(NAME) {
        None => Ok(None),
        Some(Value::Null) => Ok(MAX_SPEND_CAP_USD.to_string().parse().ok()),
        Some(value) => {
            let cap = value.as_f64().filter(|cap| *cap <= max_dollars);
            // The cap is rounded to millionths of a dollar and must not become zero.
            let cap: Option<Usd> = cap.and_then(|cap| format!("{cap:.6}").parse().ok());
            let cap = cap.filter(|cap| *cap > Usd::ZERO);
            cap.map(Some).ok_or_else(invalid)
        }
    }
}

/// Reads the schema of the output from `output_schema` or `response_format`.
fn schema(fields: Fields<'_>) -> Result<Option<Value>, ApiError> {
    let schema = match (fields.value("output_schema"), fields.object("response_format")?) {
        (Some(_), Some(_)) => {
            return Err(fields.error("response_format", "cannot be combined with `output_schema`"));
        }
        (Some(schema), None) => schema,
        (None, None) => return Ok(None),
        (None, Some(format)) => match schema_of_format(fields, format)? {
            None => return Ok(None),
            Some(schema) => schema,
        },
    };
    let violations = check(schema);
    if violations.is_empty() {
        return Ok(Some(schema.clone()));
    }
    let message = "output schema is not supported";
    let error = ApiError::new(ErrorCode::OutputSchemaInvalid, message);
    Err(error.detail("violations", json!(violations)))
}

fn schema_of_format<'b>(
    fields: Fields<'b>,
    format: &'b Map<String, Value>,
) -> Result<Option<&'b Value>, ApiError> {
    let fields = fields.within("response_format.", format);
    fields.deny_unknown(|name| matches!(name, "type" | "json_schema"), "a response_format")?;
    let kind = fields.one_of("type", &["text", "json_object", "json_schema"])?;
    let inner = fields.object("json_schema")?;
    match (kind, inner) {
        (None, _) => Err(fields.error("type", "is required")),
        (Some("json_schema"), Some(inner)) => {
            let schema = inner.get("schema");
            let missing = || fields.error("json_schema.schema", "is required");
            schema.map(Some).ok_or_else(missing)
        }
        (Some("json_schema"), None) => Err(fields.error("json_schema", "is required")),
        (Some(_), Some(_)) => Err(fields.error("json_schema", "requires `type` to be json_schema")),
        (Some(_), None) => Ok(None),
    }
}

/// The communication fields, and the object that may contain them.
pub(in crate::api) const COMMUNICATION_FIELDS: [&str; 4] =
    ["mode", "webhook_url", "wait_timeout_seconds", "communication"];

/// Reads the communication fields, at the top level or in `communication`. Responses never wait for a run,
/// so only the webhook URL has an effect.
pub(in crate::api) fn webhook_url(fields: Fields<'_>) -> Result<Option<String>, ApiError> {
    let mode = mode(fields)?;
    let url = fields.webhook_url("webhook_url")?;
    let Some(inner) = fields.object("communication")? else { return check_mode(fields, mode, url) };
    let inner = fields.within("communication.", inner);
    let is_known = |name: &str| COMMUNICATION_FIELDS.contains(&name) && name != "communication";
    inner.deny_unknown(is_known, "the communication fields")?;
    let (inner_mode, inner_url) = (self::mode(inner)?, inner.webhook_url("webhook_url")?);
    for name in inner.names() {
        // Equal values in both places are allowed.
        let outer = fields.value(name);
        if outer.is_some() && outer != inner.value(name) {
            let problem = format!("must not differ from `{name}`");
            return Err(inner.error(name, &problem));
        }
    }
    check_mode(fields, mode.or(inner_mode), url.or(inner_url))
}

/// Reads `mode`, which cannot be `sync` or `subscribe` for runs. `wait_timeout_seconds` is validated
/// but has no effect.
fn mode<'b>(fields: Fields<'b>) -> Result<Option<&'b str>, ApiError> {
    fields.integer("wait_timeout_seconds", WAIT_TIMEOUT_SECONDS_RANGE)?;
    fields.one_of("mode", &["async", "webhook"])
}

fn check_mode(
    fields: Fields<'_>,
    mode: Option<&str>,
    url: Option<&str>,
) -> Result<Option<String>, ApiError> {
    if mode == Some("webhook") && url.is_none() {
        return Err(fields.error("webhook_url", "is required if `mode` is webhook"));
    }
    Ok(url.map(str::to_owned))
}
