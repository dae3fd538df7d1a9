//! `Idempotency-Key` of submits, which is valid for a day per workspace and operation, and of
//! operations that do not document it.

use super::runs::{BULK, Kind};
use super::*;

scripts! {
    a_replay_returns_the_original_receipt_and_is_not_charged r#"
        for <request> in video image
          open key=order-1 <request> => 202 .=<receipt> job.id=<id> @x-svc-request-id=<request_id>
          open key=order-1 <request> => 200 .=<receipt> @x-svc-request-id!=<request_id>
          advance 8
          open /v1/jobs/<id>/status => 200 status=completed
          control /ledger => 200 .=<ledger>
          open key=order-1 <request> => 200 .=<receipt>
          control /ledger => 200 .=<ledger>
        control /jobs => 200 #=2
        # Equal JSON values are one request.
        open key=order-1 /v1/video-router/generate { "prompt": "a red fox", "duration":2, "model": "video-l" } => 200
        # The key is checked before the body.
        for <body> in {} [] {"model":"video-l","prompt":"a red fox","duration":2.0} {"model":"video-l","prompt":"a red fox"}
          open key=order-1 /v1/video-router/generate <body> => 409 idempotency_conflict
        for <fields> in {"prompt":"a"} {"duration":3} {"seed":1}
          open key=order-1 video <fields> => 409 idempotency_conflict
        open key=order-2 video {"metadata": {"x": 1, "y": [1, 2]}} => 202
        open key=order-2 video {"metadata": {"y": [1, 2], "x": 1}} => 200
        for <metadata> in {"x":1,"y":[2,1]} {"x":1.0,"y":[1,2]} {"x":"1","y":[1,2]} {"x":1,"y":[1,2],"z":null}
          open key=order-2 video {"metadata": <metadata>} => 409 idempotency_conflict
    "#
    a_rejected_submit_releases_its_key [balance_usd("1.0000")] r#"
        open key=order-1 /v1/video-router/generate {"model": "video-l", "duration": 2} => 400 invalid_request prompt
        open key=order-1 video {"duration": 30} => 402 insufficient_funds
        open key=order-1 video => 202
        open key=order-1 video => 200
        available 0.8750
    "#
    a_key_expires_after_a_day r#"
        open key=order-1 video => 202 job.id=<id> .=<receipt>
        advance 86399.999
        open key=order-1 video => 200 .=<receipt>
        advance 0.001
        open key=order-1 video => 202 job.id!=<id> .=<second>
        open key=order-1 video => 200 .=<second>
    "#
    keys_are_scoped_to_the_operation_and_the_workspace r#"
        open key=order-1 video => 202 job.id=<id> .=<receipt>
        open key=order-1 image => 202
        open key=order-1 top-up => 201
        control /keys {"kind": "open", "workspace": "ws_demo"} => 201 key=<same>
        open:<same> key=order-1 video => 200 .=<receipt>
        control /keys {"kind": "open", "workspace": "ws_elsewhere"} => 201 key=<other>
        open:<other> key=order-1 video => 202 job.id!=<id>
    "#
    an_undocumented_key_is_ignored_or_honored_as_the_setting_says r#"
        for <request> <fields> in
          | /v1/image-1.0/generate {"prompt":"a red fox"}
          | /v1/video-1.0/generate {"prompt":"a red fox"}
          | music {}
          | /v1/models/studio/image-1.0/runs {"prompt":"a red fox"}
          | preview {}
          | /v1/video-captions {"video_url":"https://cdn.example.com/a.mp4"}
          developer key=order-1 <request> <fields> => 202 job.id=<id> job.type=<type>
          developer key=order-1 <request> <fields> => 202 job.id=<second> job.type=<type>
          developer /v1/jobs/<second> => 200 id!=<id>
          developer /v1/usage => 200 0.amount_usd=<price>
          developer /v1/usage => 200 1.amount_usd=<price>
          advance 30
        control /jobs => 200 #=12
        # Another body is not a conflict.
        developer key=order-1 music {"prompt": "a march"} => 202
        developer key=order-1 run:action => 202 run_id=<run>
        developer key=order-1 run:action => 202 run_id!=<run>
    "#
    a_lenient_mock_replays_submits [honors_undocumented_keys(true)] r#"
        for <request> <fields> in
          | /v1/image-1.0/generate {"prompt":"a red fox"}
          | /v1/video-1.0/generate {"prompt":"a red fox"}
          | music {}
          | /v1/models/studio/image-1.0/runs {"prompt":"a red fox"}
          | preview {}
          | /v1/video-captions {"video_url":"https://cdn.example.com/a.mp4"}
          developer key=order-1 <request> <fields> => 202 .=<receipt>
          developer key=order-1 <request> <fields> => 200 .=<receipt>
          advance 30
        control /jobs => 200 #=6
        developer key=order-1 music {"prompt": "a march"} => 409 idempotency_conflict
        developer key=order-1 run:action => 202 .=<run>
        developer key=order-1 run:action => 200 .=<run>
    "#
    estimates_ignore_directives_and_idempotency_keys r#"
        for <prompt> in [mock:refuse=database_busy] x
          open key=order-1 estimate {"model": "image-i", "input": {"prompt": "<prompt>"}} => 200
    "#
}

