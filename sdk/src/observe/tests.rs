//! What observers and subscribers see of calls, waits and downloads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::{Context, SubscriberExt};

use super::{AttemptEnd, AttemptStart, CallEnd, CallOutcome, CallStart, Observer};
use crate::contract::Method;
use crate::surface::Open;
use crate::transport::scripted::{RECEIPT, Script, ScriptedTransport, Step, builder, busy, json};
use crate::types::VideoGenerate;
use crate::{ApiKey, Client};

const ENDED_JOB: &str = r#"{"data": {"id": "job_1", "status": "completed"}}"#;
const KEY: &str = "svc_open_canary";

fn client(script: &Arc<Script>, log: &LoggedCalls) -> Client<Open> {
    let builder = builder(ScriptedTransport(Arc::clone(script))).observer(log.clone());
    builder.api_key(ApiKey::new(KEY).unwrap()).build().unwrap()
}

/// Records what an observer and a subscriber are told, as lines.
#[derive(Clone, Default)]
struct LoggedCalls(Arc<Mutex<Vec<String>>>);

impl LoggedCalls {
    fn push(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for LoggedCalls {
    fn on_attempt_start(&self, attempt: &mut AttemptStart<'_>) {
        let value = format!("00-trace-{}", attempt.attempt);
        attempt.set_header("traceparent", &value).unwrap();
        for reserved in ["Authorization", "x-api-key", "idempotency-key", "no name"] {
            assert!(attempt.set_header(reserved, "x").is_err(), "{reserved}");
        }
        self.push(format!("start {}", attempt.attempt));
    }

    fn on_call_start(&self, call: &CallStart<'_>) {
        let operation = call.request.operation.map(crate::contract::Operation::name);
        self.push(format!("begin {operation:?}"));
    }

    fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
        self.push(format!(
            "end {} status {:?} after {} ms, {} B sent, {} B received, error {:?}, retry in {:?}, {:?}",
            attempt.attempt,
            attempt.status(),
            attempt.duration.as_millis(),
            attempt.request_bytes(),
            attempt.response_bytes(),
            attempt.error_type(),
            attempt.retry_delay.map(|delay| delay.as_secs()),
            attempt.request_id(),
        ));
    }

    fn on_call_end(&self, call: &CallEnd<'_>) {
        let outcome = match call.outcome {
            CallOutcome::Success => "success".to_owned(),
            CallOutcome::Failure(error) => format!("{error}"),
            CallOutcome::Canceled => "canceled".to_owned(),
        };
        let operation = call.request.operation.map(crate::contract::Operation::name);
        self.push(format!(
            "call {operation:?} {} attempts in {} s: {outcome}, {:?}",
            call.attempts,
            call.duration.as_secs(),
            call.error_type(),
        ));
    }
}

type Fields = BTreeMap<&'static str, String>;

/// A layer that records everything.
#[derive(Clone, Default)]
struct SpanRecorder {
    log: LoggedCalls,
    spans: Arc<Mutex<Vec<(Id, Fields)>>>,
}

impl SpanRecorder {
    /// Records what this thread traces, until the guard is dropped.
    fn install() -> (Self, DefaultGuard) {
        // Without a subscriber of all other threads, a call on one of them could cache, for the whole
        // process, that no subscriber is interested in a span or event.
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let disabled = tracing_subscriber::registry().with(dynamic_filter_fn(|_, _| false));
            tracing::subscriber::set_global_default(disabled).unwrap();
        });
        let recorder = Self::default();
        let subscriber = tracing_subscriber::registry().with(recorder.clone());
        (recorder, tracing::subscriber::set_default(subscriber))
    }

    fn span(&self, name: &str) -> Fields {
        let spans = self.spans.lock().unwrap();
        let (_, span) = spans.iter().find(|(_, span)| span["name"] == name).unwrap();
        span.clone()
    }
}

struct FieldVisitor<'a>(&'a mut Fields);

