//! `svc webhook`: signatures, sample events, and the webhook commands of the service.

use std::fs;

use serde_json::Value;

use crate::listen_env::{Listener, now, post, signed as signed_headers};
use crate::test_env::{CommandOutput, FakeServer, TestEnv, Words};

/// A test vector: Python's `hmac.new(b"whsec_newest", b"1700000000." + body, "sha256")`.
const BODY: &str = r#"{"event":"job.completed","job_id":"job_123"}"#;
const TIMESTAMP: &str = "1700000000";
const NEWEST: &str = "8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142";
const PREVIOUS: &str = "27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13";

/// Runs `svc webhook` with a secret and a file `body`.
fn offline(env: &TestEnv, words: impl Words) -> CommandOutput {
    fs::write(env.path("body"), BODY).unwrap();
    let mut command = env.unconfigured("webhook");
    CommandOutput::of(command.args(words.words()).env("SVC_WEBHOOK_SECRET", "whsec_newest"))
}

fn verify(env: &TestEnv, timestamp: &str, signature: &str, tolerance: &str) -> CommandOutput {
    let words = format!(
        "verify --timestamp '{timestamp}' --signature '{signature}' --tolerance '{tolerance}' -o json body"
    );
    offline(env, &words)
}

#[test]
fn verify_accepts_valid_signatures_and_rejects_invalid_ones() {
    let env = TestEnv::new();
    let newest = format!("svc-v1={NEWEST}");
    let wrong = format!("svc-v1={}", "0".repeat(64));
    let genuine = [
        newest.clone(),
        format!("svc-v1={}", NEWEST.to_uppercase()),
        format!("svc-v1=zz,{newest}"),
        format!("{newest},garbage"),
        format!("{wrong}, {newest}"),
        format!("svc-v2=abc,{newest}"),
    ];
    for signature in genuine {
        let run = verify(&env, TIMESTAMP, &signature, "0").assert_exit(0);
        let result = run.json();
        assert_eq!(result["valid"], true, "{signature}");
        assert_eq!(result["job_id"], "job_123");
        assert_eq!(result["fingerprint"], "7ab95101ed6218b1");
    }
    let previous = format!("svc-v1={PREVIOUS}");
    let cut = format!("svc-v1={}", &NEWEST[..63]);
    let rows = [
        (TIMESTAMP, wrong.as_str(), "signature_mismatch"),
        (TIMESTAMP, &previous, "signature_mismatch"),
        (TIMESTAMP, &cut, "signature_malformed"),
        (TIMESTAMP, NEWEST, "signature_malformed"),
        (TIMESTAMP, "", "signature_missing"),
        (TIMESTAMP, "svc-v2=abc", "signature_unsupported"),
        ("1700000001", &newest, "signature_mismatch"),
        ("", &newest, "timestamp_missing"),
        ("+1700000000", &newest, "timestamp_malformed"),
        ("-9223372036854775808", &newest, "timestamp_malformed"),
    ];
    for (timestamp, signature, code) in rows {
        let run = verify(&env, timestamp, signature, "0").assert_exit(1);
        assert_eq!(run.error()["code"], code, "{timestamp} {signature}");
        assert!(run.out.is_empty());
    }
}

/// Runs the verifier's test vectors that can be expressed as arguments. Others depend on the clock,
/// or have secrets that are not lines, or repeated headers.
#[test]
fn the_test_vectors_pass_on_the_command_line() {
    let env = TestEnv::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../webhook-verify/vectors/vectors.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let texts = |value: &Value| -> Option<Vec<String>> {
        let lines = value.as_array()?.iter();
        lines.map(|line| Some(line.as_str()?.to_owned())).collect()
    };
    let is_argument = |text: &String| !text.contains('\0');
    let is_a_line = |text: &String| !text.trim().is_empty() && text.trim().lines().eq([text]);
    let mut count = 0;
    for case in vectors["cases"].as_array().unwrap() {
        let reason = case["expect"]["reason"].as_str();
        let parts = [&case["secrets"], &case["timestamp"], &case["signature"]].map(texts);
        let ([Some(secrets), Some(timestamp), Some(signature)], Some(body)) =
            (parts, case["body"].as_str())
        else {
            continue;
        };
        let depends_on_clock = matches!(reason, Some("timestamp_too_old" | "timestamp_in_future"));
        let is_expressible = timestamp.iter().chain(&signature).all(is_argument);
        if depends_on_clock
            || !is_expressible
            || timestamp.len() > 1
            || !secrets.iter().all(is_a_line)
        {
            continue;
        }
        fs::write(env.path("secrets"), secrets.join("\n")).unwrap();
        fs::write(env.path("body"), body).unwrap();
        let mut command = env.unconfigured("webhook verify -o json --tolerance 0");
        command.args(["--secret-file", "secrets", "--timestamp", &timestamp.concat()]).args([
            "--signature",
            &signature.join(","),
            "body",
        ]);
        let run = CommandOutput::of(&mut command);
        match reason {
            None => assert_eq!(run.code, Some(0), "{case}\n{run:?}"),
            Some(reason) if reason.starts_with("secret") => {
                assert_eq!(
                    run.code,
                    Some(2),
                    "{case}
{run:?}"
                );
            }
            Some(reason) => {
                assert_eq!(run.code, Some(1), "{case}\n{run:?}");
                assert_eq!(run.error()["code"], reason, "{case}");
            }
        }
        count += 1;
    }
    assert!(count > 100, "{count} of the vectors");
}

