//! Exit codes and error messages.

use svc_sdk::contract::JobStatus;

use crate::test_env::{CommandOutput, FakeServer, TestEnv};

const SHORT_JOB: &str = "[mock:seconds=0.3]";

#[test]
fn a_rejected_api_key_exits_with_3() {
    let env = TestEnv::new();
    for (key, words) in [
        ("svc_wrong", "job list"),
        ("svc_revoked", "job list"),
        // A key of the other surface.
        ("svc_dev_demo", "model list"),
        ("svc_dev_demo", "top-up create --amount-usd-cents 500"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let run = CommandOutput::of(env.open_surface([]).env("SVC_OPEN_API_KEY", key).args(words))
            .assert_exit(3);
        assert!(!run.err.contains(key), "the key is in the output: {}", run.err);
        run.assert_stderr("svc auth");
    }
    let run = CommandOutput::of(
        env.open_surface("job list -o json").env("SVC_OPEN_API_KEY", "svc_wrong"),
    )
    .assert_exit(3);
    let error = run.error();
    assert_eq!(error["code"], "unauthorized");
    assert_eq!(error["status"], 401);
    assert_eq!(error["next_action"], "authenticate");
    assert!(error["request_id"].as_str().unwrap().starts_with("req_"));
    assert!(run.out.is_empty());
}

#[test]
fn a_missing_resource_exits_with_4() {
    let env = TestEnv::new();
    env.run("job get job_none")
        .assert_exit(4)
        .assert_stderr("job_not_found")
        .assert_stderr("request id: req_");
    let run = env.run("job wait job_none").assert_exit(4);
    assert!(run.err.contains("job not found in this workspace"), "{}", run.err);
    env.run("model get no-such-model").assert_exit(4);
    env.run("pricing get no-such-model").assert_exit(4);
    env.run("top-up get top_none").assert_exit(4);
}

#[test]
fn a_rejected_request_exits_with_1_and_is_not_charged() {
    let env = TestEnv::new();
    let rows: [&[&str]; 4] = [
        &["--model", "no-such-model", "--prompt", "a fox"],
        &["--model", "video-f", "--prompt", "a fox", "--duration", "3"],
        &["--model", "video-h", "--prompt", "a fox", "--generate-audio"],
        &["--prompt", "a fox", "--image-url", "https://127.0.0.1/a.png"],
    ];
    for words in rows {
        let run = CommandOutput::of(env.open_surface("video generate -o json").args(words))
            .assert_exit(1);
        assert_eq!(run.error()["code"], "invalid_request", "{words:?}");
        let next = match words[1] {
            "no-such-model" => "list the models with: svc model list --type video",
            _ => "correct the input",
        };
        assert_eq!(run.error()["next"][0], format!("{next}; nothing was charged"));
    }
    assert_eq!(env.charge_count(), 0);
    assert!(env.open_intents().is_empty(), "the intent is closed");
}

#[test]
fn insufficient_funds_exit_with_5() {
    let env = TestEnv::with(svc_mock_server::Setup::default().balance_usd(0));
    let run = env.run("video generate --prompt 'a fox' -o json").assert_exit(5);
    assert_eq!(run.error()["code"], "insufficient_funds");
    assert_eq!(run.error()["details"]["available_usd"], "0.0000");
    env.run("video generate --prompt 'a fox'").assert_exit(5).assert_stderr("svc top-up create");
}

#[test]
fn a_price_that_is_unknown_or_above_the_limit_exits_with_5() {
    let env = TestEnv::new();
    let words = "video generate --model video-f --prompt 'a fox' --max-price";
    let run = CommandOutput::of(env.open_surface(words).arg("0.7034")).assert_exit(5);
    run.assert_stderr("0.7035").assert_stderr("--max-price 0.7034");
    env.add_fault("open_estimate", "garbage", 1);
    CommandOutput::of(env.open_surface(words).args(["1000", "--retries", "0"]))
        .assert_exit(5)
        .assert_stderr("not submitted: the price is unknown, and --max-price requires");
    assert_eq!(env.job_count(), 0);
    CommandOutput::of(env.open_surface(words).args(["0.7035", "--no-wait"])).assert_exit(0);
    assert_eq!(env.job_count(), 1);
}

#[test]
fn a_lasting_overload_exits_with_6() {
    let env = TestEnv::new();
    for (kind, words) in [
        ("status_429", ["job", "list", "--retries", "0"]),
        ("status_503", ["job", "list", "--retries", "1"]),
        ("status_502_html", ["job", "list", "--retries", "1"]),
    ] {
        env.add_fault("jobs_list", kind, 9);
        env.run(words).assert_exit(6);
        env.mock.clear_faults();
    }
    env.add_fault("video_generate", "status_503", 9);
    let run = env.run("video generate --prompt 'a fox' --retries 0").assert_exit(6);
    run.assert_stderr("idempotency key");
    assert_eq!(env.charge_count(), 0);
}

#[test]
fn a_concurrency_limit_exits_with_6() {
    let env = TestEnv::new();
    let body = r#"{"error":{"code":"concurrency_limit_reached","message":"The workspace has 100 jobs in flight."}}"#;
    let service = FakeServer::answering("400 Bad Request", body);
    let words = "video generate --prompt 'a fox' --retries 0";
    let run = env.run_at(&service.url, words).assert_exit(6);
    run.assert_stderr("concurrency_limit_reached").assert_stderr("retry later");
}

#[test]
fn a_failed_job_exits_with_7_and_a_canceled_one_with_8() {
    let env = TestEnv::new();
    let prompt = format!("{SHORT_JOB}[mock:fail=generation_failed]");
    let run = env.generate_image(&prompt, &["-o", "json"]).assert_exit(7);
    assert!(run.out.is_empty());
    let error = run.error();
    assert_eq!(error["code"], "generation_failed");
    let id = error["job_id"].as_str().unwrap();
    env.run(["job", "wait", id]).assert_exit(7);
    assert_eq!(env.run(["job", "result", id]).assert_exit(7).json()["status"], "failed");

    let id = env.submit_image("[mock:stuck]");
    env.mock.end_job(&id, JobStatus::Canceled, None).unwrap();
    env.run(["job", "wait", &id]).assert_exit(8);
    env.run(["job", "result", &id]).assert_exit(8);
    env.run(["job", "get", &id]).assert_exit(0);
}

#[test]
fn a_wait_timeout_exits_with_9_and_prints_the_resume_command() {
    let env = TestEnv::new();
    let run = env.generate_image("[mock:stuck]", &["--timeout", "1s"]).assert_exit(9);
    let id = env.mock.jobs()[0]["id"].as_str().unwrap().to_owned();
    run.assert_stderr(&format!("svc job wait {id} --surface open"))
        .assert_stderr(&format!("job: {id}"));
    let run = env.run(["job", "wait", &id, "--timeout", "1", "-o", "json"]).assert_exit(9);
    assert_eq!(run.error()["resume"], format!("svc job wait {id} --surface open"));
    assert_eq!(run.error()["job_id"], id.as_str());
}

#[test]
fn an_unreachable_service_exits_with_10() {
    let env = TestEnv::new();
    let nowhere = "http://127.0.0.1:9";
    for words in [&["job", "list"][..], &["video", "generate", "--prompt", "x"]] {
        let mut command = env.open_surface("--retries 0");
        command.env("SVC_BASE_URL", nowhere).args(words);
        let run = CommandOutput::of(&mut command).assert_exit(10);
        run.assert_stderr("svc config show --origin");
    }
    assert!(env.open_intents().is_empty(), "the intent is closed");
}

#[test]
fn a_failed_connection_names_the_url_and_where_it_comes_from() {
    let env = TestEnv::new();
    let words = "job list --retries 0 --base-url http://127.0.0.1:9";
    let run = env.run(words).assert_exit(10);
    run.assert_stderr("error: could not connect to http://127.0.0.1:9: connection refused\n")
        .assert_stderr("start it: svc mock serve --port-base 9\n")
        .assert_stderr("the URL that --base-url gives");
    let mut command = env.developer_surface("health --retries 0");
    command.env("SVC_DEVELOPER_BASE_URL", "http://127.0.0.1:9");
    let run = CommandOutput::of(&mut command).assert_exit(10);
    run.assert_stderr("svc mock serve --port-base 8\n")
        .assert_stderr("comes from: svc config show --origin\n");

    env.add_fault("jobs_list", "drop_after", 1);
    let run = env.run("job list --retries 0");
    assert!(!run.err.contains("error sending request"), "{}", run.err);
}

#[test]
fn a_web_page_has_one_message_whatever_its_status() {
    let env = TestEnv::new();
    let page = "<!DOCTYPE HTML>\n<html><head><title>Error response</title></head></html>";
    for (status, code) in [("404 Not Found", 404), ("200 OK", 200), ("502 Bad Gateway", 502)] {
        let server = FakeServer::answering(status, page);
        let run = env.run_at(&server.url, "job list --retries 0");
        let url = &server.url;
        run.assert_stderr(&format!(
            "error: {url} answered with a web page instead of the API (status {code}): \
             \"Error response\"\n"
        ))
        .assert_stderr("a proxy or a login page is in between: svc doctor\n");
    }
}

#[test]
fn hints_are_commands_that_work() {
    let env = TestEnv::new();
    let image = "svc image generate \"a red fox\" --model image-i";
    env.run("image generate")
        .assert_exit(2)
        .assert_stderr(&format!("next: pass a prompt, for example: {image}\n"));
    env.run("image generate fox").assert_exit(2).assert_stderr("svc model list --type image");
    env.run("image generate fox --model video-f --dry-run")
        .assert_exit(2)
        .assert_stderr("`video-f` is a video model; nothing was sent")
        .assert_stderr("next: use it with: svc video generate\n");
    env.run("video generate fox --model image-i --dry-run")
        .assert_exit(2)
        .assert_stderr("`image-i` is an image model; nothing was sent");
    env.run("image generate fox --model nope --dry-run")
        .assert_exit(1)
        .assert_stderr("`nope` is not a known model");
    for words in ["job get job_none", "job wait job_none", "job download job_none"] {
        env.run(words)
            .assert_exit(4)
            .assert_stderr("check the id")
            .assert_stderr("list the jobs with: svc job list\n");
    }
    env.run("balance --retries few")
        .assert_exit(2)
        .assert_stderr("for '--retries <N>': expected a whole number");
    env.run("video generate --param 'a={'").assert_exit(2).assert_stderr("the text ends too early");

    let words = ["generate", "[mock:seconds=1] fox", "--no-wait"];
    let run = env.run([&["video"][..], &words].concat()).assert_exit(0);
    let id = run.json()["job"]["id"].as_str().unwrap().to_owned();
    let next = format!("next: svc job wait {id} --surface open --download\n");
    run.assert_stderr(&next);
    let quiet = env.run([&["video"][..], &words, &["--quiet"]].concat());
    assert_eq!(quiet.assert_exit(0).err, "");

    for words in [
        "--sandbox job get job_none",
        "--sandbox history -o table",
        "--sandbox job wait --last",
        "--sandbox run wait --last",
    ] {
        env.run_unconfigured(words)
            .assert_stderr("each command with --sandbox starts with an empty mock");
    }
    let mut command = env.unconfigured("history -o table");
    CommandOutput::of(command.env("SVC_STATE_DIR", env.path("empty")))
        .assert_stderr("svc batch status MANIFEST");

    // A path that the service does not have names no id.
    let missing = r#"{"error":{"code":"not_found","message":"no resource at this path"}}"#;
    let service = FakeServer::answering("404 Not Found", missing);
    let run = env.run_at(&service.url, "pricing list").assert_exit(4);
    run.assert_stderr("check the URL: `svc config show --origin`");
}

#[test]
fn the_hint_for_missing_funds_names_an_amount_that_pays() {
    let env = TestEnv::new();
    let body = |details: &str| {
        let error = r#""code":"insufficient_funds","message":"the balance is too small""#;
        format!(r#"{{"error":{{{error},"details":{details}}}}}"#)
    };
    for (details, cents) in [
        (r#"{"required_usd":"0.7035","available_usd":"0.1"}"#, 500),
        (r#"{"required_usd":"20.7035","available_usd":"0.1"}"#, 2061),
        ("{}", 500),
    ] {
        let service = FakeServer::answering("402 Payment Required", &body(details));
        let run = env.run_at(&service.url, "video generate fox --new").assert_exit(5);
        run.assert_stderr(&format!("svc top-up create --amount-usd-cents {cents}\n"));
    }
}

#[test]
fn an_ambiguous_request_exits_with_11_and_prints_the_idempotency_key() {
    let env = TestEnv::new();
    let words =
        format!("image generate --model image-i --prompt '{SHORT_JOB}' --retries 0 -o json");
    for kind in ["drop_after", "truncate", "garbage", "status_502_html"] {
        env.add_fault("image_generate", kind, 1);
        let run = env.run(&words).assert_exit(11);
        let error = run.error();
        assert!(!error["idempotency_key"].as_str().unwrap().is_empty(), "{kind}");
        assert!(error["next"].to_string().contains("run the same command again"), "{kind}");
        let again = env.run(&words).assert_exit(0);
        assert!(again.err.contains("with the same idempotency key"), "{kind}: {}", again.err);
    }
    assert_eq!(env.job_count(), 4);
    assert_eq!(env.charge_count(), 4);

    env.add_fault("top_ups_create", "drop_after", 1);
    let run = env.run("top-up create --amount-usd-cents 500 --retries 0").assert_exit(11);
    run.assert_stderr("run the same command again");
    env.add_fault("video_generate", "drop_after", 1);
    let raw = [
        "api",
        "post",
        "/v1/video-router/generate",
        "--body",
        r#"{"model": "auto", "prompt": "a fox"}"#,
        "--retries",
        "0",
    ];
    env.run(raw).assert_exit(11).assert_stderr("idempotency key");
}

#[test]
fn a_raw_error_response_is_printed_and_sets_the_exit_code() {
    let env = TestEnv::new();
    let run = env.run("api get /v1/jobs/job_none").assert_exit(4).assert_stderr("job_not_found");
    assert_eq!(run.json()["error"]["code"], "job_not_found");
    let run = env.run("api get /v1/no/such/thing").assert_exit(4);
    assert!(run.json()["error"]["code"].is_string());
}

#[test]
fn an_api_key_in_a_response_is_redacted() {
    let env = TestEnv::new();
    let body =
        "<html>no such host; you sent: authorization: Bearer canary_k3y_0f_mine</html>".to_owned();
    for status in ["502 Bad Gateway", "403 Forbidden"] {
        let service = FakeServer::answering(status, &body);
        for form in ["table", "json"] {
            let words = ["job", "list", "--retries", "0", "-o", form];
            let run = CommandOutput::of(
                env.open_surface(words)
                    .env("SVC_BASE_URL", &service.url)
                    .env("SVC_OPEN_API_KEY", "canary_k3y_0f_mine"),
            );
            assert!(!run.err.contains("canary"), "{}", run.err);
            run.assert_stderr("Bearer [redacted]");
        }
    }
}

#[test]
fn a_redirect_is_an_error_with_a_hint() {
    let env = TestEnv::new();
    let service = FakeServer::answering("302 Found\r\nlocation: http://127.0.0.1:9/login", "");
    let run = env.run_at(&service.url, "job list");
    run.assert_exit(1)
        .assert_stderr("redirects are not followed")
        .assert_stderr("svc config show --origin");
}

#[test]
fn a_failed_tls_handshake_and_an_invalid_proxy_are_configuration_errors() {
    let env = TestEnv::new();
    let plain = FakeServer::answering("200 OK", "{}");
    let url = plain.url.replace("http://", "https://");
    let mut no_tls = env.open_surface("job list -o json");
    no_tls.env("SVC_BASE_URL", &url);
    let error = CommandOutput::of(&mut no_tls).assert_exit(2).error();
    assert_eq!(error["code"], "configuration");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("TLS failed"), "{message}");

    let mut no_proxy = env.open_surface("job list -o json");
    no_proxy.env("SVC_BASE_URL", &url).env("HTTPS_PROXY", "http://user:canary@[");
    let failed = CommandOutput::of(&mut no_proxy).assert_exit(2);
    assert!(!failed.err.contains("canary"), "{}", failed.err);
    let message = failed.error()["message"].to_string();
    assert!(message.contains("invalid proxy URL in HTTPS_PROXY"), "{message}");
}

#[test]
fn every_json_error_has_a_code_and_a_whole_message() {
    let env = TestEnv::new();
    let gateway = FakeServer::answering("502 Bad Gateway", "<html>");
    let html = FakeServer::answering("404 Not Found", "<html>");
    let text = FakeServer::answering("200 OK", "not json");
    let closed = "http://127.0.0.1:1";
    let usage = "the following required arguments were not provided: --amount-usd-cents <N>";
    let rows = [
        (env.mock.base_url(), "job get job_none", "job_not_found", 4, ""),
        (env.mock.base_url(), "top-up create", "usage", 2, usage),
        (env.mock.base_url(), "video generate", "usage", 2, "the request has no input"),
        (env.mock.base_url(), "balance", "configuration", 2, "no URL of the developer surface"),
        (closed, "job list --retries 0", "connection_failed", 10, ""),
        (&gateway.url, "job list --retries 0", "bad_gateway", 6, ""),
        (&html.url, "job list --retries 0", "http_error", 4, ""),
        (&text.url, "job list --retries 0", "unreadable_response", 1, ""),
        (
            env.mock.base_url(),
            "video generate fox --max-price 0",
            "over_budget",
            5,
            "--max-price 0.0000",
        ),
    ];
    for (url, words, code, exit, message) in rows {
        let mut command = env.open_surface("-o json");
        command.env("SVC_BASE_URL", url).args(words.split(' '));
        let run = CommandOutput::of(&mut command).assert_exit(exit);
        let error = run.error();
        assert_eq!(error["code"], code, "svc {words}: {}", run.err);
        assert_eq!(error["exit_code"], exit, "svc {words}");
        let actual = error["message"].as_str().unwrap();
        assert!(!actual.is_empty() && actual.contains(message), "{actual}");
    }
    let mut command = env.unconfigured("job list -o json");
    let run = CommandOutput::of(command.env("SVC_BASE_URL", closed)).assert_exit(3);
    assert_eq!(run.error()["code"], "not_authenticated");
}

#[test]
fn a_rejected_field_is_reported_by_its_flag() {
    let env = TestEnv::new();
    let run = env.developer("avatar generate 'a chef' --yes -o json");
    let error = run.assert_exit(1).error();
    assert_eq!(error["message"], "cannot submit the avatar: --avatar-handle is required");
    assert_eq!(error["details"]["field"], "avatar_handle");
    env.run("video generate fox --model video-f --duration 99")
        .assert_exit(1)
        .assert_stderr("--duration must be from 4 to 15");
}
