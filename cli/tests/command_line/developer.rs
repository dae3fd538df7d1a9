//! The developer surface: who the key is, what is left, and what its paid commands make.

use svc_mock_server::DEVELOPER_API_KEY;

use crate::place::{Place, Run};

fn svc(place: &Place, words: &[&str]) -> Run {
    Run::of(
        place
            .bare([])
            .env("SVC_DEVELOPER_BASE_URL", place.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY)
            .env("SVC_FIRST_PARTY_OWNER", "studio")
            .args(words),
    )
}

fn id_of(run: &Run) -> String {
    run.json()["job_id"].as_str().unwrap().to_owned()
}

#[test]
fn the_account_is_shown() {
    let place = Place::new();
    let me = svc(&place, &["me"]).ends(0);
    assert_eq!(me.json()["workspace"]["id"], "ws_demo");
    assert!(!me.out.contains(DEVELOPER_API_KEY));
    let table = svc(&place, &["me", "-o", "table"]).ends(0);
    assert!(table.out.contains("yes: job redeliver"), "{}", table.out);
    let balance = svc(&place, &["balance"]).ends(0);
    assert_eq!(balance.json()["available_usd"], "100.0000");
    svc(&place, &["health"]).ends(0);
    svc(&place, &["catalog"]).ends(0);
}

#[test]
fn what_is_public_needs_no_key() {
    let place = Place::new();
    for words in [
        &["health"] as &[&str],
        &["catalog"],
        &["bgm", "list"],
        &["bgm", "categories"],
        &["bgm", "pick"],
    ] {
        let mut command = place.bare([]);
        command.env("SVC_DEVELOPER_BASE_URL", place.mock.developer_base_url());
        Run::of(command.args(words)).ends(0);
    }
}

#[test]
fn images_videos_and_music_are_made_on_the_developer_surface_too() {
    let place = Place::new();
    let out = place.path("out");
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
        let run = svc(&place, &words).ends(0);
        assert_eq!(run.json()["status"], "completed");
        let path = run.json()["files"][0]["path"].as_str().unwrap().to_owned();
        assert!(std::fs::metadata(path).unwrap().len() > 100);
    }
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 3);
    let usage = svc(&place, &["usage"]).ends(0).json();
    assert_eq!(usage["totals"].as_array().unwrap().len(), 2);
    svc(&place, &["usage", "--entries"]).ends(0);
    let chart = svc(&place, &["usage", "--chart", "-o", "table"]).ends(0);
    assert!(chart.out.contains('█'), "{}", chart.out);
}

#[test]
fn an_alias_works_and_names_what_is_preferred() {
    let place = Place::new();
    let prompt = "a fox [mock:seconds=0.5]";
    let run = svc(&place, &["model", "run", "image-1.0", "--prompt", prompt]).ends(0);
    assert!(run.err.contains("svc image generate"), "{}", run.err);
    assert_eq!(place.requests("alias_image_1_0").len(), 1);
    svc(&place, &["model", "run", "hologram-1.0"])
        .ends(2)
        .says("image-1.0");
}

#[test]
fn an_avatar_is_found_speaks_and_is_captioned() {
    let place = Place::new();
    let found = svc(&place, &["avatar", "search", "ada"]).ends(0).json();
    let handle = found[0]["avatar_handle"].as_str().unwrap().to_owned();
    svc(&place, &["avatar", "get", found[0]["id"].as_str().unwrap()]).ends(0);

    let out = place.path("out");
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
    let video = svc(&place, &words).ends(0);
    assert!(
        video.json()["files"][0]["path"]
            .as_str()
            .unwrap()
            .ends_with(".mp4")
    );
    svc(&place, &["avatar-video", "list"]).ends(0);
    let timeline = svc(&place, &["job", "events", &id_of(&video)])
        .ends(0)
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
    let captions = svc(&place, &words).ends(0);
    let path = captions.json()["files"][0]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(std::fs::read_to_string(path).unwrap().starts_with("WEBVTT"));
}

#[test]
fn an_avatar_is_made_of_words_a_photo_or_traits() {
    let place = Place::new();
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
        svc(&place, &words).ends(0);
    }
    let avatars = svc(&place, &["avatar", "list"]).ends(0).json();
    assert!(avatars.to_string().contains("\"mia\""), "{avatars}");
    svc(&place, &["avatar", "list", "--all"]).ends(0);
}

#[test]
fn a_preview_is_made_again_and_becomes_a_video() {
    let place = Place::new();
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
    let receipt = svc(&place, &words).ends(0).json();
    let id = receipt["preview"]["id"].as_str().unwrap().to_owned();
    svc(&place, &["preview", "get", &id]).ends(0);
    svc(&place, &["preview", "regenerate", &id]).ends(0);
    svc(&place, &["preview", "generate-video", &id]).ends(0);
}

#[test]
fn trending_videos_are_searched() {
    let place = Place::new();
    let words = ["trending", "search", "dance", "--limit", "3"];
    let found = svc(&place, &words).ends(0).json();
    assert!(found.as_array().unwrap().len() <= 3);
}

#[test]
fn without_estimates_a_limit_on_the_price_fails_closed() {
    let place = Place::new();
    let words = [
        "music",
        "generate",
        "--prompt",
        "a waltz",
        "--max-price",
        "100",
    ];
    svc(&place, &words).ends(5).says("no price can be had");
    assert_eq!(place.jobs(), 0);
    svc(
        &place,
        &[
            "music",
            "generate",
            "--prompt",
            "a waltz",
            "--surface",
            "open",
        ],
    )
    .ends(2)
    .says("the open surface makes no");
}

#[test]
fn a_submit_that_may_have_arrived_is_not_sent_again_by_itself() {
    let place = Place::new();
    place.fault("music_1_generate", "drop_after", 1);
    let words = ["music", "generate", "--prompt", "a waltz"];
    svc(&place, &words).ends(11).says("idempotency key");
    assert_eq!(place.requests("music_1_generate").len(), 1);
    svc(&place, &words).ends(11).says("--new");
    assert_eq!(place.requests("music_1_generate").len(), 1);
}

#[test]
fn a_key_that_is_missing_moves_no_spending_to_the_other_host() {
    let place = Place::new();
    let words = [
        "image", "generate", "--model", "image-i", "--prompt", "a fox",
    ];
    Run::of(
        place
            .bare(words)
            .env("SVC_BASE_URL", place.mock.base_url())
            .env("SVC_DEVELOPER_BASE_URL", place.mock.developer_base_url())
            .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY),
    )
    .ends(3)
    .says("no API key of the open surface");
    assert_eq!(place.jobs(), 0);
}

#[test]
fn a_timeline_is_on_the_developer_surface_only() {
    let place = Place::new();
    let words = [
        "image",
        "generate",
        "--surface",
        "developer",
        "--prompt",
        "a fox",
        "--no-wait",
    ];
    let receipt = svc(&place, &words).ends(0).json();
    let id = receipt["job"]["id"].as_str().unwrap();
    svc(&place, &["job", "events", id, "--surface", "developer"]).ends(0);
    place
        .run(["job", "events", id, "--surface", "open"])
        .ends(2);
}

#[test]
fn a_job_that_is_not_there_is_not_waited_for() {
    let place = Place::new();
    let run = place.run(["job", "wait", "job_nowhere"]).ends(4);
    assert!(run.err.contains("There is no such job"), "{}", run.err);
    assert!(!run.err.contains("may well go on"), "{}", run.err);
}
