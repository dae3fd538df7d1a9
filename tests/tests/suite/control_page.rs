//! The examples of the page `mock-server/CONTROL.md`, each run against a new mock.

mod shell;

use serde_json::Value;
use svc_tests::{FrontendKind, Mock};

use self::shell::{run, sends};

const PAGE: &str = include_str!("../../../mock-server/CONTROL.md");

/// An example: its commands, and the part of the last response that is below them.
#[derive(Debug)]
struct Example {
    heading: String,
    commands: String,
    expected: Value,
}

/// Returns the blocks of commands with the blocks of JSON that follow them.
fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    let (mut heading, mut commands) = (String::new(), None::<String>);
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            heading = line.trim_start_matches(['#', ' ']).to_owned();
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        let block = block.join("\n");
        match language {
            "sh" => {
                let unfinished = commands.replace(block);
                assert_eq!(unfinished, None, "{heading}: an example has no response");
            }
            "json" => examples.push(Example {
                heading: heading.clone(),
                commands: commands.take().expect("commands before a response"),
                expected: serde_json::from_str(&block).expect(&heading),
            }),
            _ => {}
        }
    }
    assert_eq!(commands, None, "{heading}: an example has no response");
    examples
}

/// Asserts that a value contains the expected one: each of its fields, and each of its items.
#[track_caller]
fn assert_contains(actual: &Value, expected: &Value, example: &Example) {
    let is_contained = match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            for (name, expected) in expected {
                let actual = actual.get(name).unwrap_or(&Value::Null);
                assert_contains(actual, expected, example);
            }
            true
        }
        (Value::Array(actual), Value::Array(expected)) => {
            for (actual, expected) in actual.iter().zip(expected) {
                assert_contains(actual, expected, example);
            }
            actual.len() >= expected.len() && actual.is_empty() == expected.is_empty()
        }
        (actual, expected) => actual == expected,
    };
    assert!(
        is_contained,
        "{}: {actual} instead of {expected} after\n{}",
        example.heading, example.commands
    );
}

#[tokio::test]
async fn every_example_gives_the_response_below_it() {
    let examples = examples();
    assert!(examples.len() > 20, "{examples:?}");
    for example in examples {
        let mock = Mock::start(FrontendKind::InProcess, "").await;
        let response = run(&mock, &example.commands).await;
        assert_contains(&response, &example.expected, &example);
    }
}

#[tokio::test]
async fn every_control_request_has_an_example() {
    let mock = Mock::start(FrontendKind::InProcess, "").await;
    let endpoints = mock.control().get_items("/").await;
    let sent: Vec<_> = examples().iter().flat_map(|example| sends(&example.commands)).collect();
    // The events are a stream, which has no single response.
    let endpoints = endpoints.iter().filter(|endpoint| endpoint["path"] != "/events");
    for endpoint in endpoints {
        let (method, path) =
            (endpoint["method"].as_str().unwrap(), endpoint["path"].as_str().unwrap());
        let (stem, has_id) = match path.split_once('{') {
            Some((stem, _)) => (stem, true),
            None => (path, false),
        };
        let is_sent = |(sent_method, target): &(String, String)| {
            let target = target.strip_prefix("$SVC_CONTROL_URL");
            let target = target.and_then(|target| target.split('?').next());
            sent_method == method
                && target.is_some_and(|target| match has_id {
                    true => target.len() > stem.len() && target.starts_with(stem),
                    false => target == path,
                })
        };
        assert!(sent.iter().any(is_sent), "no example of {method} {path} in {sent:?}");
        let heading = format!("`{method} {path}`");
        assert!(path == "/" || PAGE.contains(&heading), "no section {heading}");
    }
}
