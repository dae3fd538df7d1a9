//! Validation of `output_schema`, by the table of schemas among the fixtures.

use super::*;
use crate::fixtures::{schema_cases, violations};

on_every_frontend! {
    schemas_of_the_table_are_validated: plan("scale"),
}

async fn schemas_of_the_table_are_validated(mock: Mock) {
    let run = |schema: &Value| json!({"instruction": "x", "output_schema": schema});
    for case in schema_cases().iter().filter(|case| !case.schema.is_null()) {
        let response = mock.developer().post(RUNS, run(&case.schema)).await;
        if !case.is_for_the_wire {
            let code = response.expect(400).code();
            let expected = ["output_schema_invalid", "invalid_request"];
            assert!(expected.contains(&code.as_str()), "{}: {code}", case.name);
        } else if case.is_valid {
            response.expect(202);
        } else {
            let name = &case.name;
            let error = response.expect_error(400, "output_schema_invalid");
            let list = &error["details"]["violations"];
            let has_message = |item: &Value| item["message"].is_string();
            assert!(list.as_array().unwrap().iter().all(has_message), "{name}: {list}");
            case.assert_found(&violations(list));
        }
    }
}
