//! The field that a `400 invalid_request` names.

use serde_json::{Map, Value, json};
use svc_tests::{Client, Mock, Response, on_every_frontend};

use super::runs::RUNS;
use super::{ESTIMATE, TOP_UPS, VIDEO, with};

on_every_frontend! {
    estimates_and_top_ups_name_the_invalid_field: plan("scale"),
    generation_names_the_invalid_field: plan("scale"),
    avatars_name_the_invalid_field: plan("scale"),
    searches_and_captions_name_the_invalid_field: plan("scale"),
    runs_name_the_invalid_field: plan("scale"),
    queues_name_the_invalid_field: plan("scale"),
    run_caps_out_of_range_are_rejected: plan("scale"),
    lists_name_the_invalid_query_parameter,
}

const CLIP: &str = "https://cdn.example.com/a.mp4";
const STILL: &str = "https://cdn.example.com/a.png";

#[track_caller]
fn assert_invalid_field(response: &Response, field: &str, request: &str) {
    let error = response.expect_error(400, "invalid_request");
    let shown: String = request.chars().take(200).collect();
    assert_eq!(error["details"]["field"], field, "{shown}");
}

async fn assert_invalid_fields<'a>(
    client: &Client,
    path: &str,
    cases: impl IntoIterator<Item = (Value, &'a str)>,
) {
    for (body, field) in cases {
        let request = format!("{path} {body}");
        let response = client.post(path, body).await;
        assert_invalid_field(&response, field, &request);
    }
}

async fn estimates_and_top_ups_name_the_invalid_field(mock: Mock) {
    let open = mock.open();
    let estimate = |input: Value| json!({"model": "video-f", "input": input});
    let cases = [
        (json!({"input": {}}), "model"),
        (json!({"model": "video-f"}), "input"),
        (estimate(Value::Null), "input"),
        (json!({"model": "video-x", "input": {}}), "model"),
        (estimate(json!({})), "input.prompt"),
        (
            estimate(json!({"prompt": "x", "duration": 3})),
            "input.duration",
        ),
        (
            estimate(json!({"prompt": "x", "model": "video-f"})),
            "input.model",
        ),
        (
            estimate(json!({"prompt": "x", "mode": "webhook"})),
            "input.webhook_url",
        ),
        (
            with(estimate(json!({"prompt": "x"})), json!({"colour": 1})),
            "colour",
        ),
    ];
    assert_invalid_fields(&open, ESTIMATE, cases).await;
    let top_up = |fields: Value| with(json!({"amount_usd_cents": 500}), fields);
    let cases = [
        (
            top_up(json!({"success_url": "http://shop.example/"})),
            "success_url",
        ),
        (top_up(json!({"cancel_url": "shop"})), "cancel_url"),
        (top_up(json!({"success_url": ""})), "success_url"),
        (top_up(json!({"currency": "EUR"})), "currency"),
    ];
    assert_invalid_fields(&open, TOP_UPS, cases).await;
    let empty = open.send("POST", VIDEO, None, bytes::Bytes::new()).await;
    assert_invalid_field(&empty, "body", "an empty body");
    let keyed = open.idempotency_key("a\tb");
    let response = keyed.post(VIDEO, super::video()).await;
    assert_invalid_field(&response, "Idempotency-Key", "a tab in the key");
}

async fn generation_names_the_invalid_field(mock: Mock) {
    let developer = mock.developer();
    let prompt = |fields: Value| with(json!({"prompt": "x"}), fields);
    let image = [
        (json!({}), "prompt"),
        (json!({"prompt": " "}), "prompt"),
        (prompt(json!({"model": "image-i"})), "model"),
        (prompt(json!({"num_images": 5})), "num_images"),
    ];
    assert_invalid_fields(&developer, "/v1/image-1.0/generate", image).await;
    let video = [
        (prompt(json!({"duration": 31})), "duration"),
        (prompt(json!({"owner_user_id": "u"})), "owner_user_id"),
        (prompt(json!({"mode": "webhook"})), "webhook_url"),
    ];
    assert_invalid_fields(&developer, "/v1/video-1.0/generate", video).await;
    let music = [
        (prompt(json!({"duration": 4})), "duration"),
        (prompt(json!({"resolution": "720p"})), "resolution"),
    ];
    assert_invalid_fields(&developer, "/v1/music-1.0/generate", music).await;
    for model in ["image-1.0", "video-1.0", "music-1.0"] {
        let path = format!("/v1/models/studio/{model}/runs");
        assert_invalid_fields(&developer, &path, [(json!({}), "prompt")]).await;
    }
    let preview = "/v1/generation/admission-preview";
    let cases = [
        (
            json!({"model": "video-1.0", "input": {"prompt": "x", "duration": 1}}),
            "input.duration",
        ),
        (json!({"model": "video-9"}), "model"),
    ];
    assert_invalid_fields(&developer, preview, cases).await;
    assert!(mock.jobs().await.is_empty());
}

