//! Injected errors with any code that an operation can respond with.

use svc_sdk::contract::{ErrorCode, Method, Operation, Surface};

use super::*;

on_every_frontend! {
    every_code_of_an_operation_can_be_injected,
    the_envelope_has_the_attributes_of_the_code,
}

fn error_fault(operation: Operation, code: &str) -> Value {
    json!({"kind": "error", "operation": operation.name(), "code": code})
}

async fn request(client: &Client, operation: Operation) -> svc_tests::Response {
    let segments: Vec<_> = operation.placeholders().map(|_| "x").collect();
    let path = operation.expand(&segments).unwrap();
    match operation.method() {
        Method::Get => client.get(&path).await,
        _ => client.post(&path, json!({})).await,
    }
}

async fn every_code_of_an_operation_can_be_injected(mock: Mock) {
    for operation in Operation::ALL.iter().copied() {
        let client = match operation.surface() {
            Surface::Open | Surface::Both => mock.open(),
            Surface::Developer => mock.developer(),
            _ => continue,
        };
        for code in svc_openapi::error_codes(operation) {
            // A plan's budget does not suffice for all requests.
            mock.advance(1).await;
            mock.add_fault(error_fault(operation, code.as_str())).await;
            let response = request(&client, operation).await;
            let status = code.defaults().unwrap().status.unwrap();
            response.expect_error(status, code.as_str());
        }
    }
}

async fn the_envelope_has_the_attributes_of_the_code(mock: Mock) {
    let operation = Operation::FormatsRunsCreate;
    for code in svc_openapi::error_codes(operation) {
        mock.add_fault(error_fault(operation, code.as_str())).await;
        let error = request(&mock.developer(), operation).await.error();
        let defaults = code.defaults().unwrap();
        assert_eq!(error["category"], defaults.category.as_str(), "{code}");
        assert_eq!(error["next_action"], defaults.next_action.as_str());
        assert_eq!(error["retryable"], defaults.retryable, "{code}");
        assert_eq!(error["retry_after_seconds"].is_number(), defaults.retryable);
    }
    for (code, details) in [
        (ErrorCode::RateLimited, json!({"scope": "write"})),
        (ErrorCode::PayloadTooLarge, json!({"limit_bytes": 4_194_304})),
        (ErrorCode::InsufficientScope, json!({"required_scope": "formats:write"})),
    ] {
        mock.add_fault(error_fault(operation, code.as_str())).await;
        let error = request(&mock.developer(), operation).await.error();
        assert_eq!(error["details"], details, "{code}");
    }
}