#[test]
fn stale_and_future_deliveries_are_rejected() {
    let env = TestEnv::new();
    let newest = format!("svc-v1={NEWEST}");
    let run = verify(&env, TIMESTAMP, &newest, "300").assert_exit(1);
    assert_eq!(run.error()["code"], "timestamp_too_old");
    let signed = offline(&env, "sign --timestamp 99999999999 body").assert_exit(0).json();
    let signature = signed["signature"].as_str().unwrap();
    let run = verify(&env, "99999999999", signature, "300").assert_exit(1);
    assert_eq!(run.error()["code"], "timestamp_in_future");
    let now = offline(&env, "sign body").assert_exit(0).json();
    let (timestamp, signature) = (&now["timestamp"], &now["signature"]);
    verify(&env, timestamp.as_str().unwrap(), signature.as_str().unwrap(), "300").assert_exit(0);
}

#[test]
fn a_body_is_signed_with_all_secrets_newest_first() {
    let env = TestEnv::new();
    fs::write(env.path("secrets"), "whsec_newest\nwhsec_previous\n").unwrap();
    let words = format!("sign --timestamp '{TIMESTAMP}' --secret-file secrets body");
    let signed = offline(&env, &words).assert_exit(0).json();
    let both = format!("svc-v1={NEWEST},svc-v1={PREVIOUS}");
    assert_eq!(signed["signature"], both);
    assert_eq!(signed["headers"]["x-svc-webhook-signature"], both);
    assert_eq!(signed["headers"]["x-svc-webhook-timestamp"], TIMESTAMP);
    assert_eq!(signed["fingerprint"], "7ab95101ed6218b1");
    assert!(!signed.to_string().contains("whsec"));
}

#[test]
fn a_binary_body_is_read_from_standard_input() {
    let env = TestEnv::new();
    fs::write(env.path("binary"), b"\x00\xff\xfe\x80").unwrap();
    let signature = "svc-v1=bfde5f017e153fd344ec2aeb27613ad1b488835497ac17947984857a77d5756d";
    let mut command = env.unconfigured(format!(
        "webhook verify --timestamp '{TIMESTAMP}' --signature '{signature}' --tolerance 0 -"
    ));
    let binary = fs::File::open(env.path("binary")).unwrap();
    command.stdin(binary).env("SVC_WEBHOOK_SECRET", "whsec_newest");
    let run = CommandOutput::of(&mut command).assert_exit(0);
    assert!(run.json()["event"].is_null());
}

#[test]
fn the_secret_is_read_from_a_file_a_variable_or_the_profile() {
    let env = TestEnv::new();
    fs::write(env.path("body"), BODY).unwrap();
    let words = ["webhook", "sign", "--timestamp", TIMESTAMP, "body"];
    let none = env.run_unconfigured(words).assert_exit(2);
    let none = none.assert_stderr("SVC_WEBHOOK_SECRET").assert_stderr("--secret-file");
    assert!(none.err.contains("svc webhook secret show"), "{}", none.err);
    CommandOutput::of(env.unconfigured(words).env("SVC_WEBHOOK_SECRET", " \n")).assert_exit(2);
    CommandOutput::of(env.unconfigured(words).args(["--secret-file", "none"]))
        .assert_exit(2)
        .assert_stderr("none");

    let secret = env.path("secret");
    fs::write(&secret, "whsec_newest\n").unwrap();
    let path = secret.to_str().unwrap();
    env.run_unconfigured(["config", "set", "webhook_secret_file", path]).assert_exit(0);
    let of_file = env.run_unconfigured(words).assert_exit(0).json();
    assert_eq!(of_file["signature"], format!("svc-v1={NEWEST}"));

    let config = env.path("config/config.toml");
    fs::write(&config, "[profiles.default]\nwebhook_secret = 'whsec_previous'\n").unwrap();
    let of_profile = env.run_unconfigured(words).assert_exit(0).json();
    assert_eq!(of_profile["signature"], format!("svc-v1={PREVIOUS}"));
    let shown = env.run_unconfigured("config show --origin").assert_exit(0);
    assert!(shown.out.contains("profile default") && !shown.out.contains("whsec"));
    let of_variable =
        CommandOutput::of(env.unconfigured(words).env("SVC_WEBHOOK_SECRET", "whsec_newest"));
    assert_eq!(of_variable.json()["signature"], of_file["signature"]);
}

