//! `-v`, `SVC_LOG` and the pauses before retries.

use std::collections::BTreeSet;
use std::process::Command;

use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY};

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

/// Adds the log lines to a command, by flag or by variable.
fn with_log(command: &mut Command, flag: &str, variable: &str) -> CommandOutput {
    if !flag.is_empty() {
        command.arg(flag);
    }
    if !variable.is_empty() {
        command.env("SVC_LOG", variable);
    }
    CommandOutput::of(command).assert_exit(0)
}

#[test]
fn each_request_is_a_line_with_v() {
    let env = TestEnv::new();
    env.add_fault("open_catalog_get", "status_503", 1);
    for (flag, variable) in [("-v", ""), ("", "info"), ("-v", "off"), ("", "svc_sdk=info")] {
        let run = with_log(&mut env.open_surface("pricing get video-f"), flag, variable);
        let lines: Vec<_> = run.err.lines().filter(|line| line.starts_with("GET ")).collect();
        let last = lines.last().unwrap();
        assert!(last.starts_with("GET /v1/open/catalog/video-f 200 in "), "{}", run.err);
        assert!(last.contains("(attempt ") && last.contains(", request req_"), "{last}");
        assert!(!run.err.contains("> "), "{}", run.err);
        run.json();
    }
    env.add_fault("open_catalog_get", "status_503", 1);
    let run = with_log(&mut env.open_surface("pricing get video-f"), "-v", "");
    let lines: Vec<_> = run.err.lines().collect();
    let [first, pause, second] = lines.as_slice() else { panic!("{}", run.err) };
    assert!(
        first.starts_with("GET /v1/open/catalog/video-f 503 in ") && first.contains("(attempt 1"),
        "{first}"
    );
    assert!(pause.starts_with("service busy (503 database_busy), retrying in "), "{pause}");
    assert!(pause.ends_with("(attempt 2 of 6)"), "{pause}");
    assert!(
        second.starts_with("GET /v1/open/catalog/video-f 200 in ") && second.contains("(attempt 2"),
        "{second}"
    );
}

#[test]
fn headers_come_with_vv_and_bodies_with_vvv() {
    let env = TestEnv::new();
    let words = "estimate --model video-f --duration 5 --prompt 'a fox'";
    for (flag, variable, has_bodies) in
        [("-vv", "", false), ("", "debug", false), ("-vvv", "", true), ("", "trace", true)]
    {
        let run = with_log(&mut env.open_surface(words), flag, variable);
        let url = env.mock.base_url();
        for line in [
            format!("> POST {url}/v1/open/estimate"),
            "> authorization: [redacted]".to_owned(),
            "> content-type: application/json".to_owned(),
            "< 200".to_owned(),
            "< content-type: application/json".to_owned(),
        ] {
            assert!(run.err.lines().any(|it| it.starts_with(&line)), "{line} in {}", run.err);
        }
        let is_body = |line: &&str| line.starts_with("> {") || line.starts_with("< {");
        assert_eq!(
            run.err.lines().filter(is_body).count(),
            if has_bodies { 2 } else { 0 },
            "{}",
            run.err
        );
    }
}

#[test]
fn a_download_is_a_line_without_its_query() {
    let env = TestEnv::new();
    let run = env.generate_image("a fox", &["--yes", "--download", "out", "-vvv"]).assert_exit(0);
    assert!(
        run.err.lines().any(|line| line.starts_with("GET http://") && line.contains("/artifacts/")),
        "{}",
        run.err
    );

    let body = r#"{"data":{"id":"job_1","status":"completed","artifacts":[{"id":"art_1","url":"https://cdn.invalid/x.png?sig=canary"}]}}"#;
    let service = FakeServer::answering("200 OK", body);
    let run = env.run_at(&service.url, "job get job_1 -vvv").assert_exit(0);
    assert!(
        run.err.contains("https://cdn.invalid/x.png?…") && !run.err.contains("canary"),
        "{}",
        run.err
    );
}

#[test]
fn a_long_pause_is_a_line_unless_quiet() {
    let env = TestEnv::new();
    let busy = |seconds: u64| {
        let fault = serde_json::json!({"operation": "open_catalog_get", "kind": "status_503", "times": 1, "retry_after_seconds": seconds});
        env.mock.add_fault(serde_json::from_value(fault).unwrap()).unwrap();
    };
    busy(2);
    let run = env.run("pricing get video-f").assert_exit(0);
    assert_eq!(run.err, "service busy (503 database_busy), retrying in 2 s (attempt 2 of 6)\n");
    busy(2);
    let run = env.run("pricing get video-f --quiet").assert_exit(0);
    assert_eq!(run.err, "");
    busy(0);
    let run = env.run("pricing get video-f").assert_exit(0);
    assert_eq!(run.err, "");
}

#[test]
fn an_invalid_filter_is_a_usage_error() {
    let env = TestEnv::new();
    let mut command = env.open_surface("job list -o json");
    let run = CommandOutput::of(command.env("SVC_LOG", "svc_sdk=loud")).assert_exit(2);
    assert!(
        run.error()["message"].as_str().unwrap().contains("invalid SVC_LOG `svc_sdk=loud`"),
        "{}",
        run.err
    );
}

