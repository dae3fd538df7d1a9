//! `svc schema`: comparison of the live schema with this version.

use serde_json::{Value, json};

use crate::test_env::{CommandOutput, TestEnv, Words};

/// Runs `svc` without an API key.
fn svc(env: &TestEnv, words: impl Words) -> CommandOutput {
    let mut command = env.unconfigured(words);
    command.env("SVC_DEVELOPER_BASE_URL", env.mock.developer_base_url());
    CommandOutput::of(&mut command)
}

/// Writes a changed copy of the live schema to a file.
fn altered(env: &TestEnv, alter: impl FnOnce(&mut Value)) -> String {
    let file = env.path("theirs.json").display().to_string();
    svc(env, ["schema", "fetch", &file]).assert_exit(0);
    let mut document = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    alter(&mut document);
    std::fs::write(&file, document.to_string()).unwrap();
    file
}

fn remove(document: &mut Value, pointer: &str, name: &str) {
    let parent = document.pointer_mut(pointer).unwrap();
    parent.as_object_mut().unwrap().remove(name).unwrap();
}

#[test]
fn both_documents_are_fetched_without_an_api_key() {
    let env = TestEnv::new();
    let fetched = svc(&env, ["schema", "fetch"]).assert_exit(0).json();
    assert_eq!(fetched["openapi"], "3.1.0");
    let reference = svc(&env, ["schema", "fetch", "--reference"]).assert_exit(0);
    assert_eq!(reference.json(), fetched);
}

#[test]
fn the_schema_of_the_same_version_has_no_drift() {
    let env = TestEnv::new();
    let check = svc(&env, ["schema", "check"]).assert_exit(0);
    assert_eq!(check.json(), json!([]));
    let url = format!("{}/v1/openapi.json", env.mock.developer_base_url());
    let check = svc(&env, ["schema", "check", "--against", &url]).assert_exit(0);
    assert_eq!(check.json(), json!([]));
}

#[test]
fn added_and_removed_parts_are_reported() {
    let env = TestEnv::new();
    let file = altered(&env, |document| {
        let schemas = &mut document["components"]["schemas"];
        schemas["Job"]["properties"]["lane"] = json!({"type": "integer"});
        let values = schemas["JobStatus"]["enum"].as_array_mut().unwrap();
        values.push("paused".into());
        remove(document, "/paths", "/v1/balance");
    });
    let check = svc(&env, ["schema", "check", "--against", &file]).assert_exit(1);
    let expected = check.json();
    let expected: Vec<_> = expected
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["drift"], &it["part"], &it["place"], &it["detail"], &it["breaks"]))
        .map(|it| json!(it))
        .collect();
    assert_eq!(
        expected,
        [
            json!(["gone", "operation", "balance", "GET /v1/balance", true]),
            json!(["new", "field", "Job.lane", null, false]),
            json!(["new", "enum_value", "JobStatus", "paused", false]),
        ]
    );
    let words = ["schema", "check", "--against", &file, "-o", "table"];
    let table = svc(&env, words).assert_exit(1);
    for word in ["gone", "balance", "Job.lane", "paused", "and"] {
        assert!(table.out.contains(word), "no {word} in {}", table.out);
    }
}

#[test]
fn additions_and_removed_assumptions_exit_with_0() {
    let env = TestEnv::new();
    let file = altered(&env, |document| {
        remove(document, "/components/schemas/Job/properties", "model");
        document["paths"]["/v1/lanes"] = json!({"get": {"responses": {}}});
    });
    let expected = svc(&env, ["schema", "check", "--against", &file]).assert_exit(0);
    let expected = expected.json();
    assert_eq!(expected[0]["place"], "Job.model");
    assert_eq!(expected[0]["assumed"], true);
    assert_eq!(expected[1]["place"], "GET /v1/lanes");
    assert_eq!(expected.as_array().unwrap().len(), 2);
}

#[test]
fn an_invalid_document_is_an_error() {
    let env = TestEnv::new();
    let file = env.path("odd.json");
    for (text, expected) in [("{}", "`paths` is missing"), ("<html>", "not valid JSON")] {
        std::fs::write(&file, text).unwrap();
        let file = file.display().to_string();
        let check = svc(&env, ["schema", "check", "--against", &file]).assert_exit(1);
        assert!(check.err.contains(expected), "{}", check.err);
    }
    svc(&env, ["schema", "check", "--against", "/no/such/file"]).assert_exit(2);
    svc(&env, ["schema", "check", "--against", "http://example.com/a.json"]).assert_exit(2);
}
