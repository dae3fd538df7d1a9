//! Errors that are found before anything is sent.

use crate::test_env::{CommandOutput, TestEnv};

#[test]
fn a_missing_configuration_is_an_error_that_says_what_to_set() {
    let env = TestEnv::new();
    for words in [["job", "list"], ["model", "list"], ["pricing", "list"]] {
        let run = env.run_unconfigured(words).assert_exit(2);
        run.assert_stderr("SVC_BASE_URL")
            .assert_stderr("--base-url")
            .assert_stderr("svc init")
            .assert_stderr("--sandbox")
            .assert_stderr("svc mock serve");
    }
    let run =
        CommandOutput::of(env.unconfigured("job list").env("SVC_BASE_URL", env.mock.base_url()));
    run.assert_exit(3).assert_stderr("svc auth login").assert_stderr("SVC_OPEN_API_KEY");
}

#[test]
fn an_invalid_configuration_is_an_error_with_its_path() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.path("config")).unwrap();
    std::fs::write(env.path("config/config.toml"), "[profiles").unwrap();
    env.run("job list").assert_exit(2).assert_stderr("config.toml");
    std::fs::write(env.path("config/config.toml"), "[profiles.work]\n").unwrap();
    env.run("job list --profile home").assert_exit(2).assert_stderr("`home`").assert_stderr("work");
}

