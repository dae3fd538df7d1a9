//! Rate limits per minute and key, counted separately for reads and writes.

use super::*;

scripts! {
    rate_limit_headers_count_down r#"
        open /v1/jobs => 200 @ratelimit-limit=4800 @ratelimit-remaining=4799
        open /v1/video-router/models => 200 @ratelimit-limit=4800 @ratelimit-remaining=4798
        open image => 202 @ratelimit-limit=120 @ratelimit-remaining=119 job.id=<id>
        open POST /v1/jobs/<id>/cancel => 200 @ratelimit-limit=120 @ratelimit-remaining=118
        open /v1/jobs/<id>/status => 200 @ratelimit-limit=4800 @ratelimit-remaining=4797
        open top-up => 201 @ratelimit-limit=120 @ratelimit-remaining=117
        # An estimate is a write.
        open estimate {"model": "image-i", "input": {"prompt": "p"}} => 200 @ratelimit-limit=120 @ratelimit-remaining=116
        open HEAD /v1/jobs => 200 @ratelimit-limit=4800 @ratelimit-remaining=4796
        developer /v1/jobs => 200 @ratelimit-limit=4800 @ratelimit-remaining=4799
    "#
    the_plan_sets_the_limits r#"
        for <plan> <write> <writes> <read> <reads> in
          | free 120 119 4800 4799
          | pro 300 299 12000 11999
          | startup 600 599 24000 23999
          | scale 1200 1199 48000 47999
          | enterprise 1200 1199 48000 47999
          control /keys {"kind": "open", "workspace": "ws_<plan>", "plan": "<plan>"} => 201 key=<key>
          open:<key> /v1/jobs => 200 @ratelimit-limit=<read> @ratelimit-remaining=<reads>
          open:<key> estimate => 400 @ratelimit-limit=<write> @ratelimit-remaining=<writes>
    "#
    the_demo_workspace_has_the_limits_of_its_plan [plan("pro")] r#"
        open /v1/jobs => 200 @ratelimit-limit=12000 @ratelimit-remaining=11999
        developer /v1/jobs => 200 @ratelimit-limit=12000 @ratelimit-remaining=11999
    "#
    writes_are_limited_per_minute_and_key r#"
        repeat 119
          open estimate => 400
        open estimate => 400 @ratelimit-limit=120 @ratelimit-remaining=0
        open estimate => 429 rate_limited details.scope=write @ratelimit-limit=120 @ratelimit-remaining=0 @retry-after=60
        open /v1/jobs => 200 @ratelimit-remaining=4799
        # The header in which a key is sent makes no difference.
        open: x-api-key=svc_open_demo estimate => 429
        control /keys {"kind": "open", "workspace": "ws_demo"} => 201 key=<other>
        open:<other> estimate => 400 @ratelimit-remaining=119
    "#
    reads_are_limited_per_minute r#"
        repeat 4799
          open /v1/jobs/job_unknown/status => 404
        open /v1/jobs/job_unknown/status => 404 @ratelimit-limit=4800 @ratelimit-remaining=0
        open /v1/jobs => 429 rate_limited details.scope=read @retry-after=60
        open estimate => 400
    "#
    requests_without_a_valid_key_are_limited_by_address r#"
        repeat 480
          open:svc_invalid /v1/jobs => 401
        open:svc_invalid /v1/jobs => 429 rate_limited @retry-after=60
        open /v1/jobs => 200
        repeat 120
          open: image => 401
        open: image => 429 rate_limited
        open image => 202
        advance 60
        open:svc_invalid /v1/jobs => 401
        open: image => 401
    "#
}

on_every_frontend! { rejected_requests_count }

/// Asserts the rate limit headers.
#[track_caller]
fn assert_limit(response: &Response, limit: u64, remaining: u64) {
    let headers = ["ratelimit-limit", "ratelimit-remaining"].map(|name| response.int_header(name));
    assert_eq!(headers, [limit, remaining], "{response:?}");
}

async fn rejected_requests_count(mock: Mock) {
    let open = mock.open();
    let keyed = mock.open().idempotency_key("order-1");
    submit(&keyed, VIDEO, video()).await;
    let json_type = Some("application/json");
    let too_large = Bytes::from(vec![b' '; 4 * 1024 * 1024 + 1]);
    let invalid_amount = json!({"amount_usd_cents": 1});
    let rejected = [
        (open.post(VIDEO, json!({})).await, 400),
        (open.send("POST", VIDEO, json_type, "{".into()).await, 400),
        (open.send("POST", VIDEO, Some("text/plain"), "{}".into()).await, 415),
        (open.send("POST", VIDEO, json_type, too_large).await, 413),
        (open.post_empty("/v1/jobs/job_unknown/cancel").await, 404),
        (keyed.post(VIDEO, image()).await, 409),
        (open.post(TOP_UPS, invalid_amount).await, 400),
    ];
    for (index, (response, status)) in (0..).zip(rejected) {
        let response = response.expect(status);
        assert_limit(&response, 120, 118 - index);
    }
    assert_limit(&open.get("/v1/jobs/job_unknown").await.expect(404), 4_800, 4_799);
    let developer = mock.open_as("svc_dev_demo");
    let limited = developer.get("/v1/open/top-ups/top_x").await.expect(403);
    assert_limit(&limited, 4_800, 4_799);
}
