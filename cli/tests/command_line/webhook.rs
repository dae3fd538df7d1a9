//! Webhooks without a receiver of our own: signatures, made events, and what the service keeps.

use std::fs;

use serde_json::Value;
use svc_mock_server::DEVELOPER_API_KEY;

use crate::place::{Fake, Place, Run};

/// The vector of the library: Python's `hmac.new(b"whsec_newest", b"1700000000." + body, "sha256")`.
const BODY: &str = r#"{"event":"job.completed","job_id":"job_123"}"#;
const TIMESTAMP: &str = "1700000000";
const NEWEST: &str = "8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142";
const PREVIOUS: &str = "27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13";

/// `svc webhook` with that secret, and with a file `body` beside it.
fn offline(place: &Place, words: &[&str]) -> Run {
    fs::write(place.path("body"), BODY).unwrap();
    let mut command = place.bare(["webhook"]);
    Run::of(
        command
            .args(words)
            .env("SVC_WEBHOOK_SECRET", "whsec_newest"),
    )
}

fn verify(place: &Place, timestamp: &str, signature: &str, tolerance: &str) -> Run {
    let words = [
        "verify",
        "--timestamp",
        timestamp,
        "--signature",
        signature,
        "--tolerance",
        tolerance,
        "-o",
        "json",
        "body",
    ];
    offline(place, &words)
}

fn developer(place: &Place, words: &[&str]) -> Run {
    let mut command = place.bare([]);
    command
        .env("SVC_DEVELOPER_BASE_URL", place.mock.developer_base_url())
        .env("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY);
    Run::of(command.args(words))
}

#[test]
fn a_genuine_delivery_is_told_from_every_other() {
    let place = Place::new();
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
        let run = verify(&place, TIMESTAMP, &signature, "0").ends(0);
        let said = run.json();
        assert_eq!(said["valid"], true, "{signature}");
        assert_eq!(said["job_id"], "job_123");
        assert_eq!(said["fingerprint"], "7ab95101ed6218b1");
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
        let run = verify(&place, timestamp, signature, "0").ends(1);
        assert_eq!(run.error()["code"], code, "{timestamp} {signature}");
        assert!(run.out.is_empty());
    }
}

/// The verifier's vectors, as far as arguments can say them: the window hangs on this machine's clock,
/// secrets are whole lines, and a header is one text.
#[test]
fn the_vectors_for_verifiers_hold_at_the_command_line() {
    let place = Place::new();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../webhook-verify/vectors/vectors.json"
    );
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let texts = |value: &Value| -> Option<Vec<String>> {
        let lines = value.as_array()?.iter();
        lines.map(|line| Some(line.as_str()?.to_owned())).collect()
    };
    let can_be_said = |text: &String| !text.contains('\0');
    let is_a_line = |text: &String| !text.trim().is_empty() && text.trim().lines().eq([text]);
    let mut put = 0;
    for case in vectors["cases"].as_array().unwrap() {
        let reason = case["expect"]["reason"].as_str();
        let parts = [&case["secrets"], &case["timestamp"], &case["signature"]].map(texts);
        let ([Some(secrets), Some(timestamp), Some(signature)], Some(body)) =
            (parts, case["body"].as_str())
        else {
            continue;
        };
        let is_of_the_clock = matches!(reason, Some("timestamp_too_old" | "timestamp_in_future"));
        let sayable = timestamp.iter().chain(&signature).all(can_be_said);
        if is_of_the_clock || !sayable || timestamp.len() > 1 || !secrets.iter().all(is_a_line) {
            continue;
        }
        fs::write(place.path("secrets"), secrets.join("\n")).unwrap();
        fs::write(place.path("body"), body).unwrap();
        let mut command = place.bare(["webhook", "verify", "-o", "json", "--tolerance", "0"]);
        command
            .args([
                "--secret-file",
                "secrets",
                "--timestamp",
                &timestamp.concat(),
            ])
            .args(["--signature", &signature.join(","), "body"]);
        let run = Run::of(&mut command);
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
        put += 1;
    }
    assert!(put > 100, "{put} of the vectors");
}

