//! `svc doctor`.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::accounts::without_keyring;
use crate::test_env::{CommandOutput, FakeServer, TestEnv};

fn checks(run: &CommandOutput) -> Vec<Value> {
    run.json().as_array().unwrap().clone()
}

#[track_caller]
fn check(run: &CommandOutput, name: &str) -> Value {
    let found = checks(run).into_iter().find(|it| it["check"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {}", run.out))
}

#[track_caller]
fn assert_check(run: &CommandOutput, name: &str, status: &str, text: &str) {
    let check = check(run, name);
    assert_eq!(check["status"], status, "{check}");
    assert!(check["message"].as_str().unwrap().contains(text), "{check}");
}

#[test]
fn everything_that_works_is_ok() {
    let env = TestEnv::new();
    env.submit_image("a fox");
    let mut command = env.developer_surface("doctor -o json");
    command
        .env("SVC_BASE_URL", env.mock.base_url())
        .env("SVC_OPEN_API_KEY", "svc_open_demo")
        .env("SVC_MCP_URL", format!("{}/mcp", env.mock.developer_base_url()))
        .env("PATH", without_keyring(&env));
    let run = CommandOutput::of(&mut command).assert_exit(0);
    assert_check(&run, "configuration", "ok", "config.toml");
    assert_check(&run, "base_url", "ok", "(environment SVC_BASE_URL)");
    assert_check(&run, "open_surface", "ok", env.mock.base_url());
    assert_check(&run, "open_key", "ok", "accepted: svc_open_… from environment SVC_OPEN_API_KEY");
    assert_check(&run, "developer_surface", "ok", env.mock.developer_base_url());
    assert_check(&run, "developer_key", "ok", "svc_dev_…");
    assert_check(&run, "clock", "ok", "in step");
    assert_check(&run, "keyring", "warning", "not available");
    assert_check(&run, "journal", "ok", "1 requests");
    assert_check(&run, "open_intents", "ok", "none");
    #[cfg(feature = "mcp")]
    assert_check(&run, "mcp", "ok", "tools");
    assert!(!run.out.contains("svc_open_demo") && !run.out.contains("svc_dev_demo"));
    for check in checks(&run) {
        let names: Vec<_> = check.as_object().unwrap().keys().cloned().collect();
        let known = ["check", "status", "message", "next"];
        assert!(names.iter().all(|name| known.contains(&name.as_str())), "{check}");
    }
}

#[test]
fn problems_fail_with_what_to_do() {
    let env = TestEnv::new();
    let run = env.run_unconfigured("doctor").assert_exit(1);
    assert_check(&run, "configuration", "failed", "no URL");
    assert!(check(&run, "configuration")["next"].as_str().unwrap().contains("svc init"));
    assert_check(&run, "open_surface", "skipped", "no URL");

    let wrong = |words: &[(&str, &str)]| {
        let mut command = env.open_surface("doctor");
        CommandOutput::of(command.envs(words.iter().copied()))
    };
    let run = wrong(&[("SVC_OPEN_API_KEY", "svc_open_wrong")]).assert_exit(1);
    assert_check(&run, "open_surface", "ok", "responded");
    assert_check(&run, "open_key", "failed", "rejected: svc_open_… from");
    assert!(!run.out.contains("pricing_list"), "{}", run.out);
    assert!(check(&run, "open_key")["next"].as_str().unwrap().contains("SVC_OPEN_API_KEY"));
    let run = wrong(&[("SVC_OPEN_API_KEY", "")]).assert_exit(1);
    assert_check(&run, "open_key", "failed", "no API key");
    let run = wrong(&[("SVC_BASE_URL", "http://127.0.0.1:9")]).assert_exit(1);
    assert_check(&run, "open_surface", "failed", "http://127.0.0.1:9");
    assert_check(&run, "open_key", "skipped", "not checked");
    let same = ("SVC_DEVELOPER_BASE_URL", env.mock.base_url());
    let run = wrong(&[same]);
    assert_check(&run, "developer_base_url", "warning", "the same as base_url");
    let mut table = env.open_surface("doctor -o table");
    let run = CommandOutput::of(table.env("SVC_OPEN_API_KEY", "svc_open_wrong"));
    run.assert_exit(1).assert_stderr("1 problem");
    #[cfg(feature = "mcp")]
    {
        let url = format!("{}/mcp", env.mock.developer_base_url());
        let run = wrong(&[("SVC_MCP_URL", &url), ("SVC_DEVELOPER_API_KEY", "svc_dev_wrong")]);
        let named = "rejected: svc_dev_… from environment SVC_DEVELOPER_API_KEY";
        assert_check(&run, "mcp", "failed", named);
    }
    let run = wrong(&[("SVC_BASE_URL", "http://public.example")]).assert_exit(1);
    assert_check(&run, "open_surface", "failed", "http");
    let run = wrong(&[("SVC_PROFILE", "nowhere")]).assert_exit(1);
    assert_check(&run, "configuration", "failed", "nowhere");
    fs::write(env.path("file"), "").unwrap();
    let run = wrong(&[("SVC_STATE_DIR", env.path("file/state").to_str().unwrap())]);
    assert_check(&run.assert_exit(1), "journal", "failed", "cannot write");

    fs::create_dir_all(env.path("config")).unwrap();
    fs::write(env.path("config/config.toml"), "[profiles").unwrap();
    let run = wrong(&[]).assert_exit(1);
    assert_check(&run, "configuration", "failed", "not valid TOML");
    assert_check(&run, "open_surface", "skipped", "not valid");
    assert_check(&run, "journal", "ok", "");
}

#[test]
fn a_surface_that_does_not_respond_fails_in_time() {
    let env = TestEnv::new();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut command = env.open_surface("doctor");
    command
        .env("SVC_BASE_URL", &url)
        .env("SVC_MCP_URL", &url)
        .env("SVC_DEVELOPER_BASE_URL", &url)
        .env("SVC_DEVELOPER_API_KEY", "svc_dev_demo");
    let run = CommandOutput::of(&mut command).assert_exit(1);
    for name in ["open_surface", "developer_surface"] {
        assert_check(&run, name, "failed", &url);
    }
    #[cfg(feature = "mcp")]
    assert_check(&run, "mcp", "failed", &url);
}

#[test]
fn a_clock_that_is_wrong_is_a_warning() {
    let env = TestEnv::new();
    let body = "{\"data\":[]}";
    let head = "200 OK\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT";
    let service = FakeServer::answering(head, body);
    let run = env.run_at(&service.url, "doctor").assert_exit(0);
    assert_check(&run, "clock", "warning", "ahead of the service");
}

#[test]
fn open_intents_are_a_warning() {
    let env = TestEnv::new();
    env.add_fault("image_generate", "drop_after", 20);
    env.generate_image("a fox", &["--retries", "0"]).assert_exit(11);
    let run = env.run("doctor");
    assert_check(&run, "open_intents", "warning", "1 request");
    assert!(check(&run, "open_intents")["next"].as_str().unwrap().contains("svc history --open"));
}

#[test]
fn the_sandbox_is_healthy_and_a_table_has_marks() {
    let env = TestEnv::new();
    let words = "--sandbox doctor -o table";
    let run = env.run_unconfigured(words).assert_exit(0);
    assert!(
        run.out.contains("✓ open_surface") && run.out.contains("✓ developer_key"),
        "{}",
        run.out
    );
    assert!(run.out.contains("- keyring"), "{}", run.out);
    assert!(!env.path("state").exists() && !env.path("config").exists());
}
