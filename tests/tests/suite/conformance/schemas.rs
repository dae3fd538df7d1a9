//! Validation of `output_schema`, by the table of schemas among the fixtures.

use super::*;
use crate::fixtures::{schema_cases, violations};

on_every_frontend! {
    schemas_of_the_table_are_validated: "plan=scale",
}

async fn schemas_of_the_table_are_validated(mock: Mock) {
    let run = |schema: &Value| json!({"instruction": "x", "output_schema": schema});
    let cases = schema_cases().into_iter().filter(|case| !case.schema.is_null());
    let (for_the_wire, extreme): (Vec<_>, Vec<_>) = cases.partition(|case| case.is_for_the_wire);
    for case in extreme {
        let response = mock.developer().post(RUNS, run(&case.schema)).await;
        let code = response.expect(400).code();
        let expected = ["output_schema_invalid", "invalid_request"];
        assert!(expected.contains(&code.as_str()), "{}: {code}", case.name);
    }
    let runs = mock.control().get_items("/runs").await;
    assert!(runs.is_empty(), "{runs:?}");
    let entries = mock.ledger().await;
    assert!(entries.iter().all(|entry| entry["run_id"].is_null()), "{entries:?}");
    for case in for_the_wire {
        let response = mock.developer().post(RUNS, run(&case.schema)).await;
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
