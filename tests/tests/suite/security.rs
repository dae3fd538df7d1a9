//! Redaction of API keys in logs of all levels, errors, `Debug` output and the mock's request journal.

use std::cell::RefCell;
use std::fmt::{Debug, Write};

use svc_mock_server::engine::{Fault, FaultKind, KeyKind, NewKey};
use svc_mock_server::{Setup, serve};
use svc_sdk::contract::Method;
use svc_sdk::types::{ImageGenerate, JobId};
use svc_sdk::{ApiKey, RetryPolicy, open};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// The fields recorded on this thread, if recording is enabled.
    ///
    /// The subscriber is global because the callsite interest that other tests cache would hide
    /// events from a subscriber of one thread.
    static RECORDED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A subscriber that records the fields of all spans and events.
struct RecordingSubscriber;

impl RecordingSubscriber {
    fn start() {
        RECORDED.set(Some(String::new()));
        tracing::subscriber::set_global_default(Self).expect("no other global subscriber");
    }

    fn stop() -> String {
        RECORDED.take().unwrap_or_default()
    }
}

impl Visit for &RecordingSubscriber {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        RECORDED.with_borrow_mut(|recorded| {
            if let Some(recorded) = recorded {
                writeln!(recorded, "{field}={value:?}").unwrap();
            }
        });
    }
}

impl Subscriber for RecordingSubscriber {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut &*self);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut &*self);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut &*self);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn keys_are_not_in_logs_errors_debug_output_or_the_journal() {
    RecordingSubscriber::start();
    let server = serve::Server::bind(Setup::default(), 0, |_| {}).await.unwrap();
    let canary = server
        .add_key(NewKey { kind: KeyKind::Open, workspace: None, plan: None, scopes: None })
        .unwrap()
        .key;
    let client = open::Client::builder()
        .base_url(server.base_url())
        .api_key(ApiKey::new(&*canary).unwrap())
        .retry(RetryPolicy::none())
        .build()
        .unwrap();

    let mut output = format!("{client:?}");
    let image = ImageGenerate::new("image-i").prompt("a fox");
    let submit = client.images().generate(&image);
    write!(output, "{submit:?}").unwrap();
    let job = submit.await.unwrap();
    write!(output, "{job:?}").unwrap();
    for kind in [
        FaultKind::Status503,
        FaultKind::Status502Html,
        FaultKind::DropBefore,
        FaultKind::Truncate,
        FaultKind::Garbage,
    ] {
        server.add_fault(fault(kind)).unwrap();
        let error = client.jobs().handle(job.id()).get().await.unwrap_err();
        write!(output, "{error} {error:?}").unwrap();
    }
    let missing = client.jobs().handle(JobId::from("job_missing")).get().await.unwrap_err();
    write!(output, "{missing} {missing:?}").unwrap();
    let raw = client.raw_request(Method::Get, "/v1/nothing").await.unwrap_err();
    write!(output, "{raw:?}").unwrap();
    write!(output, "{:?}", server.requests(0)).unwrap();

    let recorded = RecordingSubscriber::stop();
    assert!(recorded.contains("jobs_get"), "no log of the client");
    assert!(!recorded.contains(&canary));
    assert!(!output.contains(&canary), "{output}");
}

fn fault(kind: FaultKind) -> Fault {
    serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap()
}
