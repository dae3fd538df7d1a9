//! Rate limits: a budget a minute for each key, reads apart from writes, told in headers.

use bytes::Bytes;
use serde_json::json;
use svc_tests::{Answer, Caller, Host, Mock, on_every_face};

use super::{ESTIMATE, IMAGE, TOP_UPS, VIDEO, image, submit, video};

on_every_face! {
    every_answer_tells_the_budget_that_it_spent_from,
    refusals_spend_and_tell_the_budget_too,
    the_plan_sets_the_budget,
    the_plan_of_the_demo_workspace_sets_its_budget: plan("pro"),
    the_writes_of_a_minute_are_counted_exactly,
    the_reads_of_a_minute_are_counted_exactly,
    reads_and_writes_are_budgets_of_their_own,
    each_key_has_its_own_budget,
    a_head_request_is_a_read,
    an_estimate_is_a_write,
    the_budget_is_whole_again_after_the_reset,
    a_caller_who_waits_for_retry_after_is_served,
    reads_without_a_key_are_limited_by_address,
    writes_without_a_key_are_limited_by_address,
}

const BUDGETS: [(&str, u64, u64); 5] = [
    ("free", 120, 4_800),
    ("pro", 300, 12_000),
    ("startup", 600, 24_000),
    ("scale", 1_200, 48_000),
    ("enterprise", 1_200, 48_000),
];

#[track_caller]
fn budget(answer: &Answer) -> (u64, u64) {
    let reset = answer.number("ratelimit-reset");
    assert!(reset <= 60, "a window of a minute resets in {reset} s");
    (
        answer.number("ratelimit-limit"),
        answer.number("ratelimit-remaining"),
    )
}

async fn refused_write(caller: &Caller) -> Answer {
    caller.post(IMAGE, json!({})).await
}

async fn every_answer_tells_the_budget_that_it_spent_from(mock: Mock) {
    let open = mock.open();
    assert_eq!(budget(&open.get("/v1/jobs").await), (4_800, 4_799));
    assert_eq!(
        budget(&open.get("/v1/video-router/models").await),
        (4_800, 4_798)
    );
    let submitted = open.post(IMAGE, image()).await.expect(202);
    assert_eq!(budget(&submitted), (120, 119));
    let id = submitted.data()["job"]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        budget(&open.post_nothing(&format!("/v1/jobs/{id}/cancel")).await),
        (120, 118)
    );
    assert_eq!(
        budget(&open.get(&format!("/v1/jobs/{id}/status")).await),
        (4_800, 4_797)
    );
    assert_eq!(
        budget(&open.post(TOP_UPS, json!({"amount_usd_cents": 500})).await),
        (120, 117)
    );
    let developer = mock.developer();
    assert_eq!(budget(&developer.get("/v1/jobs").await), (4_800, 4_799));
}

async fn refusals_spend_and_tell_the_budget_too(mock: Mock) {
    let open = mock.open();
    let keyed = mock.open().idempotency_key("order-1");
    submit(&keyed, VIDEO, video()).await;
    let json_type = Some("application/json");
    let too_large = Bytes::from(vec![b' '; 4 * 1024 * 1024 + 1]);
    let dear = json!({"amount_usd_cents": 1});
    let refusals = [
        (open.post(VIDEO, json!({})).await, 400),
        (open.send("POST", VIDEO, json_type, "{".into()).await, 400),
        (
            open.send("POST", VIDEO, Some("text/plain"), "{}".into())
                .await,
            415,
        ),
        (open.send("POST", VIDEO, json_type, too_large).await, 413),
        (open.post_nothing("/v1/jobs/job_unknown/cancel").await, 404),
        (keyed.post(VIDEO, image()).await, 409),
        (open.post(TOP_UPS, dear).await, 400),
    ];
    for (index, (answer, status)) in (0..).zip(refusals) {
        assert_eq!(answer.status(), status, "{answer:?}");
        assert_eq!(budget(&answer), (120, 118 - index), "{answer:?}");
    }
    assert_eq!(
        budget(&open.get("/v1/jobs/job_unknown").await.expect(404)),
        (4_800, 4_799)
    );
    let developer = mock.caller(Host::Open).bearer("svc_dev_demo");
    let refused = developer.get("/v1/open/top-ups/top_x").await.expect(403);
    assert_eq!(budget(&refused), (4_800, 4_799));
}

async fn the_plan_sets_the_budget(mock: Mock) {
    for (plan, writes, reads) in BUDGETS {
        let workspace = format!("ws_{plan}");
        let key = mock
            .new_key(json!({"kind": "open", "workspace": workspace, "plan": plan}))
            .await;
        let caller = mock.caller(Host::Open).bearer(&key);
        assert_eq!(budget(&caller.get("/v1/jobs").await).0, reads, "{plan}");
        assert_eq!(
            budget(&caller.post(ESTIMATE, json!({})).await).0,
            writes,
            "{plan}"
        );
    }
}

