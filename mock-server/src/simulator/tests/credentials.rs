//! Who may call what.

use serde_json::json;

use super::{IMAGE, Mock, TOP_UPS, VIDEO, image, video};
use crate::engine::{ControlError, Host, KeyKind, NewKey, Settings};
use svc_sdk::contract::{Plan, Scope};

#[test]
fn both_forms_are_accepted_and_never_both_at_once() {
    let mut mock = Mock::new();
    mock.ask(Host::Open)
        .key("svc_open_demo")
        .get("/v1/jobs")
        .data(200);
    mock.open().get("/v1/jobs").data(200);
    let error = mock
        .open()
        .key("svc_open_demo")
        .get("/v1/jobs")
        .refused(401, "unauthorized");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("only one credential"),
        "{error}"
    );
    let public = mock
        .developer()
        .header("authorization", "Basic x")
        .get("/v1/health");
    public.refused(401, "unauthorized");
}

#[test]
fn a_key_of_the_other_host_is_no_key() {
    let mut mock = Mock::new();
    for key in ["svc_dev_demo", "svc_sa_demo", "svc_revoked", "svc_nobody"] {
        mock.ask(Host::Open)
            .key(key)
            .get("/v1/jobs")
            .refused(401, "unauthorized");
    }
    mock.ask(Host::Developer)
        .key("svc_open_demo")
        .get("/v1/jobs")
        .refused(401, "unauthorized");
    mock.ask(Host::Open)
        .get("/v1/jobs")
        .refused(401, "unauthorized");
    mock.ask(Host::Open)
        .header("authorization", "Bearer")
        .get("/v1/jobs")
        .refused(401, "unauthorized");
    mock.ask(Host::Open)
        .get("/v1/nothing")
        .refused(401, "unauthorized");
}

#[test]
fn top_ups_tell_a_developer_key_what_they_need() {
    let mut mock = Mock::new();
    let body = json!({"amount_usd_cents": 500});
    mock.ask(Host::Open)
        .key("svc_dev_demo")
        .post(TOP_UPS, body.clone())
        .refused(403, "open_key_required");
    mock.ask(Host::Open)
        .key("svc_dev_demo")
        .get("/v1/open/top-ups/top_x")
        .refused(403, "open_key_required");
    mock.ask(Host::Open)
        .key("svc_revoked")
        .post(TOP_UPS, body)
        .refused(401, "unauthorized");
}

#[test]
fn a_public_route_ignores_a_bad_key() {
    let mut mock = Mock::new();
    for key in ["svc_open_demo", "svc_revoked", "nonsense"] {
        let answer = mock.ask(Host::Developer).key(key).get("/v1/health");
        assert_eq!(
            (answer.status(), answer.header("ratelimit-limit")),
            (200, "480")
        );
    }
    let known = mock.developer().get("/v1/health");
    assert_eq!(known.header("ratelimit-limit"), "4800");
}

#[test]
fn jobs_of_a_workspace_are_shown_on_both_surfaces_and_to_nobody_else() {
    let mut mock = Mock::new();
    let id = mock.submit(VIDEO, video("x"));
    let path = format!("/v1/jobs/{id}");
    let open = mock.open().get(&path).data(200);
    assert_eq!(open["price_usd"], "0.1250");
    let developer = mock.developer().get(&path).data(200);
    assert_eq!(
        (&developer["id"], developer.get("price_usd")),
        (&json!(id), None)
    );
    for key in ["svc_team_demo", "svc_dev_other"] {
        mock.ask(Host::Developer)
            .key(key)
            .get(&path)
            .refused(404, "job_not_found");
        assert_eq!(
            mock.ask(Host::Developer).key(key).get("/v1/jobs").data(200),
            json!([])
        );
    }
}

fn new(kind: KeyKind) -> NewKey {
    NewKey {
        kind,
        workspace: None,
        plan: None,
        scopes: None,
    }
}

#[test]
fn an_added_key_brings_its_workspace_with_a_plan_and_a_full_balance() {
    let mut mock = Mock::new();
    let wanted = NewKey {
        workspace: Some("ws_new".to_owned()),
        plan: Some(Plan::Pro),
        ..new(KeyKind::Open)
    };
    let added = mock.simulator.add_key(mock.now, wanted).unwrap();
    assert_eq!(
        (added.workspace.as_str(), added.scopes.len()),
        ("ws_new", 0)
    );
    let answer = mock.ask(Host::Open).key(&added.key).post(IMAGE, image("x"));
    assert_eq!(
        (answer.status(), answer.header("ratelimit-limit")),
        (202, "300")
    );
    let balances = mock.simulator.balances();
    let ours = balances
        .iter()
        .find(|balance| balance["workspace"] == "ws_new")
        .unwrap();
    assert_eq!(ours["opening_usd"], "100.0000");
    assert_eq!(mock.open().get("/v1/jobs").data(200), json!([]));
}

#[test]
fn an_added_developer_key_has_the_scopes_that_it_was_given() {
    let mut mock = Mock::new();
    let all = mock
        .simulator
        .add_key(mock.now, new(KeyKind::Developer))
        .unwrap();
    assert_eq!((all.workspace.as_str(), all.scopes.len()), ("ws_demo", 9));
    let few = NewKey {
        scopes: Some(vec![Scope::FormatsRead]),
        ..new(KeyKind::ServiceAccount)
    };
    let few = mock.simulator.add_key(mock.now, few).unwrap();
    let get =
        |mock: &mut Mock, path: &str| mock.ask(Host::Developer).key(&few.key).get(path).status();
    assert_eq!(
        (get(&mut mock, "/v1/formats"), get(&mut mock, "/v1/actions")),
        (200, 403)
    );
}

#[test]
fn a_key_that_cannot_be_is_refused() {
    let mut mock = Mock::new();
    let bad = [
        NewKey {
            scopes: Some(vec![Scope::Other("all:of:it".into())]),
            ..new(KeyKind::Developer)
        },
        NewKey {
            scopes: Some(vec![Scope::FormatsRead]),
            ..new(KeyKind::Open)
        },
        NewKey {
            plan: Some(Plan::Other("gold".into())),
            ..new(KeyKind::Open)
        },
        NewKey {
            workspace: Some(String::new()),
            ..new(KeyKind::Open)
        },
    ];
    for key in bad {
        assert!(matches!(
            mock.simulator.add_key(mock.now, key),
            Err(ControlError::Invalid(_))
        ));
    }
    let other_plan = NewKey {
        plan: Some(Plan::Scale),
        ..new(KeyKind::Open)
    };
    assert!(matches!(
        mock.simulator.add_key(mock.now, other_plan),
        Err(ControlError::Conflict(_))
    ));
}

#[test]
fn the_signing_secret_is_the_workspaces_and_survives_a_reset() {
    let mut mock = Mock::new();
    let secret = mock.simulator.signing_secret("ws_demo").unwrap().to_owned();
    assert_ne!(
        mock.simulator.signing_secret("ws_team"),
        Some(secret.as_str())
    );
    mock.simulator.reset();
    assert_eq!(
        mock.simulator.signing_secret("ws_demo"),
        Some(secret.as_str())
    );
    assert_eq!(mock.simulator.signing_secret("ws_none"), None);
    let again = Mock::with(Settings::default());
    assert_eq!(
        again.simulator.signing_secret("ws_demo"),
        Some(secret.as_str())
    );
}
