//! Saving the state with `GET /state` and restoring it with `PUT /state`.

use super::*;

on_every_frontend! {
    the_setting_of_keys_is_part_of_the_state,
    a_state_is_restored_in_the_same_mock_and_in_another,
    the_same_seed_gives_the_same_responses,
    an_invalid_state_is_rejected_and_changes_nothing,
    an_edited_state_is_rejected_or_usable,
}

/// Jobs in every status, a top-up, a key and a fault.
const JOBS: &str = r#"
open video => 202
open video {"prompt": "[mock:fail]"} => 202
advance 9
open key=order-1 video {"prompt": "[mock:seconds=60]"} => 202
open image => 202 job.id=<id>
open POST /v1/jobs/<id>/cancel => 200
advance 7
open top-up => 201
control /keys {"kind": "open", "workspace": "ws_new", "plan": "pro"} => 201
control /faults {"kind": "status_503", "operation": "jobs_list", "times": 2} => 200
open /v1/jobs => 503
"#;

/// Runs of each kind at different times, a queue, and a signing secret that was rotated.
const RUNS_AND_QUEUE: &str = r#"
for <kind> in action format agent
  developer run:<kind> {"instruction": "[mock:cost=1.5]"} => 202
  advance 3
developer run {"instruction": "[mock:cost=0.5]", "webhook_url": "https://hooks.example.com/svc"} => 202
developer run {"instruction": "[mock:fail=mcp_unavailable]"} => 202
developer bulk {"items": [{"instruction": "[mock:seconds=3]"}, {"instruction": "[mock:seconds=5]"}, {"instruction": "[mock:seconds=8]"}], "concurrency": 2} => 202
developer POST /v1/webhooks/signing-secret/rotate => 200
advance 2
"#;

async fn populate(mock: &Mock) {
    run_script(mock, None, JOBS).await;
    run_script(mock, None, RUNS_AND_QUEUE).await;
}

/// Requests whose responses show the state.
const REQUESTS: &str = r#"open /v1/jobs
open /v1/jobs
open key=order-1 video {"prompt": "[mock:seconds=60]"}
open key=order-1 video
open video
open image
open POST /v1/image-router/generate {}
open top-up {"amount_usd_cents": 700}
open estimate {"model": "auto", "input": {"prompt": "p"}}"#;