async fn the_plan_of_the_demo_workspace_sets_its_budget(mock: Mock) {
    assert_eq!(budget(&mock.open().get("/v1/jobs").await), (12_000, 11_999));
    assert_eq!(
        budget(&mock.developer().get("/v1/jobs").await),
        (12_000, 11_999)
    );
}

async fn the_writes_of_a_minute_are_counted_exactly(mock: Mock) {
    let open = mock.open();
    for spent in 1..=120 {
        assert_eq!(
            budget(&refused_write(&open).await.expect(400)),
            (120, 120 - spent)
        );
    }
    let refused = refused_write(&open).await;
    assert_eq!(budget(&refused), (120, 0));
    let wait = refused.number("retry-after");
    assert!((1..=60).contains(&wait), "retry-after {wait}");
    let error = refused.refused(429, "rate_limited");
    assert_eq!(error["details"]["scope"], "write");
}

async fn the_reads_of_a_minute_are_counted_exactly(mock: Mock) {
    let open = mock.open();
    for spent in 1..=4_800 {
        let answer = open.get("/v1/jobs/job_unknown/status").await;
        assert_eq!(budget(&answer), (4_800, 4_800 - spent), "{answer:?}");
    }
    let refused = open.get("/v1/jobs").await;
    assert!(refused.number("retry-after") >= 1, "{refused:?}");
    let error = refused.refused(429, "rate_limited");
    assert_eq!(error["details"]["scope"], "read");
    refused_write(&open).await.expect(400);
}

async fn reads_and_writes_are_budgets_of_their_own(mock: Mock) {
    let open = mock.open();
    for _ in 0..120 {
        refused_write(&open).await.expect(400);
    }
    refused_write(&open).await.expect(429);
    assert_eq!(
        budget(&open.get("/v1/jobs").await.expect(200)),
        (4_800, 4_799)
    );
}

async fn each_key_has_its_own_budget(mock: Mock) {
    let open = mock.open();
    for _ in 0..5 {
        refused_write(&open).await.expect(400);
    }
    let key = mock
        .new_key(json!({"kind": "open", "workspace": "ws_demo"}))
        .await;
    let other = mock.caller(Host::Open).bearer(&key);
    assert_eq!(budget(&refused_write(&other).await), (120, 119));
    // The same key in its other form is the same key.
    let same = mock.caller(Host::Open).api_key("svc_open_demo");
    assert_eq!(budget(&refused_write(&same).await), (120, 114));
}

async fn a_head_request_is_a_read(mock: Mock) {
    let open = mock.open();
    let answer = open
        .send("HEAD", "/v1/jobs", None, Bytes::new())
        .await
        .expect(200);
    assert_eq!(budget(&answer), (4_800, 4_799));
}

async fn an_estimate_is_a_write(mock: Mock) {
    let estimate = json!({"model": "image-i", "input": {"prompt": "p"}});
    assert_eq!(
        budget(&mock.open().post(ESTIMATE, estimate).await.expect(200)),
        (120, 119)
    );
}

async fn the_budget_is_whole_again_after_the_reset(mock: Mock) {
    let open = mock.open();
    for _ in 0..7 {
        refused_write(&open).await.expect(400);
    }
    let reset = open.get("/v1/jobs").await.number("ratelimit-reset");
    assert!(reset >= 1, "the window is not over yet");
    mock.advance(reset).await;
    assert_eq!(budget(&refused_write(&open).await), (120, 119));
    mock.advance(60).await;
    assert_eq!(budget(&refused_write(&open).await), (120, 119));
}

async fn a_caller_who_waits_for_retry_after_is_served(mock: Mock) {
    let open = mock.open();
    mock.advance(17).await;
    for _ in 0..120 {
        refused_write(&open).await.expect(400);
    }
    let wait = refused_write(&open).await.expect(429).number("retry-after");
    mock.advance(wait).await;
    refused_write(&open).await.expect(400);
}

async fn reads_without_a_key_are_limited_by_address(mock: Mock) {
    let stranger = mock.caller(Host::Open).bearer("nonsense");
    for _ in 0..480 {
        stranger.get("/v1/jobs").await.expect(401);
    }
    let refused = stranger.get("/v1/jobs").await;
    assert!(refused.number("retry-after") >= 1, "{refused:?}");
    refused.refused(429, "rate_limited");
    mock.open().get("/v1/jobs").await.expect(200);
    stranger.post(IMAGE, image()).await.expect(401);
    mock.advance(60).await;
    stranger.get("/v1/jobs").await.expect(401);
}

async fn writes_without_a_key_are_limited_by_address(mock: Mock) {
    let stranger = mock.caller(Host::Open);
    for _ in 0..120 {
        stranger.post(IMAGE, image()).await.expect(401);
    }
    stranger
        .post(IMAGE, image())
        .await
        .refused(429, "rate_limited");
    mock.open().post(IMAGE, image()).await.expect(202);
}
