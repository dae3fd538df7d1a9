//! The responses that a script says.

use serde_json::json;
use svc_test_script::{parse, split};

use crate::contract::ErrorCode;
use crate::transport::scripted::{Step, json};

/// Words for bodies.
const BODIES: &str = r#"
job {"data": {"id": "job_1", "status": "queued"}}
receipt {"data": {"job": {"id": "job_1", "status": "queued"}, "next_poll_after_seconds": 2}}
running {"data": {"id": "job_1", "status": "processing"}}
completed {"data": {"job_id": "job_1", "status": "completed", "terminal": true, "result_ready": true}}
early {"data": {"status": "completed", "terminal": true, "result_ready": false, "next_poll_after_seconds": 1}}
failed {"data": {"status": "failed", "terminal": true}}
canceled {"data": {"status": "canceled", "terminal": true}}
archived {"data": {"status": "archived", "terminal": true}}
unknown {"data": {"status": "faster"}}
result {"data": {"job_id": "job_1", "status": "completed", "artifacts": [{"url": "https://m/a.mp4"}]}}
files {"data": {"status": "completed", "artifacts": [{"id": "art_1", "url": "https://media.example/a?sig=1", "content_type": "image/png"}]}}
two-files {"data": {"status": "completed", "artifacts": [{"id": "art_1", "url": "https://media.example/1"}, {"id": "art_2", "url": "https://media.example/2"}]}}
same-names {"data": {"status": "completed", "artifacts": [{"id": "art_1", "url": "https://media.example/1"}, {"id": "art_1", "url": "https://media.example/2"}]}}
failed-result {"data": {"status": "failed", "error": {"code": "generation_failed", "message": "no"}}}
running-run {"data": {"run_id": "run_1", "status": "running"}}
over {"data": {"run_id": "run_1", "status": "completed", "output": {"title": "Fox"}, "output_error": null}}
settling {"data": {"run_id": "run_1", "status": "completed", "output": null, "output_error": {"code": "output_extraction_failed", "details": {"reason": "harvest_unavailable"}}}}
torn {"data": {"jo
"#;

/// The content of the files that are downloaded.
const FILE: &str = "0123456789abcdef";

/// Reads one response, and repeats it as its `xN` says.
pub(super) fn steps_of(text: &str) -> Vec<Step> {
    let words = split(text, ' ');
    let (mut step, mut rest) = match words[0] {
        "refused" => (Step::ConnectionRefused, &words[1..]),
        "reset" => (Step::ConnectionReset, &words[1..]),
        "silent" => (Step::NoResponse, &words[1..]),
        "whole" => (content(200, FILE).header("etag", "\"v1\""), &words[1..]),
        "part" => {
            let [start, end] = [words[1], words[2]].map(|number| number.parse::<usize>().unwrap());
            let part = content(206, &FILE[start..end]).header("etag", "\"v1\"");
            let range = format!("bytes {start}-{}/{}", end - 1, FILE.len());
            (part.header("content-range", range), &words[3..])
        }
        "other" => {
            let headers = vec![("etag", "\"v2\"".to_owned())];
            let body = words[2].to_owned().into();
            (Step::Response(words[1].parse().unwrap(), headers, body), &words[3..])
        }
        status => {
            let (step, used) = response(status.parse().expect(text), &words[1..]);
            (step, &words[1 + used..])
        }
    };
    let mut count = 1;
    while let [word, others @ ..] = rest {
        rest = others;
        step = match word.split_once('=') {
            Some(("cut", bytes)) => step.truncated_after(bytes.parse().unwrap()),
            Some(("stall", bytes)) => step.stalled_after(bytes.parse().unwrap()),
            Some(("limit", numbers)) => {
                let (limit, remaining) = numbers.split_once('/').unwrap();
                step.header("ratelimit-limit", limit)
                    .header("ratelimit-remaining", remaining)
                    .header("ratelimit-reset", 30)
            }
            Some(("range", range)) => step.header("content-range", format!("bytes {range}")),
            Some((name, value)) => step.header(name.to_owned().leak(), value),
            None => {
                count = word.strip_prefix('x').expect(text).parse().unwrap();
                step
            }
        };
    }
    vec![step; count]
}

fn content(status: u16, text: &str) -> Step {
    let headers = vec![("content-type", "image/png".to_owned())];
    Step::Response(status, headers, text.to_owned().into())
}

/// Returns a response, and how many words its body takes.
fn response(status: u16, words: &[&str]) -> (Step, usize) {
    let word = words.first().copied().unwrap_or_default();
    let known = BODIES.lines().filter_map(|line| line.split_once(' '));
    match (word, { known }.find(|(name, _)| *name == word)) {
        (_, Some((_, body))) => (json(status, body), 1),
        ("data", _) => (json(status, &format!(r#"{{"data": {}}}"#, words[1])), 2),
        ("page", _) => {
            let headers = vec![("content-type", "text/html; charset=utf-8".to_owned())];
            (Step::Response(status, headers, "<html>Bad gateway</html>".into()), 1)
        }
        ("nested-run", _) => {
            let (begin, end) = ("[".repeat(200), "]".repeat(200));
            let run = format!(r#"{{"data": {{"run_id": "run_7", "later": {begin}{end}}}}}"#);
            (json(status, &run), 1)
        }
        ("image", _) => (content(status, words[1]), 2),
        (text, _) if text.starts_with('"') => (json(status, parse(text).as_str().unwrap()), 1),
        (body, _) if body.starts_with('{') => (json(status, body), 1),
        (code, _) if ErrorCode::KNOWN.contains(&code.into()) => {
            (json(status, &json!({"error": {"code": code, "message": ""}}).to_string()), 1)
        }
        _ => (json(status, ""), 0),
    }
}
