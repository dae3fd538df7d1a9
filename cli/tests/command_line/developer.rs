//! The developer surface: who the key is, what is left, and what its paid commands make.

use svc_mock_server::DEVELOPER_API_KEY;

use crate::test_env::{CommandOutput, TestEnv};

fn svc(env: &TestEnv, words: &[&str]) -> CommandOutput {
    CommandOutput::of(
        env.unconfigured([])
            .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY)
            .env("SVC_FIRST_PARTY_OWNER", "studio")
            .args(words),
    )
}

fn id_of(run: &CommandOutput) -> String {
    run.json()["job_id"].as_str().unwrap().to_owned()
}

#[test]
fn the_account_is_shown() {
    let env = TestEnv::new();
    let me = svc(&env, &["me"]).assert_exit(0);
    assert_eq!(me.json()["workspace"]["id"], "ws_demo");
    assert!(!me.out.contains(DEVELOPER_API_KEY));
    let table = svc(&env, &["me", "-o", "table"]).assert_exit(0);
    assert!(table.out.contains("yes: job redeliver"), "{}", table.out);
    let balance = svc(&env, &["balance"]).assert_exit(0);
    assert_eq!(balance.json()["available_usd"], "100.0000");
    svc(&env, &["health"]).assert_exit(0);
    svc(&env, &["catalog"]).assert_exit(0);
}