#[test]
fn a_stale_delivery_is_refused_in_both_directions() {
    let place = Place::new();
    let newest = format!("svc-v1={NEWEST}");
    let run = verify(&place, TIMESTAMP, &newest, "300").ends(1);
    assert_eq!(run.error()["code"], "timestamp_too_old");
    let signed = offline(&place, &["sign", "--timestamp", "99999999999", "body"])
        .ends(0)
        .json();
    let signature = signed["signature"].as_str().unwrap();
    let run = verify(&place, "99999999999", signature, "300").ends(1);
    assert_eq!(run.error()["code"], "timestamp_in_future");
    let now = offline(&place, &["sign", "body"]).ends(0).json();
    let (timestamp, signature) = (&now["timestamp"], &now["signature"]);
    verify(
        &place,
        timestamp.as_str().unwrap(),
        signature.as_str().unwrap(),
        "300",
    )
    .ends(0);
}

#[test]
fn a_body_is_signed_with_every_secret_that_is_good_the_newest_first() {
    let place = Place::new();
    fs::write(place.path("secrets"), "whsec_newest\nwhsec_previous\n").unwrap();
    let words = [
        "sign",
        "--timestamp",
        TIMESTAMP,
        "--secret-file",
        "secrets",
        "body",
    ];
    let signed = offline(&place, &words).ends(0).json();
    let both = format!("svc-v1={NEWEST},svc-v1={PREVIOUS}");
    assert_eq!(signed["signature"], both);
    assert_eq!(signed["headers"]["x-svc-webhook-signature"], both);
    assert_eq!(signed["headers"]["x-svc-webhook-timestamp"], TIMESTAMP);
    assert_eq!(signed["fingerprint"], "7ab95101ed6218b1");
    assert!(!signed.to_string().contains("whsec"));
}

#[test]
fn bodies_are_bytes_and_come_on_standard_input_too() {
    let place = Place::new();
    fs::write(place.path("binary"), b"\x00\xff\xfe\x80").unwrap();
    let signature = "svc-v1=bfde5f017e153fd344ec2aeb27613ad1b488835497ac17947984857a77d5756d";
    let mut command = place.bare([
        "webhook",
        "verify",
        "--timestamp",
        TIMESTAMP,
        "--signature",
        signature,
        "--tolerance",
        "0",
        "-",
    ]);
    let binary = fs::File::open(place.path("binary")).unwrap();
    command
        .stdin(binary)
        .env("SVC_WEBHOOK_SECRET", "whsec_newest");
    let run = Run::of(&mut command).ends(0);
    assert!(run.json()["event"].is_null());
}

#[test]
fn the_secret_is_a_file_a_variable_or_the_profiles_and_never_an_argument() {
    let place = Place::new();
    fs::write(place.path("body"), BODY).unwrap();
    let words = ["webhook", "sign", "--timestamp", TIMESTAMP, "body"];
    let none = Run::of(&mut place.bare(words)).ends(2);
    let none = none.says("SVC_WEBHOOK_SECRET").says("--secret-file");
    assert!(none.err.contains("svc webhook secret show"), "{}", none.err);
    Run::of(place.bare(words).env("SVC_WEBHOOK_SECRET", " \n")).ends(2);
    Run::of(place.bare(words).args(["--secret-file", "none"]))
        .ends(2)
        .says("none");

    let secret = place.path("secret");
    fs::write(&secret, "whsec_newest\n").unwrap();
    let path = secret.to_str().unwrap();
    Run::of(&mut place.bare(["config", "set", "webhook_secret_file", path])).ends(0);
    let of_file = Run::of(&mut place.bare(words)).ends(0).json();
    assert_eq!(of_file["signature"], format!("svc-v1={NEWEST}"));

    let config = place.path("config/config.toml");
    fs::write(
        &config,
        "[profiles.default]\nwebhook_secret = 'whsec_previous'\n",
    )
    .unwrap();
    let of_profile = Run::of(&mut place.bare(words)).ends(0).json();
    assert_eq!(of_profile["signature"], format!("svc-v1={PREVIOUS}"));
    let shown = Run::of(&mut place.bare(["config", "show", "--origin"])).ends(0);
    assert!(shown.out.contains("profile default") && !shown.out.contains("whsec"));
    let of_variable = Run::of(place.bare(words).env("SVC_WEBHOOK_SECRET", "whsec_newest"));
    assert_eq!(of_variable.json()["signature"], of_file["signature"]);
}

