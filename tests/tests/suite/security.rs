//! A canary key is looked for in everything that could be seen: logs at the finest level, errors,
//! `Debug` output, and what the mock wrote down.

use std::cell::RefCell;
use std::fmt::{Debug, Write};

use svc_mock_server::engine::{Fault, FaultKind, KeyKind, NewKey};
use svc_mock_server::{Setup, serve};
use svc_sdk::contract::Method;
use svc_sdk::types::{ImageGenerate, JobId};
use svc_sdk::{RetryPolicy, Secret, open};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

thread_local! {
    /// What was logged on a thread that listens. A listener for a thread alone would miss events:
    /// the other tests of this binary decide for all threads whether an event is of interest.
    static HEARD: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Everything that anybody logs.
struct Log;

impl Log {
    fn listen() {
        HEARD.set(Some(String::new()));
        tracing::subscriber::set_global_default(Self)
            .expect("no other test of this binary listens");
    }

    fn heard() -> String {
        HEARD.take().unwrap_or_default()
    }
}

impl Visit for &Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        HEARD.with_borrow_mut(|heard| {
            if let Some(heard) = heard {
                writeln!(heard, "{field}={value:?}").unwrap();
            }
        });
    }
}

impl Subscriber for Log {
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
async fn a_key_is_in_no_log_error_debug_output_or_journal() {
    Log::listen();
    let server = serve::Server::bind(Setup::default(), 0, |_| {})
        .await
        .unwrap();
    let canary = server
        .add_key(NewKey {
            kind: KeyKind::Open,
            workspace: None,
            plan: None,
            scopes: None,
        })
        .unwrap()
        .key;
    let client = open::Client::builder()
        .base_url(server.base_url())
        .api_key(Secret::new(&*canary).unwrap())
        .retry(RetryPolicy::none())
        .build()
        .unwrap();

    let mut seen = format!("{client:?}");
    let image = ImageGenerate::new("image-i").prompt("a fox");
    let submit = client.images().generate(&image);
    write!(seen, "{submit:?}").unwrap();
    let job = submit.await.unwrap();
    write!(seen, "{job:?}").unwrap();
    for kind in [
        FaultKind::Status503,
        FaultKind::Status502Html,
        FaultKind::DropBefore,
        FaultKind::Truncate,
        FaultKind::Garbage,
    ] {
        server.add_fault(fault(kind)).unwrap();
        let error = client.jobs().handle(job.id()).get().await.unwrap_err();
        write!(seen, "{error} {error:?}").unwrap();
    }
    let missing = client
        .jobs()
        .handle(&JobId::from("job_missing"))
        .get()
        .await
        .unwrap_err();
    write!(seen, "{missing} {missing:?}").unwrap();
    let raw = client
        .request(Method::Get, "/v1/nothing")
        .await
        .unwrap_err();
    write!(seen, "{raw:?}").unwrap();
    write!(seen, "{:?}", server.requests(0)).unwrap();

    let heard = Log::heard();
    assert!(
        heard.contains("jobs_get"),
        "the client's own log was not heard"
    );
    assert!(!heard.contains(&canary));
    assert!(!seen.contains(&canary), "{seen}");
}

fn fault(kind: FaultKind) -> Fault {
    serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap()
}