async fn avatars_name_the_invalid_field(mock: Mock) {
    let developer = mock.developer();
    let input = |input: Value| json!({"avatar_handle": "mia", "input": input});
    let prompt = || input(json!({"prompt": "x"}));
    let avatar = [
        (input(json!({})), "input"),
        (input(json!({"prompt": "x", "props": {"a": 1}})), "input"),
        (input(json!({"prompt": " "})), "input.prompt"),
        (input(json!({"props": {}})), "input.props"),
        (input(json!({"props": "x"})), "input.props"),
        (
            input(json!({"image_url": "http://cdn.example.com/a.png"})),
            "input.image_url",
        ),
        (input(json!({"image_url": CLIP})), "input.image_url"),
        (input(json!({"voice": "low"})), "input.voice"),
        (input(json!("x")), "input"),
        (json!({"avatar_handle": "mia"}), "input"),
        (json!({"input": {"prompt": "x"}}), "avatar_handle"),
        (
            with(prompt(), json!({"avatar_handle": "M a"})),
            "avatar_handle",
        ),
        (
            with(prompt(), json!({"avatar_handle": "kofi"})),
            "avatar_handle",
        ),
        (with(prompt(), json!({"name": "Mia"})), "name"),
        (with(prompt(), json!({"user_id": "u"})), "user_id"),
    ];
    assert_invalid_fields(&developer, "/v1/avatar-1.0/generate", avatar).await;
    let talking = |fields: Value| with(json!({"avatar_handle": "ada", "script": "Hi."}), fields);
    let video = [
        (json!({"avatar_handle": "ada"}), "script"),
        (json!({"script": "Hi."}), "avatar_handle"),
        (
            talking(json!({"avatar_handle": "unknown"})),
            "avatar_handle",
        ),
        (talking(json!({"script": "  "})), "script"),
        (
            talking(json!({"video_inputs": [{"script": "Hi."}]})),
            "video_inputs",
        ),
        (
            json!({"avatar_handle": "ada", "video_inputs": []}),
            "video_inputs",
        ),
        (
            json!({"avatar_handle": "ada", "video_inputs": ["Hi."]}),
            "video_inputs[0]",
        ),
        (talking(json!({"quality": "ultra"})), "quality"),
        (
            talking(json!({"product_image": "ftp://x"})),
            "product_image",
        ),
        (talking(json!({"product_image": 7})), "product_image"),
        (
            talking(json!({"scene": {"image_url": "https://localhost/a.png"}})),
            "scene.image_url",
        ),
        (talking(json!({"prompt": "x"})), "prompt"),
        (talking(json!({"workspace_id": "ws_other"})), "workspace_id"),
    ];
    assert_invalid_fields(&developer, "/v1/avatar-1.0/talking-video", video).await;
    let swap = [
        (json!({"avatar_handle": "ada"}), "video_url"),
        (
            json!({"avatar_handle": "ada", "video_url": CLIP, "image_url": STILL}),
            "image_url",
        ),
        (
            json!({"avatar_handle": "zoe", "video_url": CLIP}),
            "avatar_handle",
        ),
    ];
    let path = "/v1/models/studio/avatar-face-swap/v1.0/runs";
    assert_invalid_fields(&developer, path, swap).await;
    assert!(mock.jobs().await.is_empty());
}

async fn searches_and_captions_name_the_invalid_field(mock: Mock) {
    let developer = mock.developer();
    for path in ["/v1/avatar-catalog/search", "/v1/trending-videos/search"] {
        let cases = [
            (json!({}), "query"),
            (json!({"query": " "}), "query"),
            (json!({"query": "x", "limit": 0}), "limit"),
            (json!({"query": "x", "limit": 51}), "limit"),
            (json!({"query": "x", "sort": "views"}), "sort"),
        ];
        assert_invalid_fields(&developer, path, cases).await;
    }
    let captions = [
        (json!({}), "video_url"),
        (
            json!({"video_url": CLIP, "language": "english"}),
            "language",
        ),
        (json!({"video_url": CLIP, "format": "srt"}), "format"),
    ];
    assert_invalid_fields(&developer, "/v1/video-captions", captions).await;
    let pick = [
        (json!({"tempo": 120}), "tempo"),
        (json!({"mood": 7}), "mood"),
        (json!({"user_id": "u"}), "user_id"),
    ];
    assert_invalid_fields(&developer, "/v1/bgm/pick", pick).await;
    let hook = "https://hooks.example.com/";
    let delivery = [
        (json!({}), "url"),
        (json!({"url": "https://localhost/"}), "url"),
        (json!({"url": "http://hooks.example/"}), "url"),
        (json!({"url": "https://[::ffff:10.0.0.1]/"}), "url"),
        (
            json!({"url": format!("{hook}{}", "x".repeat(2_048))}),
            "url",
        ),
        (json!({"url": hook, "event": "x"}), "event"),
    ];
    assert_invalid_fields(&developer, "/v1/webhooks/test-deliveries", delivery).await;
}