#[test]
fn a_sample_event_is_signed_and_sent() {
    let env = TestEnv::new();
    let receiver = FakeServer::answering("200 OK", "");
    for event in [
        "job.completed",
        "job.failed",
        "job.canceled",
        "action.run.terminal",
        "format.run.terminal",
        "agent.run.terminal",
        "webhook.test",
    ] {
        let run = offline(&env, ["trigger", event, "--to", &receiver.url]).assert_exit(0);
        assert_eq!(run.json()["status"], 200);
        assert_eq!(run.json()["event"], event);
    }
    let words = format!("trigger job.completed --to '{}'", receiver.url);
    offline(&env, format!("{words} --job-id job_7")).assert_exit(0);
    let flags = format!("--payload body --timestamp {TIMESTAMP}");
    offline(&env, format!("{words} {flags}")).assert_exit(0);
    let heads = receiver.heads.lock().unwrap();
    assert_eq!(heads.len(), 9);
    assert!(heads[7].contains("job_7"), "{}", heads[7]);
    let last = heads.last().unwrap().to_lowercase();
    assert!(last.contains(&format!("x-svc-webhook-signature: svc-v1={NEWEST}")));
    assert!(last.contains("content-type: application/json"));
    assert!(last.ends_with(&format!("\r\n\r\n{BODY}")), "{last}");
}

#[test]
fn invalid_triggers_are_errors() {
    let env = TestEnv::new();
    let failing = FakeServer::answering("500 Internal Server Error", "");
    let run = offline(&env, ["trigger", "job.failed", "--to", &failing.url]).assert_exit(1);
    assert_eq!(run.json()["status"], 500);
    let unreachable = ["trigger", "job.failed", "--to", "http://127.0.0.1:9/"];
    offline(&env, unreachable).assert_exit(10).assert_stderr("127.0.0.1:9");
    let to = failing.url.as_str();
    offline(&env, ["trigger", "job.paused", "--to", to])
        .assert_exit(2)
        .assert_stderr("agent.run.terminal");
    let words = ["trigger", "job.failed", "--to", to, "--payload", "body"];
    offline(&env, words).assert_exit(2).assert_stderr("job.completed");
    for wrong in [
        &["trigger", "job.failed", "--to", to, "--run-id", "run_1"],
        &["trigger", "webhook.test", "--to", to, "--job-id", "job_1"],
        &["trigger", "agent.run.terminal", "--to", to, "--job-id", "j"],
    ] {
        offline(&env, wrong).assert_exit(2);
    }
    let plain = ["trigger", "job.failed", "--to", "http://hooks.example/"];
    offline(&env, plain).assert_exit(2).assert_stderr("https");
    assert_eq!(failing.heads.lock().unwrap().len(), 1);
}

#[test]
fn the_service_secret_is_shown_and_rotated_after_confirmation() {
    let env = TestEnv::new();
    let before = env.developer("webhook secret show").assert_exit(0);
    assert_eq!(before.json()["secret"], env.mock.webhook_secret());
    let table = env.developer("webhook secret show -o table").assert_exit(0);
    assert!(!table.out.contains(&env.mock.webhook_secret()), "{}", table.out);

    let asked = env.developer("webhook secret rotate").assert_exit(2);
    asked.assert_stderr("second rotation").assert_stderr("--yes");
    assert_eq!(before.json()["secret"], env.mock.webhook_secret());

    let rotated = env.developer("webhook secret rotate --yes").assert_exit(0);
    assert_eq!(rotated.json()["secret"], env.mock.webhook_secret());
    let before = before.json()["fingerprint"].clone();
    assert_eq!(rotated.json()["rotation"]["previous_fingerprint"], before);
    let warned = env.developer("webhook secret rotate").assert_exit(2);
    warned.assert_stderr("revokes the previous secret").assert_stderr(before.as_str().unwrap());
    assert_eq!(env.requests("signing_secret_rotate").len(), 1);
}