on_every_frontend! {
    concurrent_retries_create_one_job,
    keys_of_1_to_255_printable_characters_are_accepted,
    the_setting_is_part_of_the_state,
    malformed_keys_are_rejected_by_every_operation_with_a_body,
}

async fn concurrent_retries_create_one_job(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let keyed = mock.open().idempotency_key("order-1");
        calls.spawn(async move { keyed.post(VIDEO, video()).await });
    }
    assert_created_once(&calls.join_all().await);
    let jobs = mock.jobs().await;
    assert_eq!(jobs.len(), 1);
    let id = text(&jobs[0]["id"]);
    assert_eq!(ledger_amounts(&mock, "reservation", &id).await, [1_250]);
}

async fn keys_of_1_to_255_printable_characters_are_accepted(mock: Mock) {
    let longest = "k".repeat(255);
    let all_printable: String = (b'!'..=b'~').map(char::from).collect();
    for key in ["a", "two words", &all_printable, &longest] {
        let keyed = mock.open().idempotency_key(key);
        let first = keyed.post_data(IMAGE, image(), 202).await;
        assert_eq!(keyed.post_data(IMAGE, image(), 200).await, first, "{key:?}");
        mock.advance(2).await;
    }
}

async fn the_setting_is_part_of_the_state(mock: Mock) {
    let lenient = svc_tests::Setup::default().honors_undocumented_keys(true);
    let lenient = mock.start_another(lenient).await;
    mock.put_state(lenient.state().await).await.expect_success();
    let script = "developer key=order-1 music => 202 .=<receipt>
        developer key=order-1 music => 200 .=<receipt>";
    run_script(&mock, None, script).await;
}

async fn malformed_keys_are_rejected_by_every_operation_with_a_body(mock: Mock) {
    let prompt = json!({"prompt": "a red fox"});
    let submitted = mock.developer().post_data("/v1/music-1.0/generate", prompt.clone(), 202).await;
    let cancel = format!("/v1/jobs/{}/cancel", text(&submitted["job"]["id"]));
    let requests = [
        ("/v1/image-1.0/generate", prompt.clone()),
        ("/v1/models/studio/image-1.0/runs", prompt),
        ("/v1/avatar-video-previews", json!({"avatar_handle": "ada", "script": "Hello."})),
        ("/v1/video-captions", json!({"video_url": VIDEO_URL})),
        (Kind::Action.start(), Kind::Action.body("x")),
        (Kind::Format.start(), Kind::Format.body("x")),
        (Kind::Agent.start(), Kind::Agent.body("x")),
        (BULK, json!({"items": [{"instruction": "x"}]})),
        (cancel.as_str(), json!({})),
        ("/v1/bgm/pick", json!({})),
        ("/v1/generation/admission-preview", json!({})),
        ("/v1/webhooks/signing-secret/rotate", json!({})),
        ("/v1/webhooks/test-deliveries", json!({})),
        ("/mcp", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})),
    ];
    let estimate = json!({"model": "image-i", "input": {"prompt": "x"}});
    let too_long = "k".repeat(256);
    for key in ["", "a\tb", "schl\u{fc}ssel", "\u{1f511}", &too_long] {
        let (open, developer) = (mock.open(), mock.developer());
        let (open, developer) = (open.idempotency_key(key), developer.idempotency_key(key));
        for (path, body) in &requests {
            let response = developer.post(path, body.clone()).await;
            response.expect_invalid_field("Idempotency-Key");
        }
        for (path, body) in [(VIDEO, video()), (IMAGE, image()), (ESTIMATE, estimate.clone())] {
            open.post(path, body).await.expect_invalid_field("Idempotency-Key");
        }
        // Reads have no body.
        developer.get("/v1/jobs").await.expect(200);
    }
    assert_eq!(mock.jobs().await.len(), 1);
}
