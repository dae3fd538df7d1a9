//! Output formats, and control characters in text of the service.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::test_env::{CommandOutput, FakeServer, TestEnv, start};

#[test]
fn output_is_json_in_a_pipe_and_a_table_on_request() {
    let env = TestEnv::new();
    assert!(env.run("model list").assert_exit(0).json().as_array().unwrap().len() >= 6);
    let run = env.run("model list -o jsonl --type image").assert_exit(0);
    assert_eq!(run.out.lines().count(), 1);
    let run = env.run("pricing list -o table").assert_exit(0);
    assert!(run.out.starts_with("ID "), "{}", run.out);
    assert!(run.out.contains("video-f") && run.out.contains("0.1407"), "{}", run.out);
    assert!(!run.out.contains('\u{1b}'), "colors in a pipe");
    let run =
        CommandOutput::of(env.open_surface("pricing list -o table").env("CLICOLOR_FORCE", "1"))
            .assert_exit(0);
    assert!(run.out.contains('\u{1b}'));
    let run = CommandOutput::of(
        env.open_surface("pricing list -o table --color never").env("CLICOLOR_FORCE", "1"),
    );
    assert!(!run.assert_exit(0).out.contains('\u{1b}'));
}

#[cfg(feature = "jq")]
#[test]
fn jq_filters_the_output_and_prints_unquoted_strings() {
    let env = TestEnv::new();
    let run =
        env.run("model list --type video --jq '.[0].id, (map(.id) | length > 2)'").assert_exit(0);
    assert_eq!(run.out, "video-f\ntrue\n");
    let run = env.generate_image("[mock:seconds=0.1]", &["--jq", ".artifacts[].content_type"]);
    assert_eq!(run.assert_exit(0).out, "image/png\n");
    let run = env.run("api get /v1/open/catalog/video-f --jq .data.id").assert_exit(0);
    assert_eq!(run.out, "video-f\n");
}

#[cfg(feature = "jq")]
#[test]
fn a_filter_that_fails_after_a_submit_is_not_a_usage_error() {
    let env = TestEnv::new();
    for flags in [&[][..], &["--no-wait"]] {
        let words = [&["--jq", "error(\"boom\")", "-o", "json", "--new"], flags].concat();
        let run = env.generate_image("[mock:seconds=0.1]", &words);
        let error = run.assert_exit(1).error();
        let id = error["job_id"].as_str().unwrap();
        assert_eq!(error["message"], "--jq: \"boom\"");
        assert_eq!(error["resume"], format!("svc job wait {id} --surface open"), "{error}");
        assert!(error["idempotency_key"].is_string(), "{error}");
    }
    // These would end the process.
    env.generate_image("a fox", &["--jq", "halt_error"])
        .assert_exit(2)
        .assert_stderr("halt_error is not defined");
    assert_eq!(env.job_count(), 2);
}

#[test]
fn help_and_usage_errors_are_colored_as_other_output() {
    let env = TestEnv::new();
    for words in ["job --help", "job list --nope"] {
        for (flag, forced, is_colored) in [
            ("", "0", false),
            ("", "1", true),
            ("--color always", "", true),
            ("--color=never", "1", false),
        ] {
            let mut command = env.open_surface(format!("{words} {flag}"));
            let run = CommandOutput::of(command.env("CLICOLOR_FORCE", forced));
            let text = run.out + &run.err;
            assert_eq!(text.contains('\u{1b}'), is_colored, "{words} {flag}: {text}");
        }
    }
}

#[test]
fn quiet_suppresses_warnings() {
    let env = TestEnv::new();
    let body = r#"{"data": {"run_id": "run_1", "status": "completed", "terminal": true,
        "output": null, "output_error": {"code": "odd", "message": "Odd."}, "artifacts": []}}"#;
    let server = FakeServer::answering("200 OK", body);
    for (flags, is_warned) in [("", true), ("--quiet", false)] {
        let mut command = env.developer_surface(format!("run wait run_1 --kind agent {flags}"));
        command.env("SVC_DEVELOPER_BASE_URL", &server.url);
        let run = CommandOutput::of(&mut command).assert_exit(0);
        assert_eq!(run.err.contains("warning:"), is_warned, "{}", run.err);
    }
}

#[test]
fn raw_requests_have_any_method() {
    let env = TestEnv::new();
    let server = FakeServer::answering("200 OK", "{}");
    for method in ["put", "PATCH", "delete", "head", "options"] {
        env.run_at(&server.url, ["api", method, "/v1/things/1"]).assert_exit(0);
        let head = server.heads.lock().unwrap().pop().unwrap();
        let line = format!("{} /v1/things/1 HTTP/1.1", method.to_uppercase());
        assert!(head.starts_with(&line), "{head}");
    }
}

#[test]
fn prices_and_estimates_are_exact() {
    let env = TestEnv::new();
    let run = env.run("estimate --model video-f --prompt 'a fox' --duration 7 --resolution 720p");
    assert_eq!(run.assert_exit(0).json()["price_usd"], "2.1168");
    let run = env.run("estimate --model image-i --prompt a --num-images 4 -o table").assert_exit(0);
    assert!(run.out.contains("$0.02"), "{}", run.out);
    let run = env.run("pricing get video-l -o table").assert_exit(0);
    assert!(run.out.contains("$0.25"), "{}", run.out);
    assert_eq!(env.run("model get image-i").assert_exit(0).json()["id"], "image-i");
    assert_eq!(env.run("model get video-f --type video").assert_exit(0).json()["id"], "video-f");
}

#[test]
fn a_raw_response_is_printed_unchanged() {
    let env = TestEnv::new();
    let run = env.run("api GET /v1/jobs -q status=queued").assert_exit(0);
    assert_eq!(run.json()["data"], serde_json::json!([]));
    assert!(!run.out.contains("\n  "), "reformatted: {}", run.out);
    let request = env.requests("jobs_list").remove(0);
    assert!(request["path"].as_str().unwrap_or_default().contains("/v1/jobs"), "{request}");
}

#[test]
fn a_closed_stdout_is_not_an_error() {
    let env = TestEnv::new();
    let mut child = start(&mut env.open_surface("operations -o json"));
    let mut first = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let run = child.end();
    assert_eq!(run.code, Some(0));
    assert_eq!(run.err, "");
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_error_on_stdout_is_an_error_and_the_job_can_be_resumed() {
    let env = TestEnv::new();
    let words = "image generate --model image-i --prompt [mock:seconds=0.1]";
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run: CommandOutput =
        env.open_surface(words).stdout(full).stderr(Stdio::piped()).output().unwrap().into();
    run.assert_exit(1).assert_stderr("standard output");
    env.run(words).assert_exit(0).assert_stderr("Resuming job_");
    assert_eq!(env.charge_count(), 1);
}

#[test]
fn control_characters_from_the_service_are_removed() {
    let env = TestEnv::new();
    let body = concat!(
        r#"{"error":{"code":"x\u001b[2J","message":"boo\u001b]0;pwned\u0007\u009b31m\u202e\nerror: forged","#,
        r#""request_id":"req\u001b[31m"}}"#
    );
    let service = FakeServer::answering("400 Bad Request", body);
    let url = service.url.clone();
    let run = env.run_at(&url, "job get job_1").assert_exit(1);
    assert!(run.err.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", run.err);
    assert!(!run.err.contains('\u{202e}') && !run.err.contains("\nerror: forged"), "{:?}", run.err);
    let run = env.run_at(&url, "job get job_1 -o json").assert_exit(1);
    assert!(
        run.error()["message"].as_str().unwrap().contains('\u{1b}'),
        "JSON in a pipe contains the original message"
    );
}
