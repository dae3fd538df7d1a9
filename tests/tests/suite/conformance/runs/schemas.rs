//! Validation of `output_schema` and generation of matching outputs.

use serde_json::{Value, json};
use svc_tests::{Mock, on_every_frontend};

use super::{BULK, Kind, MEDIA_RUNS, RUNS, assert_no_runs, instruction, receipt, start, with};
use crate::fixtures::{schema_cases, violations};

on_every_frontend! {
    schemas_of_the_table_are_validated: plan("scale"),
    extreme_schemas_are_rejected,
    the_output_matches_its_schema,
    item_schemas_are_validated,
}

async fn schemas_of_the_table_are_validated(mock: Mock) {
    for case in schema_cases().iter().filter(|case| case.is_for_the_wire) {
        let body = with(instruction("x"), json!({"output_schema": case.schema}));
        let response = mock.developer().post(RUNS, body).await;
        if case.is_valid {
            response.expect(202);
            continue;
        }
        let name = &case.name;
        let error = response.expect_error(400, "output_schema_invalid");
        let list = &error["details"]["violations"];
        let has_message = |item: &Value| item["message"].is_string();
        assert!(
            list.as_array().unwrap().iter().all(has_message),
            "{name}: {list}"
        );
        case.assert_found(&violations(list));
    }
}

async fn extreme_schemas_are_rejected(mock: Mock) {
    for case in schema_cases().iter().filter(|case| !case.is_for_the_wire) {
        if case.schema.is_null() {
            continue;
        }
        let body = with(instruction("x"), json!({"output_schema": case.schema}));
        let response = mock.developer().post(RUNS, body).await.expect(400);
        let code = response.code();
        let is_expected = ["output_schema_invalid", "invalid_request"].contains(&code.as_str());
        assert!(is_expected, "{}: {code}", case.name);
    }
    assert_no_runs(&mock).await;
}

async fn the_output_matches_its_schema(mock: Mock) {
    let schema = json!({
        "type": "object",
        "properties": {
            "hero": {"type": "string", "format": "uri"},
            "title": {"type": "string"},
            "tone": {"type": "string", "enum": ["warm", "cold"]},
            "count": {"type": "integer", "minimum": 3, "maximum": 5},
            "ratio": {"type": "number", "minimum": 0.5},
            "done": {"type": "boolean"},
            "shots": {"type": "array", "minItems": 2, "maxItems": 4, "items": {"type": "string"}},
            "kind": {"const": "teaser"},
        },
        "required": ["hero", "title", "tone", "count", "ratio", "done", "shots", "kind"],
        "additionalProperties": false,
    });
    let body = with(instruction("x"), json!({"output_schema": schema}));
    let id = start(&mock.developer(), MEDIA_RUNS, body).await;
    mock.advance(10).await;
    let receipt = receipt(&mock, Kind::Format, &id).await;
    assert_eq!(receipt["status"], "completed", "{receipt}");
    let output = &receipt["output"];
    assert!(
        output["hero"].as_str().unwrap().starts_with("http"),
        "{output}"
    );
    assert!(
        output["title"].is_string() && output["done"].is_boolean(),
        "{output}"
    );
    assert!(
        ["warm", "cold"].contains(&output["tone"].as_str().unwrap()),
        "{output}"
    );
    assert!(
        (3..=5).contains(&output["count"].as_u64().unwrap()),
        "{output}"
    );
    assert!(output["ratio"].as_f64().unwrap() >= 0.5, "{output}");
    let shots = output["shots"].as_array().unwrap();
    assert!((2..=4).contains(&shots.len()) && shots.iter().all(Value::is_string));
    assert_eq!(output["kind"], "teaser");
    assert_eq!(output.as_object().unwrap().len(), 8, "{output}");
}

async fn item_schemas_are_validated(mock: Mock) {
    let bad = with(
        instruction("x"),
        json!({"output_schema": {"type": "object", "title": "T"}}),
    );
    let body = json!({"items": [instruction("x"), bad]});
    let error = mock
        .developer()
        .post_error(BULK, body, 400, "output_schema_invalid")
        .await;
    assert_eq!(error["details"]["index"], 1);
    assert_eq!(error["details"]["violations"][0]["path"], "/title");
    assert_no_runs(&mock).await;
}