#[test]
fn invalid_usage_exits_with_2_and_sends_nothing() {
    let env = TestEnv::new();
    let rows = [
        ("--param seed=red", "invalid JSON `red`"),
        ("--param seed=null", "null"),
        ("--param user_id=1", "`user_id` must not be set"),
        (r#"--param 'camera={"pan": [1, null]}'"#, "`camera.pan[1]`"),
        ("--param duration=4 --duration 5", "is set twice"),
        (r#"--param 'reference_video_urls=["ftp://a"]'"#, "invalid --reference-video-urls"),
        ("--image-url http://media.example/a.png", "https"),
        ("--end-image-url https://media.example/a.png", "requires `image_url`"),
        ("--prompt @/no/such/file", "/no/such/file"),
        ("--input /no/such/file", "/no/such/file"),
        ("--duration long", "--duration"),
        ("--timeout soon", "--timeout"),
        ("--max-price 1.1234567", "--max-price"),
        ("--max-price=-1", "--max-price"),
        ("--idempotency-key 'tab\there'", "--idempotency-key"),
        ("--jq '.['", "--jq"),
        ("--surface developer --prompt x", "no URL of the developer surface is configured"),
        ("--no-wait --download out", "--no-wait"),
        ("--base-url http://service.example --prompt x", "https"),
    ];
    for (words, expected) in rows {
        let run = env.run(format!("video generate {words}"));
        run.assert_exit(2).assert_stderr(expected);
    }
    assert!(env.mock.requests(0).is_empty());
    assert!(env.open_intents().is_empty());
}

#[test]
fn an_identifier_that_would_change_the_path_is_rejected() {
    let env = TestEnv::new();
    for id in ["", ".", ".."] {
        for verb in ["get", "status", "result", "cancel", "wait", "download"] {
            env.run(["job", verb, id]).assert_exit(2);
        }
        env.run(["pricing", "get", id]).assert_exit(2);
        env.run(["top-up", "get", id]).assert_exit(2);
    }
    assert!(env.mock.requests(0).is_empty());
    env.run("job get ../../v1/open/catalog").assert_exit(4);
}

#[test]
fn a_raw_path_stays_on_the_configured_host() {
    let env = TestEnv::new();
    for path in
        ["https://evil.example/v1", "//evil.example/v1", "v1/jobs", "/v1/../x", "/v1/%2e%2E/x"]
    {
        env.run(["api", "get", path]).assert_exit(2).assert_stderr("exactly one slash");
    }
    assert!(env.mock.requests(0).is_empty());
}

#[test]
fn usage_errors_are_json_with_json_output() {
    let env = TestEnv::new();
    let run = env.run("-o json job").assert_exit(2);
    let message = "'svc job' requires a subcommand but one was not provided";
    assert_eq!(run.error()["message"], message);
    for words in [
        ["job", "get", "-o", "json"],
        ["job", "frobnicate", "--output", "json"],
        ["job", "list", "--what", "-ojsonl"],
    ] {
        let run = env.run(words).assert_exit(2);
        assert_eq!(run.error()["exit_code"], 2, "{words:?}");
    }
}

#[test]
fn a_generate_without_any_input_is_rejected_before_anything_is_sent() {
    let env = TestEnv::new();
    let rows = [
        "video generate",
        "video generate --model auto --duration 5",
        "video generate --prompt ' \n'",
        "video generate --generate-audio --dry-run",
        "video generate --webhook-url https://h.example/x",
        "image generate --model image-i --num-images 4",
        "image generate --surface developer",
        "music generate --duration 30",
        "avatar generate --avatar-handle mia",
        "avatar generate --prompt ''",
        "model run image-1.0",
    ];
    for words in rows {
        for more in ["", "--yes"] {
            let mut command = env.developer_surface(format!("{words} {more}"));
            command
                .env("SVC_BASE_URL", env.mock.base_url())
                .env("SVC_OPEN_API_KEY", svc_mock_server::OPEN_API_KEY);
            CommandOutput::of(&mut command).assert_exit(2).assert_stderr("--prompt");
        }
    }
    for verb in ["avatar talking-video", "preview create"] {
        env.developer(format!("{verb} --avatar-handle mia"))
            .assert_exit(2)
            .assert_stderr("--script");
    }
    assert!(env.mock.requests(0).is_empty());
    assert!(env.open_intents().is_empty());
    std::fs::write(env.path("body.json"), r#"{"prompt": "a fox"}"#).unwrap();
    for words in [
        "--input body.json",
        r#"--param 'prompt="a fox"'"#,
        "--video-url https://media.example/a.mp4",
    ] {
        let run = env.run(format!("video generate --no-wait --dry-run {words}"));
        assert_ne!(run.code, Some(2), "{words:?}: {}", run.err);
    }
}

#[test]
fn negative_amounts_are_rejected() {
    let env = TestEnv::new();
    std::fs::write(env.path("items.jsonl"), "{\"instruction\": \"a\"}\n").unwrap();
    let rows = [
        ("video generate --prompt 'a fox'", "--max-price"),
        ("agent run --instruction x", "--cap"),
        ("format run fmt_demo --instruction x", "--cap"),
        ("format bulk fmt_demo --input items.jsonl", "--cap"),
        ("format bulk fmt_demo --input items.jsonl", "--max-price"),
        ("mock serve", "--balance-usd"),
        #[cfg(feature = "mcp")]
        ("mcp serve", "--max-spend-usd"),
        #[cfg(feature = "mcp")]
        ("mcp serve", "--max-total-usd"),
        #[cfg(feature = "mcp")]
        ("mcp call image_generate", "--max-price"),
    ];
    for (words, flag) in rows {
        for amount in ["-1", "-0.05", "-5.5"] {
            for separator in [" ", "="] {
                env.developer(format!("{words} {flag}{separator}{amount}"))
                    .assert_exit(2)
                    .assert_stderr(&format!(
                        "invalid amount `{amount}`: expected dollars of at least 0 with at most six decimals, such as 0.50"
                    ));
            }
        }
        env.developer(format!("{words} {flag} much"))
            .assert_exit(2)
            .assert_stderr("invalid amount `much`: expected dollars");
    }
    env.developer("top-up create --amount-usd-cents -500").assert_exit(2);
    for cap in ["-1", "0"] {
        let param = format!("generation_spend_cap_usd={cap}");
        let words = "format run fmt_demo --instruction x";
        env.developer(format!("{words} --param {param}"))
            .assert_exit(2)
            .assert_stderr(&format!("invalid --cap `{cap}`: expected a number of dollars above 0"));
    }
    assert!(env.mock.requests(0).is_empty());
    // A limit of zero is valid, and everything is above it.
    env.run("video generate --prompt 'a fox' --max-price 0").assert_exit(5);
    assert_eq!(env.job_count(), 0);
}
