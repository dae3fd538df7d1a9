//! The outcome of a step as JSON, and checks of it.

use serde_json::{Map, Value, json};
use svc_test_script::{Variables, at, check};

use crate::contract::ErrorCode;
use crate::error::Error;
use crate::testing::RecordedRequest;
use crate::types::RunReceipt;

/// Returns what an error says. What is false or absent is left out.
pub(super) fn outcome_of(error: &Error) -> Map<String, Value> {
    let is = |flag: bool| flag.then_some(true);
    let facts = json!({
        "kind": format!("{:?}", error.kind()),
        "error": error.to_string(),
        "debug": format!("{error:?}"),
        "code": error.code().map(ErrorCode::as_str),
        "status": error.status(),
        "ended": error.terminal_status(),
        "retry-after": error.retry_after().map(|span| span.as_secs()),
        "next": error.next_action(),
        "ambiguous": is(error.is_ambiguous()),
        "may-be-sent": is(error.may_have_been_sent()),
        "timeout": is(error.is_timeout()),
        "wait-timeout": is(error.is_wait_timeout()),
        "unreachable": is(error.is_unreachable()),
        "rate-limited": is(error.is_rate_limited()),
        "retryable": is(error.is_retryable()),
        "source": std::error::Error::source(error).map(ToString::to_string),
        "unauthorized": is(error.is_unauthorized()),
        "not-found": is(error.is_not_found()),
        "key": error.idempotency_key(),
        "job": error.job_id(),
        "run": error.run_id(),
        "queue": error.queue_id(),
        "top-up": error.top_up_id(),
        "receipt": is(error.submit_receipt().is_some()),
        "run-receipt": error.run_receipt(),
        "billed": error.run_receipt().and_then(RunReceipt::billable_amount),
        "items": error.queue().map(|queue| queue.items.len()),
        "details": error.body().and_then(|body| body.details.as_ref()),
        "violations": error.violations(),
        "body": error.response().map(|response| String::from_utf8_lossy(&response.body)),
        "snippet": error.snippet(),
        "downloaded": error.downloaded_files().iter().map(|it| it.path.file_name()?.to_str()).collect::<Vec<_>>(),
    });
    let Value::Object(mut facts) = facts else { unreachable!() };
    facts.retain(|_, fact| !fact.is_null());
    facts
}

/// Returns a request as an object: its headers, and what else it has.
pub(super) fn request_json(request: &RecordedRequest) -> Value {
    let headers = request.headers.iter();
    let mut fields: Map<_, _> =
        headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().into())).collect();
    fields.insert("method".to_owned(), request.method.as_str().into());
    fields.insert("url".to_owned(), request.url.clone().into());
    let body = String::from_utf8_lossy(&request.body);
    fields.insert("body".to_owned(), body.into());
    fields.into()
}

/// Checks a condition, and returns the actual value if it does not hold.
pub(super) fn difference(
    condition: &str,
    outcome: &Value,
    variables: &mut Variables,
) -> Option<String> {
    if let Some(expected) = condition.strip_prefix("about=") {
        let times = outcome["at"].as_array().unwrap().iter().map(|at| at.as_f64().unwrap() / 1e3);
        let times: Vec<_> = times.collect();
        let expected: Vec<f64> = serde_json::from_str(expected).unwrap();
        let is_met = times.len() == expected.len()
            && times
                .iter()
                .zip(&expected)
                .all(|(at, from)| (*from..=from * 1.1 + 0.01).contains(at));
        return (!is_met).then(|| format!("{times:?}"));
    }
    let look_up = |left: &str| at(outcome, left);
    let Some(index) = condition.find(['=', '<', '>']) else {
        return match condition.strip_prefix(char::is_uppercase) {
            Some(_) => check(&format!("kind={condition}"), variables, look_up),
            None if condition.starts_with('!') => check(condition, variables, look_up),
            None => look_up(condition).is_none().then(|| "nothing".to_owned()),
        };
    };
    let (left, right) = (&condition[..index], &condition[index + 1..]);
    let compared = |is_met: fn(f64, f64) -> bool| {
        let actual = look_up(left).and_then(|actual| actual.as_f64());
        let expected = right.parse().unwrap();
        (!actual.is_some_and(|actual| is_met(actual, expected))).then(|| format!("{actual:?}"))
    };
    match &condition[index..=index] {
        "<" => compared(|actual, expected| actual < expected),
        ">" => compared(|actual, expected| actual > expected),
        _ => check(condition, variables, look_up),
    }
}
