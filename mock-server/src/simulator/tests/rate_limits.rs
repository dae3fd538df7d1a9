//! Budgets and their headers.

use serde_json::json;
use svc_sdk::contract::Plan;

use super::{ESTIMATE, Mock};
use crate::engine::{Host, Settings};

#[test]
fn every_answer_to_a_key_tells_how_its_budget_stands() {
    let mut mock = Mock::new();
    let read = mock.open().get("/v1/jobs");
    assert_eq!(
        ["limit", "remaining", "reset"]
            .map(|name| read.header(&format!("ratelimit-{name}")).to_owned()),
        ["4800", "4799", "60"]
    );
    mock.pass(500);
    let refused = mock.open().post(ESTIMATE, json!({}));
    assert_eq!(refused.status(), 400);
    assert_eq!(
        (
            refused.header("ratelimit-limit"),
            refused.header("ratelimit-remaining")
        ),
        ("120", "119")
    );
    let missing = mock.open().get("/v1/nothing");
    assert_eq!(
        (
            missing.header("ratelimit-remaining"),
            missing.header("ratelimit-reset")
        ),
        ("4798", "60")
    );
}

#[test]
fn a_spent_budget_is_429_until_its_window_ends() {
    let mut mock = Mock::new();
    for _ in 0..120 {
        assert_eq!(mock.open().post(ESTIMATE, json!({})).status(), 400);
    }
    mock.pass(14_001);
    let over = mock.open().post(ESTIMATE, json!({}));
    let error = over.refused(429, "rate_limited");
    assert_eq!(error["details"], json!({"scope": "write"}));
    assert_eq!(
        (
            over.header("retry-after"),
            over.header("ratelimit-remaining")
        ),
        ("46", "0")
    );
    mock.open().get("/v1/jobs").data(200);
    mock.pass(45_999);
    assert_eq!(mock.open().post(ESTIMATE, json!({})).status(), 400);
}

#[test]
fn the_plan_and_the_read_multiple_decide() {
    let settings = Settings {
        plan: Plan::Scale,
        read_multiple: 10,
        ..Settings::default()
    };
    let mut mock = Mock::with(settings);
    assert_eq!(
        mock.open().get("/v1/jobs").header("ratelimit-limit"),
        "12000"
    );
    assert_eq!(
        mock.open()
            .post(ESTIMATE, json!({}))
            .header("ratelimit-limit"),
        "1200"
    );
}

#[test]
fn without_a_valid_key_the_address_pays() {
    let mut mock = Mock::new();
    for _ in 0..480 {
        mock.ask(Host::Open)
            .key("svc_nobody")
            .get("/v1/jobs")
            .refused(401, "unauthorized");
    }
    let over = mock.ask(Host::Open).get("/v1/jobs");
    assert_eq!(
        over.refused(429, "rate_limited")["details"],
        json!({"scope": "read"})
    );
    mock.ask(Host::Developer)
        .get("/v1/health")
        .refused(429, "rate_limited");
    mock.open().get("/v1/jobs").data(200);
}

#[test]
fn mcp_and_the_admission_preview_are_reads() {
    let mut mock = Mock::new();
    for path in ["/mcp", "/v1/generation/admission-preview"] {
        assert_eq!(
            mock.developer()
                .post(path, json!({}))
                .header("ratelimit-limit"),
            "4800",
            "{path}"
        );
    }
    assert_eq!(
        mock.developer()
            .post("/v1/bgm/pick", json!({}))
            .header("ratelimit-limit"),
        "120"
    );
}