/// Sends a fixed sequence of requests and returns the normalized responses.
async fn record_responses(mock: &Mock) -> Vec<String> {
    let (open, developer, control) = (mock.open(), mock.developer(), mock.control());
    let mut responses = Vec::new();
    for line in REQUESTS.lines() {
        responses.push(request(mock, line).await);
    }
    let created = request(mock, r#"control /keys {"kind": "open", "workspace": "ws_demo"}"#).await;
    let key = text(&created.json()["key"]);
    responses.push(request(mock, &format!("open:{key} /v1/jobs")).await);
    responses.push(created);
    let mut paths = Vec::new();
    for run in control.get_items("/runs").await {
        paths.push(format!("/v1/{}-runs/{}", text(&run["kind"]), text(&run["run_id"])));
        let queue = run["queue_id"].as_str();
        paths.extend(queue.map(|queue| format!("/v1/format-run-queues/{queue}")));
    }
    paths.extend(["/v1/webhooks/signing-secret", "/v1/balance", "/v1/usage"].map(str::to_owned));
    for _ in 0..6 {
        for path in &paths {
            responses.push(developer.get(path).await);
        }
        mock.advance(4).await;
    }
    mock.advance(26).await;
    responses.push(open.get("/v1/jobs").await);
    for job in control.get_items("/jobs").await {
        let id = text(&job["id"]);
        for suffix in ["", "/status", "/result"] {
            responses.push(open.get(&format!("/v1/jobs/{id}{suffix}")).await);
        }
    }
    responses.push(control.get("/ledger").await);
    responses.push(control.get("/clock").await);
    responses.iter().map(|response| normalize(mock, response)).collect()
}

/// Returns a response as text with the base URLs of the hosts replaced by their names.
fn normalize(mock: &Mock, response: &Response) -> String {
    let headers = [
        "x-svc-request-id",
        "ratelimit-limit",
        "ratelimit-remaining",
        "ratelimit-reset",
        "retry-after",
    ];
    let mut text = response.status().to_string();
    for name in headers {
        text += &format!("\n{name}: {:?}", response.header(name));
    }
    text += "\n";
    text += &response.text();
    for host in Host::ALL {
        text = text.replace(mock.base_url(host), &format!("{{{host:?}}}"));
    }
    text
}

#[track_caller]
fn assert_same(one: &[String], other: &[String]) {
    assert_eq!(one.len(), other.len());
    for (one, other) in one.iter().zip(other) {
        assert_eq!(one, other);
    }
}

async fn a_state_is_restored_in_the_same_mock_and_in_another(mock: Mock) {
    populate(&mock).await;
    let saved = mock.state().await;
    let first = record_responses(&mock).await;
    let other = mock.start_another("seed=99 balance=3 plan=scale").await;
    request(&other, "open video").await.expect(202);
    for mock in [mock, other] {
        mock.put_state(&saved).await.expect_success();
        assert_eq!(mock.state().await, saved);
        assert_same(&first, &record_responses(&mock).await);
    }
}

async fn the_same_seed_gives_the_same_responses(mock: Mock) {
    let mut runs = Vec::new();
    for seed in [5, 5, 6] {
        let mock = mock.start_another(&format!("seed={seed}")).await;
        // Which requests a fault with a probability hits is determined as well.
        mock.add_fault(json!({"kind": "status_503", "operation": "catalog", "probability": 0.5}))
            .await;
        populate(&mock).await;
        let mut responses = record_responses(&mock).await;
        for _ in 0..40 {
            responses.push(mock.developer().get("/v1/catalog").await.status().to_string());
        }
        assert!(responses.contains(&"200".to_owned()) && responses.contains(&"503".to_owned()));
        runs.push(responses);
    }
    assert_same(&runs[0], &runs[1]);
    assert_ne!(runs[0], runs[2], "another seed gives other identifiers");
}

async fn an_invalid_state_is_rejected_and_changes_nothing(mock: Mock) {
    populate(&mock).await;
    let saved = mock.state().await;
    let document = saved.to_string();
    let deep = "[".repeat(100_000);
    for document in
        ["", "null", "{}", "[]", "7", "\"state\"", &document[..document.len() / 2], &deep]
    {
        mock.put_state(document).await.expect(400);
    }
    for name in saved.as_object().expect("the state is a JSON object").keys() {
        let mut broken = saved.clone();
        broken[name] = json!({"unexpected": ["value"]});
        assert_eq!(mock.put_state(&broken).await.status(), 400, "{name} replaced");
        broken.as_object_mut().unwrap().remove(name);
        let response = mock.put_state(&broken).await;
        assert!([200, 201, 202, 204, 400].contains(&response.status()), "{response:?}");
        mock.put_state(&saved).await.expect_success();
    }
    assert_eq!(mock.state().await, saved);
}

/// Collects the JSON pointers of all values without children.
fn leaves(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                leaves(field, &format!("{pointer}/{name}"), pointers);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{pointer}/{index}"), pointers);
            }
        }
        _ => pointers.push(pointer.to_owned()),
    }
}

async fn an_edited_state_is_rejected_or_usable(mock: Mock) {
    run_script(&mock, None, JOBS).await;
    let saved = mock.state().await;
    let mut pointers = Vec::new();
    leaves(&saved, "", &mut pointers);
    let others = json!([null, 0, -1, u64::MAX, 1e300, "x", [], {}, true]);
    let others = others.as_array().unwrap();
    // Trying every value at every pointer would take too long.
    for (index, pointer) in pointers.iter().enumerate() {
        for (number, other) in others.iter().enumerate() {
            if (number + index) % others.len() == 0 {
                check_edited_state(&mock, &saved, pointer, other).await;
            }
        }
    }
    mock.put_state(&saved).await.expect_success();
    assert_eq!(mock.state().await, saved);
}

/// Restores the state with one value replaced and, if that is accepted, uses the mock.
async fn check_edited_state(mock: &Mock, saved: &Value, pointer: &str, other: &Value) {
    let mut document = saved.clone();
    *document.pointer_mut(pointer).unwrap() = other.clone();
    let response = mock.put_state(&document).await;
    assert!(response.status() < 500, "{response:?}");
    if response.status() == 400 {
        return;
    }
    let mut responses = Vec::new();
    for _ in 0..2 {
        for path in ["/clock", "/jobs", "/ledger", "/requests", "/state"] {
            responses.push(mock.control().get(path).await);
        }
        responses.extend(try_request(mock, "open /v1/jobs").await);
        responses.extend(try_request(mock, "open image").await);
        responses.push(request(mock, r#"control /clock/advance {"seconds": 70}"#).await);
    }
    for response in responses {
        assert!(response.status() != 500, "{pointer} set to {other}:\n{response:?}");
    }
}

async fn the_setting_of_keys_is_part_of_the_state(mock: Mock) {
    let lenient = mock.start_another("honors-undocumented-keys=true").await;
    mock.put_state(lenient.state().await).await.expect_success();
    let script = "developer key=order-1 music => 202 .=<receipt>\n\
        developer key=order-1 music => 200 .=<receipt>";
    run_script(&mock, None, script).await;
}