#[test]
fn a_made_event_is_signed_and_sent() {
    let place = Place::new();
    let receiver = Fake::answering("200 OK", "");
    for event in [
        "job.completed",
        "job.failed",
        "job.canceled",
        "action.run.terminal",
        "format.run.terminal",
        "agent.run.terminal",
        "webhook.test",
    ] {
        let run = offline(&place, &["trigger", event, "--to", &receiver.url]).ends(0);
        assert_eq!(run.json()["status"], 200);
        assert_eq!(run.json()["event"], event);
    }
    let words = [
        "trigger",
        "job.completed",
        "--to",
        &receiver.url,
        "--job-id",
    ];
    offline(&place, &[&words[..], &["job_7"]].concat()).ends(0);
    let words = [
        "trigger",
        "job.completed",
        "--to",
        &receiver.url,
        "--payload",
    ];
    let words = [&words[..], &["body", "--timestamp", TIMESTAMP]].concat();
    offline(&place, &words).ends(0);
    let heads = receiver.heads.lock().unwrap();
    assert_eq!(heads.len(), 9);
    assert!(heads[7].contains("job_7"), "{}", heads[7]);
    let last = heads.last().unwrap().to_lowercase();
    assert!(last.contains(&format!("x-svc-webhook-signature: svc-v1={NEWEST}")));
    assert!(last.contains("content-type: application/json"));
    assert!(last.ends_with(&format!("\r\n\r\n{BODY}")), "{last}");
}

#[test]
fn what_cannot_be_triggered_says_why() {
    let place = Place::new();
    let sick = Fake::answering("500 Internal Server Error", "");
    let run = offline(&place, &["trigger", "job.failed", "--to", &sick.url]).ends(1);
    assert_eq!(run.json()["status"], 500);
    let gone = ["trigger", "job.failed", "--to", "http://127.0.0.1:9/"];
    offline(&place, &gone).ends(10).says("127.0.0.1:9");
    let to = sick.url.as_str();
    offline(&place, &["trigger", "job.paused", "--to", to])
        .ends(2)
        .says("agent.run.terminal");
    let words = ["trigger", "job.failed", "--to", to, "--payload", "body"];
    offline(&place, &words).ends(2).says("job.completed");
    for wrong in [
        &["trigger", "job.failed", "--to", to, "--run-id", "run_1"],
        &["trigger", "webhook.test", "--to", to, "--job-id", "job_1"],
        &["trigger", "agent.run.terminal", "--to", to, "--job-id", "j"],
    ] {
        offline(&place, wrong).ends(2);
    }
    let plain = ["trigger", "job.failed", "--to", "http://hooks.example/"];
    offline(&place, &plain).ends(2).says("https");
    assert_eq!(sick.heads.lock().unwrap().len(), 1);
}

#[test]
fn the_services_secret_is_shown_and_rotated_once_someone_has_agreed() {
    let place = Place::new();
    let before = developer(&place, &["webhook", "secret", "show"]).ends(0);
    assert_eq!(before.json()["secret"], place.mock.webhook_secret());
    let table = developer(&place, &["webhook", "secret", "show", "-o", "table"]).ends(0);
    assert!(
        !table.out.contains(&place.mock.webhook_secret()),
        "{}",
        table.out
    );

    let asked = developer(&place, &["webhook", "secret", "rotate"]).ends(2);
    asked.says("second rotation").says("--yes");
    assert_eq!(before.json()["secret"], place.mock.webhook_secret());

    let rotated = developer(&place, &["webhook", "secret", "rotate", "--yes"]).ends(0);
    assert_eq!(rotated.json()["secret"], place.mock.webhook_secret());
    let before = before.json()["fingerprint"].clone();
    assert_eq!(rotated.json()["rotation"]["previous_fingerprint"], before);
    let warned = developer(&place, &["webhook", "secret", "rotate"]).ends(2);
    warned
        .says("retires the previous secret")
        .says(before.as_str().unwrap());
    assert_eq!(place.requests("signing_secret_rotate").len(), 1);
}

#[test]
fn the_service_sends_a_test_event_and_redelivers() {
    let place = Place::new();
    let sent = developer(
        &place,
        &["webhook", "test", "https://hooks.example.com/svc"],
    )
    .ends(0);
    assert_eq!(sent.json()["event"], "webhook.test");
    developer(&place, &["webhook", "test", "http://hooks.example.com/"]).ends(2);
    let words = [
        "image",
        "generate",
        "--surface",
        "developer",
        "--prompt",
        "a fox [mock:seconds=0.5]",
        "--webhook-url",
        "https://hooks.example.com/svc",
    ];
    let job = developer(&place, &words).ends(0).json()["job_id"].clone();
    let job = job.as_str().unwrap();
    let again = developer(&place, &["job", "redeliver", job]).ends(0);
    assert_eq!(again.json()["job_id"], job);
    developer(&place, &["job", "redeliver", "job_none"]).ends(4);
    place
        .run(["job", "redeliver", job, "--surface", "open"])
        .ends(2)
        .says("developer");
}