#[test]
fn what_is_public_needs_no_key() {
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
fn images_videos_and_music_are_made_on_the_developer_surface_too() {
    let env = TestEnv::new();
    let out = env.path("out");
    for noun in ["image", "video", "music"] {
        let words = [
            noun,
            "generate",
            "--prompt",
            "a fox [mock:seconds=0.5]",
            "--download",
            out.to_str().unwrap(),
        ];
        let mut words = words.to_vec();
        if noun != "music" {
            words.extend(["--surface", "developer"]);
        }
        let run = svc(&env, &words).assert_exit(0);
        assert_eq!(run.json()["status"], "completed");
        let path = run.json()["files"][0]["path"].as_str().unwrap().to_owned();
        assert!(std::fs::metadata(path).unwrap().len() > 100);
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3);
    let usage = svc(&env, &["usage"]).assert_exit(0).json();
    assert_eq!(usage["totals"].as_array().unwrap().len(), 2);
    svc(&env, &["usage", "--entries"]).assert_exit(0);
    let chart = svc(&env, &["usage", "--chart", "-o", "table"]).assert_exit(0);
    assert!(chart.out.contains('█'), "{}", chart.out);
}

#[test]
fn an_alias_works_and_names_what_is_preferred() {
    let env = TestEnv::new();
    let prompt = "a fox [mock:seconds=0.5]";
    let run = svc(&env, &["model", "run", "image-1.0", "--prompt", prompt]).assert_exit(0);
    assert!(run.err.contains("svc image generate"), "{}", run.err);
    assert_eq!(env.requests("alias_image_1_0").len(), 1);
    svc(&env, &["model", "run", "hologram-1.0"])
        .assert_exit(2)
        .assert_stderr("image-1.0");
}

#[test]
fn an_avatar_is_found_speaks_and_is_captioned() {
    let env = TestEnv::new();
    let found = svc(&env, &["avatar", "search", "ada"])
        .assert_exit(0)
        .json();
    let handle = found[0]["avatar_handle"].as_str().unwrap().to_owned();
    svc(&env, &["avatar", "get", found[0]["id"].as_str().unwrap()]).assert_exit(0);

    let out = env.path("out");
    let words = [
        "avatar",
        "talking-video",
        "--avatar-handle",
        &handle,
        "--script",
        "Good morning. [mock:seconds=0.5]",
        "--download",
        out.to_str().unwrap(),
    ];
    let video = svc(&env, &words).assert_exit(0);
    assert!(
        video.json()["files"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with(".mp4")
    );
    svc(&env, &["avatar-video", "list"]).assert_exit(0);
    let timeline = svc(&env, &["job", "events", &id_of(&video)])
        .assert_exit(0)
        .json();
    assert!(timeline.as_array().unwrap().len() >= 3, "{timeline}");

    let words = [
        "caption",
        "create",
        "--video-url",
        "https://media.example/morning.mp4",
        "--language",
        "en",
        "--download",
        out.to_str().unwrap(),
    ];
    let captions = svc(&env, &words).assert_exit(0);
    let path = captions.json()["files"][0]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(std::fs::read_to_string(path).unwrap().starts_with("WEBVTT"));
}

#[test]
fn an_avatar_is_made_of_words_a_photo_or_traits() {
    let env = TestEnv::new();
    for (handle, made_of, value) in [
        ("mia", "--prompt", "a calm presenter [mock:seconds=0.5]"),
        ("noa", "--image-url", "https://media.example/noa.png"),
        ("tom", "--props", r#"{"age": 30}"#),
    ] {
        let words = [
            "avatar",
            "generate",
            "--avatar-handle",
            handle,
            made_of,
            value,
        ];
        svc(&env, &words).assert_exit(0);
    }
    let avatars = svc(&env, &["avatar", "list"]).assert_exit(0).json();
    assert!(avatars.to_string().contains("\"mia\""), "{avatars}");
    svc(&env, &["avatar", "list", "--all"]).assert_exit(0);
}

#[test]
fn a_preview_is_made_again_and_becomes_a_video() {
    let env = TestEnv::new();
    let script = "Hello. [mock:seconds=0.5]";
    let words = [
        "preview",
        "create",
        "--avatar-handle",
        "ada",
        "--script",
        script,
        "--no-wait",
    ];
    let receipt = svc(&env, &words).assert_exit(0).json();
    let id = receipt["preview"]["id"].as_str().unwrap().to_owned();
    svc(&env, &["preview", "get", &id]).assert_exit(0);
    svc(&env, &["preview", "regenerate", &id]).assert_exit(0);
    svc(&env, &["preview", "generate-video", &id]).assert_exit(0);
}

#[test]
fn trending_videos_are_searched() {
    let env = TestEnv::new();
    let words = ["trending", "search", "dance", "--limit", "3"];
    let found = svc(&env, &words).assert_exit(0).json();
    assert!(found.as_array().unwrap().len() <= 3);
}

#[test]
fn without_estimates_a_limit_on_the_price_fails_closed() {
    let env = TestEnv::new();
    let words = [
        "music",
        "generate",
        "--prompt",
        "a waltz",
        "--max-price",
        "100",
    ];
    svc(&env, &words)
        .assert_exit(5)
        .assert_stderr("no price can be had");
    assert_eq!(env.job_count(), 0);
    svc(
        &env,
        &[
            "music",
            "generate",
            "--prompt",
            "a waltz",
            "--surface",
            "open",
        ],
    )
    .assert_exit(2)
    .assert_stderr("the open surface makes no");
}

#[test]
fn a_submit_that_may_have_arrived_is_not_sent_again_by_itself() {
    let env = TestEnv::new();
    env.add_fault("music_1_generate", "drop_after", 1);
    let words = ["music", "generate", "--prompt", "a waltz"];
    svc(&env, &words)
        .assert_exit(11)
        .assert_stderr("idempotency key");
    assert_eq!(env.requests("music_1_generate").len(), 1);
    svc(&env, &words).assert_exit(11).assert_stderr("--new");
    assert_eq!(env.requests("music_1_generate").len(), 1);
}

#[test]
fn a_key_that_is_missing_moves_no_spending_to_the_other_host() {
    let env = TestEnv::new();
    let words = [
        "image", "generate", "--model", "image-i", "--prompt", "a fox",
    ];
    CommandOutput::of(
        env.unconfigured(words)
            .env("SVC_BASE_URL", env.mock.base_url())
            .env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY),
    )
    .assert_exit(3)
    .assert_stderr("no API key of the open surface");
    assert_eq!(env.job_count(), 0);
}

#[test]
fn a_timeline_is_on_the_developer_surface_only() {
    let env = TestEnv::new();
    let words = [
        "image",
        "generate",
        "--surface",
        "developer",
        "--prompt",
        "a fox",
        "--no-wait",
    ];
    let receipt = svc(&env, &words).assert_exit(0).json();
    let id = receipt["job"]["id"].as_str().unwrap();
    svc(&env, &["job", "events", id, "--surface", "developer"]).assert_exit(0);
    env.run(["job", "events", id, "--surface", "open"])
        .assert_exit(2);
}

#[test]
fn a_job_that_is_not_there_is_not_waited_for() {
    let env = TestEnv::new();
    let run = env.run(["job", "wait", "job_nowhere"]).assert_exit(4);
    assert!(run.err.contains("job not found"), "{}", run.err);
    assert!(!run.err.contains("may well go on"), "{}", run.err);
}