#[test]
fn the_service_cannot_forge_a_log_line() {
    let env = TestEnv::new();
    let body = "{\"data\":{\"id\":\"job_1\",\"status\":\"queued\",\"note\":\"\\u001b[2J\\nGET /forged 200\"}}";
    let service = FakeServer::answering("200 OK\r\nx-svc-request-id: req\x1b[2J", body);
    let run = env.run_at(&service.url, "job get job_1 -vvv");
    assert!(!run.err.contains('\u{1b}') && !run.err.contains("\nGET /forged"), "{:?}", run.err);
}

/// The flags without which a command of that operation sends nothing.
fn flags(operation: &str) -> &'static [&'static str] {
    match operation {
        "image_generate" | "video_generate" | "image_1_generate" | "video_1_generate"
        | "music_1_generate" => &["--prompt", "a fox", "--yes", "--no-wait", "--new"],
        "avatar_generate" => &["--prompt", "a fox", "--yes", "--no-wait"],
        "avatar_talking_video" => {
            &["--avatar-handle", "ada", "--script", "Hello.", "--yes", "--no-wait"]
        }
        "open_estimate" => &["--model", "video-f", "--prompt", "a fox"],
        "top_ups_create" => &["--amount-usd-cents", "2000"],
        "actions_runs_create" => &["--yes", "--no-wait"],
        "agent_completions_create" => {
            &["--instruction", "hello", "--cap", "1", "--yes", "--no-wait"]
        }
        "formats_runs_create" | "formats_by_slug_runs_create" => {
            &["--instruction", "hello", "--cap", "1", "--yes", "--no-wait"]
        }
        "formats_bulk_create" | "formats_by_slug_bulk_create" => {
            &["--input", "items.jsonl", "--cap", "1", "--yes", "--no-wait"]
        }
        "avatar_catalog_search" | "trending_videos_search" => &["fox"],
        "avatar_previews_create" | "video_captions_create" => {
            &["--param", "video_url=\"https://media.example/x?sig=canary\"", "--yes", "--no-wait"]
        }
        "signing_secret_rotate" => &["--yes"],
        "hidden_admission_preview" => {
            &["--body", "{\"prompt\": \"a fox\"}", "--surface", "developer"]
        }
        name if name.starts_with("alias_") => {
            &["--param", "prompt=\"a fox\"", "--yes", "--no-wait"]
        }
        _ => &[],
    }
}

#[test]
fn no_command_shows_a_secret_at_any_level() {
    let env = TestEnv::new();
    let job = env.submit_image("a fox");
    std::fs::write(env.path("items.jsonl"), "{\"instruction\": \"a\"}\n").unwrap();
    let operations = env.run("operations -o json").json();
    let secret = env.developer("webhook secret show --jq .secret");
    assert!(cfg!(not(feature = "jq")) || secret.out.starts_with("whsec_"), "{}", secret.out);
    for operation in operations.as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        let command = operation["cli"].as_str().unwrap().split(" | ").next().unwrap();
        let words = command.split(' ').skip(1).map(|word| match word {
            "JOB_ID" => job.as_str(),
            "MODEL_ID" if name == "image_models_get" => "image-i",
            "MODEL_ID" => "video-f",
            "HANDLE/SLUG" => "demo/teaser",
            "URL" => "https://hooks.example/?token=canary",
            "ID" | "AVATAR_ID" | "RUN_ID" | "QUEUE_ID" | "TOP_UP_ID" | "ACTION_ID"
            | "FORMAT_ID" => "id_1",
            word => word,
        });
        let mut command = env.open_surface("-vvv");
        let run = CommandOutput::of(
            command
                .args(words)
                .args(flags(name))
                .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
                .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY)
                .env("SVC_MCP_URL", env.mock.mcp_url())
                .env("SVC_FIRST_PARTY_OWNER", "studio"),
        );
        // Standard output is the service's data, which includes the URL as it was given.
        for secret in ["canary", "token="] {
            assert!(!run.err.contains(secret), "{name} shows {secret}: {}", run.err);
        }
        let is_secret_shown = name == "signing_secret_get" || name == "signing_secret_rotate";
        let shown = match is_secret_shown {
            true => run.err.clone(),
            false => format!("{}{}", run.err, run.out),
        };
        for secret in [OPEN_API_KEY, DEVELOPER_API_KEY] {
            assert!(!shown.contains(secret), "{name} shows {secret}: {shown}");
        }
        for (start, prefix) in shown.match_indices("whsec_") {
            let next = shown[start + prefix.len()..].chars().next();
            assert!(!next.is_some_and(char::is_alphanumeric), "{name}: {shown}");
        }
    }
    let reached: BTreeSet<_> = env
        .mock
        .requests(0)
        .iter()
        .filter_map(|request| Some(request["operation"].as_str()?.to_owned()))
        .collect();
    let missing: Vec<_> = operations
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|operation| operation["name"].as_str())
        .filter(|name| !reached.contains(*name) && (cfg!(feature = "mcp") || *name != "mcp"))
        .collect();
    assert!(missing.is_empty(), "these sent nothing: {missing:?}");
}
