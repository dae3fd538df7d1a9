//! Validation of `output_schema` and generation of matching outputs.

use super::*;
use crate::fixtures::{schema_cases, violations};

on_every_frontend! {
    schemas_of_the_table_are_validated: plan("scale"),
    extreme_schemas_are_rejected,
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
        assert!(list.as_array().unwrap().iter().all(has_message), "{name}: {list}");
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
