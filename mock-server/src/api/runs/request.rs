//! What a run is asked for: the fields that runs of all kinds share, judged one by one, and the
//! checks that follow them.

use std::time::Duration;

use serde_json::{Map, Value, json};
use svc_sdk::contract::ErrorCode;
use svc_sdk::contract::limits::{MAX_RUN_INPUT_BYTES, MAX_RUN_INPUT_KEYS, MAX_SPEND_CAP_USD};
use svc_sdk::types::Usd;

use super::attachments::Attachments;
use super::communication::webhook_url;
use crate::api::api_error::ApiError;
use crate::api::catalog;
use crate::api::fields::Fields;
use crate::api::request::Request;
use crate::api::submit::{insufficient_funds, requested_error};
use crate::engine::directives::Directives;
use crate::engine::models::{self, Router};
use crate::engine::output_schema::{asks_for_a_url, check};
use crate::engine::runs::{PlannedOutcome, RunConfig, RunKind};

/// Service seconds from a run's beginning to its end.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// What a run spends where no magic word says otherwise.
const DEFAULT_COST: Usd = Usd::from_micros(50_000);

/// What a run is about, and what holds where its body does not say.
#[derive(Clone, Debug)]
pub(in crate::api) struct RunDefaults {
    pub(in crate::api) kind: RunKind,
    pub(in crate::api) subject: Option<String>,
    pub(in crate::api) cap: Usd,
    pub(in crate::api) makes_image: bool,
}

/// What a body asks for.
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
    /// Reads the fields of a body; those that its kind of run does not have are not there. What is
    /// not a field at all was refused before.
    pub(in crate::api) fn parse(fields: Fields<'_>) -> Result<Self, ApiError> {
        fields.non_blank_text("instruction")?;
        let input = fields.object("input")?;
        validate_input(fields, input)?;
        let attachments = Attachments::parse(fields)?;
        let previous_run_id = fields.non_blank_text("previous_run_id")?;
        validate_model(fields)?;
        let texts = fields.texts_in(&["instruction", "input", "attachments"]);
        Ok(Self {
            directives: Directives::parse(texts.iter().map(String::as_str)),
            attachments,
            cap: spend_cap(fields)?,
            schema: schema(fields)?,
            previous_run_id: previous_run_id.map(str::to_owned),
            webhook_url: webhook_url(fields)?,
        })
    }

    /// Refuses a Format run that is given nothing to work on.
    pub(in crate::api) fn check_content(&self, fields: Fields<'_>) -> Result<(), ApiError> {
        let given = |name: &str| fields.value(name).is_some();
        let any = given("instruction") || given("input") || self.previous_run_id.is_some();
        if any || self.attachments.count > 0 {
            return Ok(());
        }
        let problem = "or one of `input`, `previous_run_id` and `attachments` is required";
        Err(fields.error("instruction", problem))
    }

    /// The order, on those terms. A run may cost what its cap is: where the body names none, the
    /// caller's own limit lowers that of the terms.
    pub(in crate::api) fn into_config(
        self,
        request: &Request<'_>,
        defaults: RunDefaults,
    ) -> RunConfig {
        let lowered = request.max_spend.filter(|most| *most > Usd::ZERO);
        let ours = lowered.map_or(defaults.cap, |most| most.min(defaults.cap));
        let words = self.directives;
        let planned_outcome = if words.skip {
            PlannedOutcome::Skipped
        } else if let Some(code) = words.fail {
            PlannedOutcome::Fails(match code {
                // A job's way to fail without saying more; this is a run's.
                ErrorCode::GenerationFailed => ErrorCode::FormatRunFailed,
                code => code,
            })
        } else if words.degraded {
            PlannedOutcome::Degraded
        } else {
            PlannedOutcome::Completes
        };
        let wants_url = self.schema.as_ref().is_some_and(asks_for_a_url);
        let duration = words.duration.unwrap_or(DEFAULT_DURATION).as_micros();
        RunConfig {
            request_id: request.request_id.to_owned(),
            workspace: request.workspace().to_owned(),
            kind: defaults.kind,
            subject: defaults.subject,
            previous_run_id: self.previous_run_id,
            makes_image: defaults.makes_image
                || wants_url
                || planned_outcome == PlannedOutcome::Degraded,
            planned_outcome,
            duration_micros: u64::try_from(duration).unwrap_or(u64::MAX),
            stuck: words.stuck,
            cost: words.cost.unwrap_or(DEFAULT_COST),
            cap: self.cap.unwrap_or(ours),
            usage_unreadable: words.usage_unreadable,
            harvest_unavailable: words.harvest_unavailable,
            outages: words.outages.unwrap_or_default(),
            schema: self.schema,
            webhook_url: self.webhook_url,
        }
    }
}

