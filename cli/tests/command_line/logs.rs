//! The commands of all operations, and what they log.

use std::collections::BTreeSet;

use svc_mock_server::{DEVELOPER_API_KEY, OPEN_API_KEY};
use svc_sdk::contract::Operation;

use crate::test_env::{CommandOutput, TestEnv};

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
        "agent_completions_create" | "formats_runs_create" | "formats_by_slug_runs_create" => {
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
    let mut command = env.developer_surface("webhook secret show --jq .secret");
    let secret = CommandOutput::of(&mut command);
    assert!(cfg!(not(feature = "jq")) || secret.out.starts_with("whsec_"), "{}", secret.out);
    assert_eq!(operations.as_array().unwrap().len(), Operation::ALL.len());
    for operation in operations.as_array().unwrap() {
        let name = operation["name"].as_str().unwrap();
        for field in ["method", "path", "surface", "auth", "scope", "budget", "retry", "summary"] {
            assert!(operation.get(field).is_some(), "{operation}");
        }
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
        let mut command = env.both_surfaces("-vvv");
        command.args(words).args(flags(name)).env("SVC_MCP_URL", env.mock.mcp_url());
        let run = CommandOutput::of(&mut command);
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
