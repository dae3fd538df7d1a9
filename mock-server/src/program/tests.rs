use clap::{CommandFactory, Parser};
use serde_json::{Value, json};

use super::*;

#[derive(Parser)]
struct StartedProgram {
    #[command(flatten)]
    options: Options,
}

fn parse(line: &str) -> Result<Options, String> {
    let words = std::iter::once("mock").chain(line.split_whitespace());
    StartedProgram::try_parse_from(words)
        .map(|program| program.options)
        .map_err(|error| error.to_string())
}

/// Returns the output of a program that is shut down at once.
async fn printed(line: &str, terminal: bool) -> String {
    let mut options = parse(&format!("--port-base 0 {line}")).unwrap();
    options.terminal = terminal;
    let mut out = Vec::new();
    run(options, &mut out, |_| {}, async {}).await.unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_command_line_definition_is_valid() {
    StartedProgram::command().debug_assert();
}

#[test]
fn options_have_the_documented_defaults() {
    let options = parse("").unwrap();
    assert_eq!(options.port_base, 4010);
    assert_eq!(options.mock.clock, ClockKind::Real);
    assert_eq!(options.mock.speed, Speed::default());
    assert_eq!(options.mock.seed, 1);
    assert_eq!(options.mock.plan, Plan::Free);
    assert_eq!(options.mock.balance_usd.to_string(), "100.0000");
    assert!(options.mock.webhook_routes.is_empty());
    assert_eq!(options.mock.undocumented_keys, UndocumentedKeys::Ignore);
    assert_eq!(options.mock.read_multiple, 40);
}

#[test]
fn parses_every_option() {
    let options = parse(
        "--port-base 5000 --clock manual --speed 20 --seed 7 --plan scale --balance-usd 0.5 \
         --webhook-route https://a.example=http://127.0.0.1:1 \
         --webhook-route https://b.example=http://localhost:2 --undocumented-keys honor \
         --read-multiple 2 --env",
    );
    let options = options.unwrap();
    assert_eq!(options.mock.clock, ClockKind::Manual);
    assert_eq!(options.mock.plan, Plan::Scale);
    assert_eq!(options.mock.undocumented_keys, UndocumentedKeys::Honor);
    assert_eq!(options.mock.webhook_routes.len(), 2);
    assert_eq!(options.mock.read_multiple, 2);
    assert!(options.env);
}

#[test]
fn rejects_invalid_values_with_the_expected_ones() {
    let rows = [
        ("--clock sundial", "manual"),
        ("--speed 0", "from 0.001"),
        ("--plan gold", "startup"),
        ("--undocumented-keys sometimes", "ignore, honor"),
        ("--balance-usd lots", "expected dollars"),
        ("--balance-usd=-1", "at least 0"),
        ("--port-base 70000", "65535"),
        ("--webhook-route https://a.example", "http://127.0.0.1:9000"),
        ("--env --json", "--json"),
        ("--allow-host http://test:9000", "without scheme and port, such as test"),
        ("--allow-host test:9000", "without scheme and port, such as test"),
    ];
    for (line, expected) in rows {
        let error = parse(line).unwrap_err();
        assert!(error.contains(expected), "{line}: {error}");
    }
}

#[test]
fn urls_that_nobody_else_can_use_are_noticed() {
    for (line, expected) in [
        ("", false),
        ("--bind 0.0.0.0", true),
        ("--bind ::", true),
        ("--bind 0.0.0.0 --host mock", false),
        ("--bind 0.0.0.0 --public-url http://localhost:4010", false),
        ("--bind 0.0.0.0 --urls-from-host", false),
    ] {
        assert_eq!(parse(line).unwrap().lacks_reachable_urls(), expected, "{line}");
    }
    assert_eq!(parse("--allow-host test").unwrap().allowed_hosts, ["test"]);
}

#[tokio::test]
async fn prints_one_line_of_json_without_a_terminal() {
    let out = printed("", false).await;
    assert_eq!(out.lines().count(), 1);
    assert!(out.starts_with(r#"{"SVC_BASE_URL":"http://127.0.0.1:"#), "{out}");
    let fields: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(fields["SVC_OPEN_API_KEY"], "svc_open_demo");
    assert_eq!(fields["SVC_DEVELOPER_API_KEY"], "svc_dev_demo");
    let mcp = format!("{}/mcp", fields["SVC_DEVELOPER_BASE_URL"].as_str().unwrap());
    assert_eq!(fields["SVC_MCP_URL"], mcp);
    assert_eq!(fields.as_object().unwrap().len(), 8);
    // The page has the secret of the default seed.
    let page = include_str!("../../CI.md");
    assert!(page.contains(fields["SVC_WEBHOOK_SECRET"].as_str().unwrap()), "{out}");
    for (name, value) in fields.as_object().unwrap() {
        assert!(value.as_str().is_some_and(|value| !value.is_empty()), "{name}");
    }
    assert!(printed("--json", true).await.starts_with('{'));
}

#[tokio::test]
async fn prints_a_table_to_a_terminal_and_exports_with_env() {
    let table = printed("", true).await;
    assert!(table.starts_with("SVC_BASE_URL             http://127.0.0.1:"), "{table}");
    let exports = printed("--env", true).await;
    assert!(exports.lines().all(|line| line.starts_with("export SVC_") && line.ends_with('\'')));
}

#[tokio::test]
async fn an_unwritable_output_is_an_error() {
    let options = parse("--port-base 0").unwrap();
    let mut full: &mut [u8] = &mut [];
    let result = run(options, &mut full, |_| {}, std::future::pending()).await;
    assert!(matches!(result, Err(ProgramError::Output(_))));
}

#[test]
fn a_request_is_a_line_with_method_path_status_and_code() {
    let request =
        json!({"method": "POST", "path": "/v1/x", "status": 402, "code": "insufficient_funds"});
    let line = request_line(&request).unwrap();
    assert_eq!(line, "POST   /v1/x  402  insufficient_funds");
    let request = json!({"method": "GET", "path": "/v1/y", "status": 200, "code": null});
    assert_eq!(request_line(&request).unwrap(), "GET    /v1/y  200");
    let dropped = json!({"method": "GET", "path": "/v1/y", "status": null, "code": null});
    assert_eq!(request_line(&dropped).unwrap(), "GET    /v1/y  no response");
    let control = json!({"surface": "control", "method": "GET", "path": "/", "status": 200});
    assert_eq!(request_line(&control), None);
}
