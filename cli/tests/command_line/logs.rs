//! `-v`, `SVC_LOG` and the pauses before retries.

use std::process::Command;

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
    env.add_fault("jobs_list", "database_busy", 1);
    for (flag, variable) in [
        ("-v", ""),
        ("", "info"),
        ("-v", "off"),
        ("", "svc_sdk=info"),
    ] {
        let run = with_log(&mut env.open_surface(["job", "list"]), flag, variable);
        let lines: Vec<_> = run
            .err
            .lines()
            .filter(|line| line.starts_with("GET "))
            .collect();
        let last = lines.last().unwrap();
        assert!(last.starts_with("GET /v1/jobs 200 in "), "{}", run.err);
        assert!(
            last.contains("(attempt ") && last.contains(", request req_"),
            "{last}"
        );
        assert!(!run.err.contains("> "), "{}", run.err);
        run.json();
    }
    env.add_fault("jobs_list", "database_busy", 1);
    let run = with_log(&mut env.open_surface(["job", "list"]), "-v", "");
    let lines: Vec<_> = run.err.lines().collect();
    let [first, pause, second] = lines.as_slice() else {
        panic!("{}", run.err)
    };
    assert!(
        first.starts_with("GET /v1/jobs 503 in ") && first.contains("(attempt 1"),
        "{first}"
    );
    assert!(
        pause.starts_with("service busy (503 database_busy), retrying in "),
        "{pause}"
    );
    assert!(pause.ends_with("(attempt 2 of 6)"), "{pause}");
    assert!(
        second.starts_with("GET /v1/jobs 200 in ") && second.contains("(attempt 2"),
        "{second}"
    );
}

#[test]
fn headers_come_with_vv_and_bodies_with_vvv() {
    let env = TestEnv::new();
    let words = ["estimate", "--model", "video-f", "--duration", "5"];
    for (flag, variable, has_bodies) in [
        ("-vv", "", false),
        ("", "debug", false),
        ("-vvv", "", true),
        ("", "trace", true),
    ] {
        let run = with_log(&mut env.open_surface(words), flag, variable);
        let url = env.mock.base_url();
        for line in [
            format!("> POST {url}/v1/video-router/generate/estimate"),
            "> authorization: [redacted]".to_owned(),
            "> content-type: application/json".to_owned(),
            "< 200".to_owned(),
            "< content-type: application/json".to_owned(),
        ] {
            assert!(
                run.err.lines().any(|it| it.starts_with(&line)),
                "{line} in {}",
                run.err
            );
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
    let run = env
        .generate_image("a fox", &["--yes", "--download", "out", "-vvv"])
        .assert_exit(0);
    assert!(
        run.err
            .lines()
            .any(|line| line.starts_with("GET http://") && line.contains("/artifacts/")),
        "{}",
        run.err
    );

    let body = r#"{"data":{"id":"job_1","status":"completed","artifacts":[{"id":"art_1","url":"https://cdn.invalid/x.png?sig=canary"}]}}"#;
    let service = FakeServer::answering("200 OK", body);
    let mut command = env.open_surface(["job", "get", "job_1", "-vvv"]);
    let run = CommandOutput::of(command.env("SVC_BASE_URL", &service.url)).assert_exit(0);
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
        let fault = serde_json::json!({"operation": "jobs_list", "kind": "database_busy", "times": 1, "retry_after_seconds": seconds});
        env.mock
            .add_fault(serde_json::from_value(fault).unwrap())
            .unwrap();
    };
    // The mock runs 50 times as fast as real time, and so do the waits in its responses.
    busy(100);
    let run = env.run(["job", "list"]).assert_exit(0);
    assert_eq!(
        run.err,
        "service busy (503 database_busy), retrying in 2 s (attempt 2 of 6)\n"
    );
    busy(100);
    let run = env.run(["job", "list", "--quiet"]).assert_exit(0);
    assert_eq!(run.err, "");
    busy(0);
    let run = env.run(["job", "list"]).assert_exit(0);
    assert_eq!(run.err, "");
}

#[test]
fn an_invalid_filter_is_a_usage_error() {
    let env = TestEnv::new();
    let mut command = env.open_surface(["job", "list", "-o", "json"]);
    let run = CommandOutput::of(command.env("SVC_LOG", "svc_sdk=loud")).assert_exit(2);
    assert!(
        run.error()["message"]
            .as_str()
            .unwrap()
            .contains("invalid SVC_LOG `svc_sdk=loud`"),
        "{}",
        run.err
    );
}

#[test]
fn the_service_cannot_forge_a_log_line() {
    let env = TestEnv::new();
    let body = "{\"data\":{\"id\":\"job_1\",\"status\":\"queued\",\"note\":\"\\u001b[2J\\nGET /forged 200\"}}";
    let service = FakeServer::answering("200 OK\r\nx-svc-request-id: req\x1b[2J", body);
    let mut command = env.open_surface(["job", "get", "job_1", "-vvv"]);
    let run = CommandOutput::of(command.env("SVC_BASE_URL", &service.url));
    assert!(
        !run.err.contains('\u{1b}') && !run.err.contains("\nGET /forged"),
        "{:?}",
        run.err
    );
}