/// The wallet has to cover what the runs may spend.
pub(in crate::api) fn check_funds(
    request: &Request<'_>,
    configs: &[RunConfig],
) -> Result<(), ApiError> {
    let needed: Usd = configs.iter().map(RunConfig::max_cost).sum();
    let covered = request.state.ledger.covers(request.workspace(), needed);
    covered.map_err(|short| insufficient_funds(request.host, needed, short.available))
}

/// The last that can go wrong: what magic words refuse, and attachments that are not there.
pub(in crate::api) fn check_refusal(run_request: &RunRequest) -> Result<(), ApiError> {
    match &run_request.directives.refuse {
        Some(code) => Err(requested_error(code)),
        None => run_request.attachments.fetch(),
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
    let Some(model) = fields.text("model")? else {
        return Ok(());
    };
    let routed = [Router::Image, Router::Video].into_iter();
    let mut known = routed
        .flat_map(models::for_router)
        .map(|model| model.id)
        .chain(catalog::model_ids());
    if known.any(|id| id == model) {
        return Ok(());
    }
    Err(fields.error("model", "is not the id of a model in the catalog"))
}

/// `generation_spend_cap_usd`: above 0, at most 500, and `null` for as much as that. It may be
/// above the Format's own cap.
pub(in crate::api) fn spend_cap(fields: Fields<'_>) -> Result<Option<Usd>, ApiError> {
    const NAME: &str = "generation_spend_cap_usd";
    let most = || MAX_SPEND_CAP_USD.to_string().parse().ok();
    let dollars = f64::from(u32::try_from(MAX_SPEND_CAP_USD).unwrap_or(u32::MAX));
    let wrong = || {
        let problem = format!("must be a number above 0 and at most {MAX_SPEND_CAP_USD}");
        fields.error(NAME, &problem)
    };
    match fields.value(NAME) {
        None => Ok(None),
        Some(Value::Null) => Ok(most()),
        Some(value) => {
            let cap = value.as_f64().filter(|cap| *cap <= dollars);
            // To the micro, and at least one.
            let cap: Option<Usd> = cap.and_then(|cap| format!("{cap:.6}").parse().ok());
            let cap = cap.filter(|cap| *cap > Usd::ZERO);
            cap.map(Some).ok_or_else(wrong)
        }
    }
}

/// What the output has to fit: `output_schema`, or the schema in `response_format`.
fn schema(fields: Fields<'_>) -> Result<Option<Value>, ApiError> {
    let schema = match (
        fields.value("output_schema"),
        fields.object("response_format")?,
    ) {
        (Some(_), Some(_)) => {
            return Err(fields.error("response_format", "excludes `output_schema`"));
        }
        (Some(schema), None) => schema,
        (None, None) => return Ok(None),
        (None, Some(format)) => match schema_of_format(format)? {
            None => return Ok(None),
            Some(schema) => schema,
        },
    };
    let violations = check(schema);
    if violations.is_empty() {
        return Ok(Some(schema.clone()));
    }
    let message = "The schema is outside of what is supported.";
    let error = ApiError::new(ErrorCode::OutputSchemaInvalid, message);
    Err(error.detail("violations", json!(violations)))
}

fn schema_of_format(format: &Map<String, Value>) -> Result<Option<&Value>, ApiError> {
    let fields = Fields::within("response_format.", format);
    fields.deny_unknown(
        |name| matches!(name, "type" | "json_schema"),
        "a response_format",
    )?;
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
        (Some(_), Some(_)) => Err(fields.error("json_schema", "needs `type` json_schema")),
        (Some(_), None) => Ok(None),
    }
}