impl Visit for FieldVisitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber> Layer<S> for SpanRecorder {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("svc_sdk")
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        let mut span = BTreeMap::from([("name", attributes.metadata().name().to_owned())]);
        attributes.record(&mut FieldVisitor(&mut span));
        self.spans.lock().unwrap().push((id.clone(), span));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut spans = self.spans.lock().unwrap();
        let (_, span) = spans.iter_mut().find(|(known, _)| known == id).unwrap();
        values.record(&mut FieldVisitor(span));
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        event.record(&mut FieldVisitor(&mut fields));
        self.log.push(format!("{} {fields:?}", event.metadata().target()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_sees_attempts_and_the_end_of_the_call() {
    let ok = json(200, ENDED_JOB).header("x-svc-request-id", "req_7");
    let script =
        Script::with_latency([busy(10), Step::ConnectionRefused, ok], Duration::from_secs(1));
    let log = LoggedCalls::default();
    let jobs = client(&script, &log);
    jobs.jobs().handle("job_1").get().await.unwrap();
    let lines = log.lines();
    assert_eq!(
        lines[..5],
        [
            "begin Some(\"jobs_get\")",
            "start 1",
            "end 1 status Some(503) after 1000 ms, 0 B sent, 55 B received, error Some(\"503\"), retry in Some(10), None",
            "start 2",
            "end 2 status None after 1000 ms, 0 B sent, 0 B received, error Some(\"connection_failed\"), retry in Some(0), None",
        ]
    );
    assert!(lines[6].starts_with("end 3 status Some(200) after 1000 ms"), "{}", lines[6]);
    assert!(
        lines[6].ends_with("error None, retry in None, Some(RequestId(\"req_7\"))"),
        "{}",
        lines[6]
    );
    assert!(
        lines[7].starts_with("call Some(\"jobs_get\") 3 attempts in 13 s: success, None"),
        "{}",
        lines[7]
    );
    assert_eq!(lines.len(), 8);
    let headers: Vec<_> =
        script.requests().iter().map(|it| it.header("traceparent").unwrap().to_owned()).collect();
    assert_eq!(headers, ["00-trace-1", "00-trace-2", "00-trace-3"]);
}

#[tokio::test(start_paused = true)]
async fn an_observer_sees_calls_that_are_dropped_or_never_sent() {
    let script = Script::new([Step::NoResponse]);
    let log = LoggedCalls::default();
    let client = client(&script, &log);
    let dropped = tokio::time::timeout(Duration::from_secs(3), client.jobs().handle("job_1").get());
    dropped.await.unwrap_err();
    tokio::task::yield_now().await;
    let last = log.lines().pop().unwrap();
    assert_eq!(last, "call Some(\"jobs_get\") 1 attempts in 3 s: canceled, Some(\"canceled\")");

    let call = client.jobs().handle("job_1").get().timeout(Duration::from_secs(5));
    call.await.unwrap_err();
    let lines = log.lines();
    let [.., attempt, end] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(
        attempt.contains("status None after 5000 ms") && attempt.contains("Some(\"timeout\")"),
        "{attempt}"
    );
    assert!(end.ends_with("Some(\"timeout\")"), "{end}");
}

#[tokio::test(start_paused = true)]
async fn spans_and_events_have_the_documented_fields() {
    let (recorder, _guard) = SpanRecorder::install();
    let script = Script::new([
        busy(10),
        json(202, RECEIPT).header("x-svc-request-id", "req_7"),
        json(200, ENDED_JOB),
    ]);
    let client = client(&script, &LoggedCalls::default());
    let job = client.videos().generate(VideoGenerate::new("auto").prompt("a fox")).await.unwrap();
    job.wait().await.unwrap();

    let call = recorder.span("svc.call");
    for (field, value) in [
        ("otel.name", "POST /v1/video-router/generate"),
        ("svc.operation", "video_generate"),
        ("http.request.method", "POST"),
        ("url.template", "/v1/video-router/generate"),
        ("server.address", "api.example"),
        ("server.port", "443"),
        ("http.response.status_code", "202"),
        ("http.request.resend_count", "1"),
        ("svc.request_id", "req_7"),
        ("svc.job_id", "job_1"),
    ] {
        assert_eq!(call.get(field).map(String::as_str), Some(value), "{field} of {call:?}");
    }
    assert!(!call.contains_key("error.type"), "{call:?}");
    let wait = recorder.span("svc.wait");
    assert_eq!((wait["svc.job_id"].as_str(), wait["svc.poll_count"].as_str()), ("job_1", "1"));

    let lines = recorder.log.lines();
    let retry = lines.iter().find(|line| line.starts_with("svc_sdk::retry")).unwrap();
    for field in [
        "\"svc.delay_ms\": \"10000\"",
        "\"svc.attempt\": \"2\"",
        "\"svc.max_attempts\": \"6\"",
        "\"svc.error_code\": \"database_busy\"",
    ] {
        assert!(retry.contains(field), "{field} in {retry}");
    }
    let attempts = lines.iter().filter(|line| line.starts_with("svc_sdk::attempt")).count();
    assert_eq!(attempts, script.requests().len());
    assert!(
        lines.iter().any(|line| line.contains("\"url.path\": \"/base/v1/video-router/generate\""))
    );
}

#[tokio::test(start_paused = true)]
async fn no_level_shows_a_secret() {
    let (recorder, _guard) = SpanRecorder::install();
    let secret = r#"{"data": {"signing_secret": "whsec_canary", "previous_secret": "canary"}}"#;
    let echo =
        format!("<html>Authorization: Bearer {KEY}, https://cdn.example/x?sig=canary</html>");
    let artifacts = r#"{"data": {"id": "job_1", "status": "completed", "artifacts":
        [{"id": "art_1", "url": "https://cdn.example/canary-free?sig=canary\u0026b=canary"}]}}"#;
    let script = Script::new([
        json(200, secret),
        json(400, &echo),
        json(200, artifacts).header("location", "https://cdn.example/?canary"),
        json(403, "canary-free"),
    ]);
    let client = client(&script, &LoggedCalls::default());
    let secret = client.raw_request(Method::Get, "/v1/webhooks/signing-secret");
    secret.query("api_key", "canary").query("next", "https://a/?canary").await.unwrap();
    let video =
        VideoGenerate::new("auto").prompt("a fox").image_url("https://a.example/x?sig=canary");
    client.videos().generate(video).await.unwrap_err();
    let folder = tempfile::tempdir().unwrap();
    client.jobs().handle("job_1").download(folder.path()).await.unwrap_err();

    let shown = format!("{:?} {:?}", recorder.log.lines(), recorder.spans.lock().unwrap());
    let shown = shown.replace("canary-free", "");
    assert!(!shown.contains("canary"), "{shown}");
    for expected in
        ["svc_sdk::body", "svc_sdk::headers", "[redacted]", "cdn.example/?…", "svc.download"]
    {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
}
