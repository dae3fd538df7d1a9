//! Conformance on a clock that follows real time, twenty times as fast and as fast as it.

use std::time::Duration;

use serde_json::{Value, json};
use svc_tests::{Client, Mock, Receiver};

use super::{IMAGE, run_script, submit, text, with};

/// Runs the tests on a clock with a speed.
macro_rules! at_speed {
    ($name:ident, $speed:literal) => {
        mod $name {
            use svc_tests::{on_every_frontend, on_every_socket_frontend};

            use super::*;

            on_every_frontend! {
                a_job_completes_and_is_charged: speed($speed),
                runs_complete: speed($speed),
                a_queue_completes: speed($speed),
            }

            on_every_socket_frontend! {
                a_webhook_is_delivered: speed($speed),
            }
        }
    };
}

at_speed!(at_speed_20, 20.0);
at_speed!(in_real_time, 1.0);

/// Polls a status as its hints say until it is terminal, and returns it.
async fn wait_until_terminal(client: &Client, path: &str) -> Value {
    for _ in 0..100 {
        let status = client.get_data(&format!("{path}/status")).await;
        if status["terminal"] == true {
            return status;
        }
        let hint = status["next_poll_after_seconds"].as_f64().expect("a hint");
        // The hint may be zero between the end of a job and the moment at which it is noticed.
        let wait = Duration::from_secs_f64(hint).max(Duration::from_millis(5));
        tokio::time::sleep(wait).await;
    }
    panic!("{path} is not terminal");
}

fn image(prompt: &str) -> Value {
    json!({"model": "image-i", "prompt": prompt})
}

async fn a_job_completes_and_is_charged(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, IMAGE, image("[mock:seconds=1]")).await;
    let status = wait_until_terminal(&open, &format!("/v1/jobs/{id}")).await;
    assert_eq!(status["status"], "completed");
    assert_eq!(status["result_ready"], true);
    let script = "open /v1/jobs/ID/result => 200 artifacts.0.url=<url>
        media <url> => 200 @content-type=image/png
        ledger ID = reservation 0.0050, capture 0.0050";
    run_script(&mock, None, &script.replace("ID", &id)).await;
}

async fn runs_complete(mock: Mock) {
    let developer = mock.developer();
    let mut runs = Vec::new();
    for (kind, start) in [
        ("action", "/v1/actions/act_daily/runs"),
        ("format", "/v1/formats/fmt_demo/runs"),
        ("agent", "/v1/agent/completions"),
    ] {
        let mut body = json!({"instruction": "[mock:seconds=1][mock:cost=0.3]"});
        if kind == "agent" {
            body["generation_spend_cap_usd"] = json!(5);
        }
        let receipt = developer.post_data(start, body, 202).await;
        runs.push(format!("/v1/{kind}-runs/{}", text(&receipt["run_id"])));
    }
    for run in runs {
        let status = wait_until_terminal(&developer, &run).await;
        assert_eq!(status["status"], "completed", "{run}");
        let receipt = developer.get_data(&format!("{run}/result")).await;
        assert_eq!(receipt["usage"]["billable_amount_usd_micros"], 300_000);
    }
}

async fn a_queue_completes(mock: Mock) {
    let developer = mock.developer();
    let items = vec![json!({"instruction": "[mock:seconds=0.5]"}); 3];
    let body = json!({"items": items, "concurrency": 2});
    let queue = developer.post_data("/v1/formats/fmt_demo/bulk-runs", body, 202).await;
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    for _ in 0..1_000 {
        let progress = developer.get_data(&path).await;
        if progress["status"] == "completed" {
            assert_eq!(progress["counts"]["completed"], 3);
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the queue did not complete");
}

async fn a_webhook_is_delivered(mock: Mock, receiver: Receiver) {
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/in"});
    let id = submit(&mock.open(), IMAGE, with(image("[mock:seconds=1]"), hook)).await;
    // Nothing but the clock makes the mock send it.
    let deliveries = receiver.wait_for(1).await;
    let event = deliveries[0].json();
    assert_eq!((&event["event"], &event["job_id"]), (&json!("job.completed"), &json!(id)));
    let secret = mock.developer().get_data("/v1/webhooks/signing-secret").await;
    deliveries[0].assert_signed_with(&[&text(&secret["secret"])]);
}
