//! `output_schema`: what is outside of the subset is named, and what is inside of it is filled.

use serde_json::json;
use svc_tests::{Mock, on_every_face};

use super::{BULK, Kind, MEDIA, RUNS, nothing_happened, receipt, run_of, start, with};
use crate::fixtures::{schema_cases, violations};

on_every_face! {
    each_schema_of_the_table_is_judged: plan("scale"),
    a_hostile_schema_is_refused_whole,
    an_output_fits_its_schema,
    a_schema_of_an_item_is_judged,
}

async fn each_schema_of_the_table_is_judged(mock: Mock) {
    for case in schema_cases().iter().filter(|case| case.is_for_the_wire) {
        let body = with(run_of("x"), json!({"output_schema": case.schema}));
        let answer = mock.developer().post(RUNS, body).await;
        if case.is_valid {
            assert_eq!(answer.status(), 202, "{}: {answer:?}", case.name);
            continue;
        }
        let name = &case.name;
        assert_eq!(answer.status(), 400, "{name}: {answer:?}");
        let error = answer.refused(400, "output_schema_invalid");
        let list = &error["details"]["violations"];
        let has_message = |item: &serde_json::Value| item["message"].is_string();
        assert!(
            list.as_array().unwrap().iter().all(has_message),
            "{name}: {list}"
        );
        case.assert_found(&violations(list));
    }
}

async fn a_hostile_schema_is_refused_whole(mock: Mock) {
    for case in schema_cases().iter().filter(|case| !case.is_for_the_wire) {
        if case.schema.is_null() {
            continue;
        }
        let body = with(run_of("x"), json!({"output_schema": case.schema}));
        let answer = mock.developer().post(RUNS, body).await.expect(400);
        let code = answer.code();
        let told = ["output_schema_invalid", "invalid_request"].contains(&code.as_str());
        assert!(told, "{}: {code}", case.name);
    }
    nothing_happened(&mock).await;
}

async fn an_output_fits_its_schema(mock: Mock) {
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
    let body = with(run_of("x"), json!({"output_schema": schema}));
    let id = start(&mock.developer(), &format!("{MEDIA}/runs"), body).await;
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
    assert!((2..=4).contains(&shots.len()) && shots.iter().all(serde_json::Value::is_string));
    assert_eq!(output["kind"], "teaser");
    assert_eq!(
        output.as_object().unwrap().len(),
        8,
        "nothing beside: {output}"
    );
}

async fn a_schema_of_an_item_is_judged(mock: Mock) {
    let bad = with(
        run_of("x"),
        json!({"output_schema": {"type": "object", "title": "T"}}),
    );
    let body = json!({"items": [run_of("x"), bad]});
    let error = mock
        .developer()
        .post(BULK, body)
        .await
        .refused(400, "output_schema_invalid");
    assert_eq!(error["details"]["index"], 1);
    assert_eq!(error["details"]["violations"][0]["path"], "/title");
    nothing_happened(&mock).await;
}
