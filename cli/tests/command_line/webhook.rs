//! `svc webhook`: signatures, sample events, and the webhook commands of the service.

use std::fs;

use crate::listen_env::{Listener, now, post, signed as signed_headers};
use crate::test_env::{CommandOutput, FakeServer, TestEnv};

/// A test vector: Python's `hmac.new(b"whsec_newest", b"1700000000." + body, "sha256")`.
const BODY: &str = r#"{"event":"job.completed","job_id":"job_123"}"#;
const TIMESTAMP: &str = "1700000000";
const NEWEST: &str = "8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142";
const PREVIOUS: &str = "27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13";

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

        let mut command = env.unconfigured("webhook listen --port 0");
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
