//! Injected errors with any code that an operation can respond with.

use svc_sdk::contract::{ErrorCode, Method, Operation, Surface};

use super::*;

on_every_frontend! {
    every_code_of_an_operation_can_be_injected,
    the_envelope_has_the_attributes_of_the_code,
    the_wait_of_a_fault_is_sent_as_it_is,
    an_injected_error_prevents_the_request,
    a_rule_without_an_operation_applies_where_the_code_is_possible,
    other_codes_are_rejected_with_the_accepted_ones,
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
        (
            ErrorCode::PayloadTooLarge,
            json!({"limit_bytes": 4_194_304}),
        ),
        (
            ErrorCode::InsufficientScope,
            json!({"required_scope": "formats:write"}),
        ),
    ] {
        mock.add_fault(error_fault(operation, code.as_str())).await;
        let error = request(&mock.developer(), operation).await.error();
        assert_eq!(error["details"], details, "{code}");
    }
}

async fn the_wait_of_a_fault_is_sent_as_it_is(mock: Mock) {
    for code in ["database_busy", "rate_limited"] {
        let mut fault = error_fault(Operation::Balance, code);
        fault["retry_after_seconds"] = json!(7);
        mock.add_fault(fault).await;
        let response = mock.developer().get("/v1/balance").await;
        assert_eq!(response.int_header("retry-after"), 7);
        assert_eq!(response.error()["retry_after_seconds"], 7);
        if code == "rate_limited" {
            assert_eq!(response.int_header("ratelimit-remaining"), 0);
            assert_eq!(response.int_header("ratelimit-reset"), 7);
        }
    }
}

async fn an_injected_error_prevents_the_request(mock: Mock) {
    let keyed = mock.open().idempotency_key("order-1");
    mock.add_fault(error_fault(
        Operation::VideoGenerate,
        "concurrency_limit_reached",
    ))
    .await;
    keyed
        .post_error(VIDEO, video(), 400, "concurrency_limit_reached")
        .await;
    assert!(mock.jobs().await.is_empty());
    keyed.post(VIDEO, video()).await.expect(202);
}

async fn a_rule_without_an_operation_applies_where_the_code_is_possible(mock: Mock) {
    mock.add_fault(json!({"kind": "error", "code": "insufficient_funds"}))
        .await;
    mock.open().get("/v1/jobs").await.expect(200);
    mock.open()
        .post_error(IMAGE, json!({}), 402, "insufficient_funds")
        .await;
}

async fn other_codes_are_rejected_with_the_accepted_ones(mock: Mock) {
    let operation = Operation::JobsCancel;
    for code in [
        json!("insufficient_funds"),
        json!("no_such_code"),
        Value::Null,
    ] {
        let fault = json!({"kind": "error", "operation": operation.name(), "code": code});
        let response = mock.control().post("/faults", fault).await.expect(400);
        let message = response.error()["message"].as_str().unwrap().to_owned();
        for accepted in svc_openapi::error_codes(operation) {
            assert!(message.contains(accepted.as_str()), "{message}");
        }
    }
    mock.open().get("/v1/jobs").await.expect(200);
}
