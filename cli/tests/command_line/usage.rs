//! What is found before anything is sent.

use crate::place::{Place, Run};

#[test]
fn without_configuration_it_says_what_to_set() {
    let place = Place::new();
    for words in [["job", "list"], ["model", "list"], ["pricing", "list"]] {
        let run = Run::of(&mut place.bare(words)).ends(2);
        run.says("SVC_BASE_URL")
            .says("--sandbox")
            .says("svc mock serve");
    }
    let run = Run::of(
        place
            .bare(["job", "list"])
            .env("SVC_BASE_URL", place.mock.base_url()),
    );
    run.ends(3).says("svc auth login").says("SVC_OPEN_API_KEY");
}

#[test]
fn a_configuration_that_is_none_is_named() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("config")).unwrap();
    std::fs::write(place.path("config/config.toml"), "[profiles").unwrap();
    place.run(["job", "list"]).ends(2).says("config.toml");
    std::fs::write(place.path("config/config.toml"), "[profiles.work]\n").unwrap();
    place
        .run(["job", "list", "--profile", "home"])
        .ends(2)
        .says("\"home\"")
        .says("work");
}

#[test]
fn bad_usage_ends_2_and_sends_nothing() {
    let place = Place::new();
    let rows: &[(&[&str], &str)] = &[
        (&["--param", "seed=red"], "no JSON"),
        (&["--param", "seed=null"], "null"),
        (&["--param", "user_id=1"], "user_id is never sent"),
        (&["--image-url", "http://media.example/a.png"], "https"),
        (
            &["--end-image-url", "https://media.example/a.png"],
            "needs image_url",
        ),
        (&["--prompt", "@/no/such/file"], "/no/such/file"),
        (&["--input", "/no/such/file"], "/no/such/file"),
        (&["--duration", "long"], "--duration"),
        (&["--timeout", "soon"], "--timeout"),
        (&["--max-price", "1.1234567"], "--max-price"),
        (&["--max-price=-1"], "--max-price"),
        (&["--idempotency-key", "tab\there"], "--idempotency-key"),
        (&["--jq", ".["], "--jq"),
        (
            &["--surface", "developer"],
            "no URL of the developer surface is configured",
        ),
        (&["--no-wait", "--download", "out"], "--no-wait"),
        (&["--base-url", "http://service.example"], "https"),
    ];
    for (words, said) in rows {
        let run = Run::of(place.svc(["video", "generate"]).args(*words));
        run.ends(2).says(said);
    }
    assert!(place.mock.requests(0).is_empty());
    assert!(place.open_intents().is_empty());
}

#[test]
fn an_identifier_that_would_change_the_path_is_refused() {
    let place = Place::new();
    for id in ["", ".", ".."] {
        for verb in ["get", "status", "result", "cancel", "wait", "download"] {
            place.run(["job", verb, id]).ends(2);
        }
        place.run(["pricing", "get", id]).ends(2);
        place.run(["top-up", "get", id]).ends(2);
    }
    assert!(place.mock.requests(0).is_empty());
    place.run(["job", "get", "../../v1/open/catalog"]).ends(4);
}

#[test]
fn a_raw_path_stays_on_the_configured_host() {
    let place = Place::new();
    for path in [
        "https://evil.example/v1",
        "//evil.example/v1",
        "v1/jobs",
        "/v1/../x",
        "/v1/%2e%2E/x",
    ] {
        place
            .run(["api", "get", path])
            .ends(2)
            .says("exactly one slash");
    }
    assert!(place.mock.requests(0).is_empty());
}

#[test]
fn with_json_asked_for_bad_usage_is_json_too() {
    let place = Place::new();
    for words in [
        ["job", "get", "-o", "json"],
        ["job", "frobnicate", "--output", "json"],
        ["job", "list", "--what", "-ojsonl"],
    ] {
        let run = place.run(words).ends(2);
        assert_eq!(run.error()["exit_code"], 2, "{words:?}");
    }
}