#[test]
fn test_events_and_redeliveries_are_requested() {
    let env = TestEnv::new();
    let sent = env.developer("webhook test https://hooks.example.com/svc").assert_exit(0);
    assert_eq!(sent.json()["event"], "webhook.test");
    env.developer("webhook test http://hooks.example.com/").assert_exit(2);
    let words = "image generate --surface developer --prompt 'a fox [mock:seconds=0.5]' \
        --webhook-url https://hooks.example.com/svc";
    let job = env.developer(words).assert_exit(0).json()["job_id"].clone();
    let job = job.as_str().unwrap();
    let again = env.developer(["job", "redeliver", job]).assert_exit(0);
    assert_eq!(again.json()["job_id"], job);
    env.developer("job redeliver job_none").assert_exit(4);
    env.run(["job", "redeliver", job, "--surface", "open"])
        .assert_exit(2)
        .assert_stderr("developer");
}

/// The variable, the file and the profile each have two secrets, one per line.
#[test]
fn all_commands_use_all_secrets_of_each_source() {
    let env = TestEnv::new();
    fs::write(env.path("body"), BODY).unwrap();
    let secrets = "whsec_newest\nwhsec_previous\n";
    fs::write(env.path("secrets"), secrets).unwrap();
    fs::create_dir_all(env.path("config")).unwrap();
    fs::write(
        env.path("config/config.toml"),
        format!(
            "[profiles.value]\nwebhook_secret = \"\"\"\n{secrets}\"\"\"\n[profiles.file]\nwebhook_secret_file = {:?}\n",
            env.path("secrets")
        ),
    )
    .unwrap();
    let both = format!("svc-v1={NEWEST},svc-v1={PREVIOUS}");
    let previous = format!("svc-v1={PREVIOUS}");
    let sources: [(&str, &[&str]); 5] = [
        (secrets, &[]),
        ("whsec_newest\r\n\r\n whsec_previous", &[]),
        ("", &["--secret-file", "secrets"]),
        ("", &["--profile", "value"]),
        ("", &["--profile", "file"]),
    ];
    for (variable, flags) in sources {
        let run = |words: &[&str]| {
            let mut command = env.unconfigured("webhook");
            command.env("SVC_WEBHOOK_SECRET", variable);
            CommandOutput::of(command.args(words).args(flags)).assert_exit(0)
        };
        let signed = run(&["sign", "--timestamp", TIMESTAMP, "body"]).json();
        assert_eq!(signed["signature"], both, "{flags:?}");
        let words = ["verify", "--timestamp", TIMESTAMP, "--tolerance", "0"];
        let verified = run(&[&words[..], &["--signature", &previous, "body"]].concat());
        assert_eq!(verified.json()["valid"], true);
        let receiver = FakeServer::answering("200 OK", "");
        let words = ["trigger", "job.completed", "--timestamp", TIMESTAMP];
        let words = [&words[..], &["--payload", "body", "--to", &receiver.url]].concat();
        run(&words);
        let heads = receiver.heads.lock().unwrap();
        assert!(heads[0].contains(&both), "{}", heads[0]);
        drop(heads);

        let mut command = env.unconfigured("webhook listen");
        command.env("SVC_WEBHOOK_SECRET", variable).args(flags);
        let listener = Listener::start(&mut command);
        for secret in ["whsec_newest", "whsec_previous"] {
            let body = format!(r#"{{"event":"webhook.test","n":"{secret}"}}"#);
            let headers = signed_headers(&[secret], now(), body.as_bytes());
            assert_eq!(post(listener.url(), &headers, body.as_bytes()), 200);
        }
        listener.end().assert_exit(0);
    }
}

#[test]
fn the_secret_and_the_body_cannot_both_be_read_from_standard_input() {
    let env = TestEnv::new();
    let rows: [&[&str]; 3] = [
        &["sign", "-"],
        &["verify", "--timestamp", TIMESTAMP, "--signature", "x", "-"],
        &["trigger", "job.failed", "--to", "http://127.0.0.1:9/", "--payload", "-"],
    ];
    for words in rows {
        offline(&env, [words, &["--secret-file", "-"]].concat())
            .assert_exit(2)
            .assert_stderr("cannot both read standard input");
    }
}

#[test]
fn the_sandbox_signs_and_verifies_with_its_own_secret() {
    let env = TestEnv::new();
    std::fs::write(env.path("body"), "{\"event\":\"webhook.test\"}").unwrap();
    let sign = "--sandbox webhook sign body -o json";
    let signed = env.run_unconfigured(sign).assert_exit(0).json();
    let text = |name: &str| signed[name].as_str().unwrap().to_owned();
    let (timestamp, signature) = (text("timestamp"), text("signature"));
    let verify = |flags: &[&str]| {
        let words = ["webhook", "verify", "--timestamp", &timestamp];
        let mut command = env.unconfigured(words);
        CommandOutput::of(command.args(["--signature", &signature, "body"]).args(flags))
    };
    verify(&["--sandbox"]).assert_exit(0);
    verify(&[]).assert_exit(2).assert_stderr("no signing secret");
}
