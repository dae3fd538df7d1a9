//! Formats and Actions: who sees which, and how they are addressed.

use serde_json::{Value, json};

use super::Mock;
use crate::engine::Host;

#[track_caller]
fn ids(list: &Value) -> Vec<&str> {
    let items = list.as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

#[test]
fn formats_are_the_keys_own_and_the_first_party_catalog() {
    let mut mock = Mock::new();
    let all = mock.read("/v1/formats");
    let expected = [
        "fmt_demo",
        "fmt_media",
        "fmt_capped",
        "fmt_inactive",
        "fmt_no_trigger",
        "fmt_storyboard",
    ];
    assert_eq!(ids(&all), expected);
    let team = mock
        .ask(Host::Developer)
        .key("svc_team_demo")
        .get("/v1/formats")
        .data(200);
    assert_eq!(ids(&team), ["fmt_team", "fmt_storyboard"]);
    let media = mock.read("/v1/formats/fmt_media");
    assert_eq!(media, mock.read("/v1/formats/demo/product-shot"));
    assert_eq!(media, all[1]);
    assert_eq!(media["io"], json!({"output_kind": "image"}));
    assert_eq!(media["generation_spend_cap_usd_micros"], 400_000_000);
    assert_eq!(
        mock.read("/v1/formats/fmt_capped")["generation_spend_cap_usd_micros"],
        2_000_000
    );
    assert_eq!(mock.read("/v1/formats/fmt_inactive")["status"], "inactive");
    assert_eq!(
        mock.read("/v1/formats/studio/storyboard")["first_party"],
        true
    );
}

#[test]
fn what_a_key_does_not_see_is_not_there() {
    let mut mock = Mock::new();
    for path in [
        "fmt_none",
        "fmt_archived",
        "fmt_team",
        "fmt_builtin",
        "demo/none",
        "team/brand-film",
    ] {
        let answer = mock.developer().get(&format!("/v1/formats/{path}"));
        answer.refused(404, "format_not_found");
        let runs = mock.developer().get(&format!("/v1/formats/{path}/runs"));
        runs.refused(404, "format_not_found");
    }
    let other = mock
        .ask(Host::Developer)
        .key("svc_dev_other")
        .get("/v1/formats/fmt_demo");
    other.refused(404, "format_not_found");
    let noscope = mock
        .ask(Host::Developer)
        .key("svc_dev_noscope")
        .get("/v1/formats/fmt_none");
    noscope.refused(403, "insufficient_scope");
}

#[test]
fn lists_go_page_by_page() {
    let mut mock = Mock::new();
    let first = mock.developer().get("/v1/formats?limit=4").json();
    assert_eq!(
        (ids(&first["data"]).len(), &first["next_cursor"]),
        (4, &json!("fmt_inactive"))
    );
    let second = mock
        .developer()
        .get("/v1/formats?limit=4&cursor=fmt_inactive")
        .json();
    assert_eq!(ids(&second["data"]), ["fmt_no_trigger", "fmt_storyboard"]);
    assert_eq!(second["next_cursor"], Value::Null);
    mock.developer()
        .get("/v1/formats?cursor=fmt_team")
        .refused(400, "invalid_request");
    mock.developer()
        .get("/v1/formats?limit=0")
        .refused(400, "invalid_request");
    let actions = mock.developer().get("/v1/actions?limit=1").json();
    assert_eq!(
        (ids(&actions["data"]), &actions["next_cursor"]),
        (vec!["act_daily"], &json!("act_daily"))
    );
}

#[test]
fn actions_are_found_by_status_and_trigger() {
    let mut mock = Mock::new();
    for (query, found) in [
        ("", vec!["act_daily", "act_no_trigger"]),
        ("?trigger_type=api_call", vec!["act_daily"]),
        (
            "?trigger_type=schedule&status=active",
            vec!["act_daily", "act_no_trigger"],
        ),
        ("?status=inactive", vec![]),
    ] {
        assert_eq!(
            ids(&mock.read(&format!("/v1/actions{query}"))),
            found,
            "{query}"
        );
    }
    mock.developer()
        .get("/v1/actions?status=odd")
        .refused(400, "invalid_request");
    mock.developer()
        .get("/v1/actions?trigger_type=odd")
        .refused(400, "invalid_request");
    let daily = mock.read("/v1/actions/act_daily");
    assert_eq!(
        daily["triggers"],
        json!([{"type": "schedule", "schedule": "0 9 * * *"}, {"type": "api_call"}])
    );
    mock.developer()
        .get("/v1/actions/act_none")
        .refused(404, "action_not_found");
    mock.ask(Host::Developer)
        .key("svc_dev_other")
        .get("/v1/actions/act_daily")
        .refused(404, "action_not_found");
}