async fn runs_name_the_invalid_field(mock: Mock) {
    let run = |fields: Value| with(json!({"instruction": "x"}), fields);
    let keys: Map<_, _> = (0..65).map(|n| (format!("k{n}"), json!(n))).collect();
    let hooks = json!({
        "webhook_url": "https://a.example/",
        "communication": {"webhook_url": "https://b.example/"}
    });
    let formats = json!({
        "output_schema": {"type": "object"},
        "response_format": {"type": "text"}
    });
    let cases = [
        (json!({}), "instruction"),
        (json!({"attachments": []}), "instruction"),
        (json!({"model": "video-f"}), "instruction"),
        (json!({"instruction": " "}), "instruction"),
        (json!({"instruction": 7}), "instruction"),
        (json!({"input": "x"}), "input"),
        (json!({"input": keys}), "input"),
        (
            json!({"input": {"big": "x".repeat(2 * 1024 * 1024)}}),
            "input",
        ),
        (run(formats), "response_format"),
        (run(json!({"response_format": {}})), "response_format.type"),
        (
            run(json!({"response_format": {"type": "json_schema"}})),
            "response_format.json_schema",
        ),
        (run(json!({"model": "video-x"})), "model"),
        (run(json!({"on_active_run": "queue"})), "on_active_run"),
        (
            run(json!({"webhook_url": "http://hooks.example/"})),
            "webhook_url",
        ),
        (
            run(json!({"webhook_url": "https://10.0.0.1/"})),
            "webhook_url",
        ),
        (run(hooks), "communication.webhook_url"),
        (run(json!({"previous_run_id": 7})), "previous_run_id"),
    ];
    let developer = mock.developer();
    assert_invalid_fields(&developer, RUNS, cases).await;
    let runs = developer.get(RUNS).await.expect(200).items();
    assert!(runs.is_empty(), "{runs:?}");
}

async fn queues_name_the_invalid_field(mock: Mock) {
    let good = json!({"instruction": "x"});
    let queue = |fields: Value| with(json!({"items": [good]}), fields);
    let cases = [
        (json!({}), "items"),
        (json!({"items": []}), "items"),
        (json!({"items": vec![good.clone(); 101]}), "items"),
        (json!({"items": "x"}), "items"),
        (json!({"items": [good, 7]}), "items[1]"),
        (queue(json!({"concurrency": 0})), "concurrency"),
        (queue(json!({"concurrency": 17})), "concurrency"),
        (queue(json!({"concurrency": "4"})), "concurrency"),
        (
            queue(json!({"webhook_url": "http://hooks.example/"})),
            "webhook_url",
        ),
    ];
    let path = "/v1/formats/fmt_demo/bulk-runs";
    assert_invalid_fields(&mock.developer(), path, cases).await;
}

async fn run_caps_out_of_range_are_rejected(mock: Mock) {
    let caps = [
        json!(0),
        json!(-1),
        json!(500.01),
        json!(500.000_000_1),
        json!("5"),
        json!(1e-9),
        json!(true),
    ];
    let cases = caps.map(|cap| {
        let body = json!({"instruction": "x", "generation_spend_cap_usd": cap});
        (body, "generation_spend_cap_usd")
    });
    assert_invalid_fields(&mock.developer(), RUNS, cases).await;
}

async fn lists_name_the_invalid_query_parameter(mock: Mock) {
    let cases = [
        ("/v1/jobs?status=done", "status"),
        ("/v1/jobs?status=", "status"),
        ("/v1/jobs?type=hologram", "type"),
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=1001", "limit"),
        ("/v1/jobs?limit=-1", "limit"),
        ("/v1/jobs?limit=99999999999999999999999", "limit"),
        ("/v1/jobs?cursor=job_x", "cursor"),
        ("/v1/jobs?status=queued&status=failed", "status"),
        ("/v1/usage?limit=0", "limit"),
        ("/v1/usage?limit=x", "limit"),
        ("/v1/usage?cursor=", "cursor"),
        ("/v1/usage?cursor=x", "cursor"),
        ("/v1/usage?cursor=99", "cursor"),
        ("/v1/usage?limit=1&limit=1", "limit"),
        ("/v1/avatar-1.0/avatars?cursor=ava_kofi", "cursor"),
        ("/v1/formats?cursor=fmt_team", "cursor"),
        ("/v1/formats?limit=0", "limit"),
        ("/v1/actions?status=odd", "status"),
        ("/v1/actions?trigger_type=odd", "trigger_type"),
    ];
    for (path, field) in cases {
        let response = mock.developer().get(path).await;
        assert_invalid_field(&response, field, path);
    }
}
