//! Commands on the developer surface.

use svc_mock_server::DEVELOPER_API_KEY;

use crate::test_env::{CommandOutput, TestEnv};

fn id_of(run: &CommandOutput) -> String {
    run.json()["job_id"].as_str().unwrap().to_owned()
}

#[test]
fn account_commands_show_the_workspace_and_the_balance() {
    let env = TestEnv::new();
    let me = env.developer("me").assert_exit(0);
    assert_eq!(me.json()["workspace"]["id"], "ws_demo");
    assert!(!me.out.contains(DEVELOPER_API_KEY));
    let table = env.developer("me -o table").assert_exit(0);
    assert!(table.out.contains("yes: job redeliver"), "{}", table.out);
    let balance = env.developer("balance").assert_exit(0);
    assert_eq!(balance.json()["available_usd"], "100.0000");
    env.developer("health").assert_exit(0);
    env.developer("catalog").assert_exit(0);
}

#[test]
fn public_commands_work_without_an_api_key() {
    let env = TestEnv::new();
    for words in [
        &["health"] as &[&str],
        &["catalog"],
        &["bgm", "list"],
        &["bgm", "categories"],
        &["bgm", "pick"],
    ] {
        let mut command = env.unconfigured([]);
        command.env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url());
        CommandOutput::of(command.args(words)).assert_exit(0);
    }
}

#[test]
fn images_videos_and_music_are_generated_on_the_developer_surface() {
    let env = TestEnv::new();
    let out = env.path("out");
    for noun in ["image", "video", "music"] {
        let surface = match noun {
            "music" => "",
            _ => "--surface developer",
        };
        let words = format!("{noun} generate 'a fox [mock:seconds=0.5]' --download out {surface}");
        let run = env.developer(&words).assert_exit(0);
        assert_eq!(run.json()["status"], "completed");
        let path = run.json()["files"][0]["path"].as_str().unwrap().to_owned();
        assert!(std::fs::metadata(env.path(&path)).unwrap().len() > 100);
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3);
    let usage = env.developer("usage").assert_exit(0).json();
    assert_eq!(usage["totals"].as_array().unwrap().len(), 2);
    env.developer("usage --entries").assert_exit(0);
    let chart = env.developer("usage --chart -o table").assert_exit(0);
    assert!(chart.out.contains('█'), "{}", chart.out);
}

#[test]
fn an_alias_runs_and_suggests_the_preferred_command() {
    let env = TestEnv::new();
    let prompt = "a fox [mock:seconds=0.5]";
    let run = env.developer(["model", "run", "image-1.0", "--prompt", prompt]).assert_exit(0);
    assert!(run.err.contains("svc image generate"), "{}", run.err);
    assert_eq!(env.requests("alias_image_1_0").len(), 1);
    env.developer("model run hologram-1.0").assert_exit(2).assert_stderr("image-1.0");
}

#[test]
fn an_avatar_is_searched_used_in_a_video_and_captioned() {
    let env = TestEnv::new();
    let found = env.developer("avatar search ada").assert_exit(0).json();
    let handle = found[0]["avatar_handle"].as_str().unwrap().to_owned();
    env.developer(["avatar", "get", found[0]["id"].as_str().unwrap()]).assert_exit(0);

    let out = env.path("out");
    let words = format!(
        "avatar talking-video --avatar-handle '{handle}' --script 'Good morning. [mock:seconds=0.5]' --download '{}'",
        out.display()
    );
    let video = env.developer(&words).assert_exit(0);
    assert!(video.json()["files"][0]["path"].as_str().unwrap().ends_with(".mp4"));
    env.developer("avatar-video list").assert_exit(0);
    let timeline = env.developer(["job", "events", &id_of(&video)]).assert_exit(0).json();
    assert!(timeline.as_array().unwrap().len() >= 3, "{timeline}");

    let words = format!(
        "caption create --video-url https://media.example/morning.mp4 --language en --download '{}'",
        out.display()
    );
    let captions = env.developer(&words).assert_exit(0);
    let path = captions.json()["files"][0]["path"].as_str().unwrap().to_owned();
    assert!(std::fs::read_to_string(path).unwrap().starts_with("WEBVTT"));
}

#[test]
fn an_avatar_is_generated_from_a_prompt_an_image_or_properties() {
    let env = TestEnv::new();
    for (handle, made_of, value) in [
        ("mia", "--prompt", "a calm presenter [mock:seconds=0.5]"),
        ("noa", "--image-url", "https://media.example/noa.png"),
        ("tom", "--props", r#"{"age": 30}"#),
    ] {
        let words = format!("avatar generate --avatar-handle '{handle}' '{made_of}' '{value}'");
        env.developer(words).assert_exit(0);
    }
    let avatars = env.developer("avatar list").assert_exit(0).json();
    assert!(avatars.to_string().contains("\"mia\""), "{avatars}");
    env.developer("avatar list --any").assert_exit(0);
}

#[test]
fn a_preview_is_regenerated_and_turned_into_a_video() {
    let env = TestEnv::new();
    let script = "Hello. [mock:seconds=0.5]";
    let words = format!("preview create --avatar-handle ada --script '{script}' --no-wait");
    let receipt = env.developer(words).assert_exit(0).json();
    let id = receipt["preview"]["id"].as_str().unwrap().to_owned();
    env.developer(["preview", "get", &id]).assert_exit(0);
    env.developer(["preview", "regenerate", &id]).assert_exit(0);
    env.developer(["preview", "generate-video", &id]).assert_exit(0);
}

#[test]
fn trending_videos_are_searched() {
    let env = TestEnv::new();
    let words = "trending search dance --limit 3";
    let found = env.developer(words).assert_exit(0).json();
    assert!(found.as_array().unwrap().len() <= 3);
    let words = r#"trending search --param 'query="dance"' --limit 3"#;
    assert_eq!(env.developer(words).assert_exit(0).json(), found);
}

#[test]
fn max_price_is_rejected_if_the_surface_has_no_estimates() {
    let env = TestEnv::new();
    let words = "music generate --prompt 'a waltz' --max-price 100";
    env.developer(words).assert_exit(5).assert_stderr("the price is unknown");
    assert_eq!(env.job_count(), 0);
    env.developer("music generate --prompt 'a waltz' --surface open")
        .assert_exit(2)
        .assert_stderr("the open surface does not support");
}

#[test]
fn a_missing_key_does_not_change_the_surface() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt 'a fox'";
    CommandOutput::of(
        env.unconfigured(words)
            .env("SVC_BASE_URL", env.mock.base_url())
            .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY),
    )
    .assert_exit(3)
    .assert_stderr("no API key for the open surface");
    assert_eq!(env.job_count(), 0);
}

#[test]
fn job_events_requires_the_developer_surface() {
    let env = TestEnv::new();
    let words = "image generate --surface developer --prompt 'a fox' --no-wait";
    let receipt = env.developer(words).assert_exit(0).json();
    let id = receipt["job"]["id"].as_str().unwrap();
    env.developer(["job", "events", id, "--surface", "developer"]).assert_exit(0);
    env.run(["job", "events", id, "--surface", "open"]).assert_exit(2);
}
