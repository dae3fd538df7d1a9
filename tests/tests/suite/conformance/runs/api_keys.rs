//! The keys that may start runs.

use super::*;

on_every_frontend! {
    service_accounts_cannot_run_formats_or_completions,
    service_accounts_can_use_other_operations,
    a_team_format_requires_a_team_key,
    team_runs_are_private_to_the_team,
    any_key_can_run_first_party_formats,
    open_keys_cannot_start_runs,
    scopes_are_checked_before_the_format,
}

async fn service_accounts_cannot_run_formats_or_completions(mock: Mock) {
    let account = mock.developer_as("svc_sa_demo");
    for (path, body) in [
        (RUNS, instruction("x")),
        (RUNS_BY_SLUG, instruction("x")),
        (STORYBOARD_RUNS, instruction("x")),
        (BULK, json!({"items": [instruction("x")]})),
        (
            "/v1/formats/demo/teaser/bulk-runs",
            json!({"items": [instruction("x")]}),
        ),
        (COMPLETIONS, Kind::Agent.body("x")),
        // The key is checked before the Format and the body.
        ("/v1/formats/fmt_none/runs", instruction("x")),
        (RUNS, json!({})),
    ] {
        let error = account
            .post_error(path, body, 403, "insufficient_scope")
            .await;
        let reason = &error["details"]["reason"];
        assert_eq!(reason, "service_account_format_runs_unsupported", "{path}");
    }
    assert_no_runs(&mock).await;
}

async fn service_accounts_can_use_other_operations(mock: Mock) {
    let account = mock.developer_as("svc_sa_demo");
    let id = start_demo(&mock, instruction("x")).await;
    for path in [
        "/v1/formats",
        "/v1/formats/fmt_demo",
        "/v1/actions",
        &Kind::Format.run(&id),
    ] {
        account.get(path).await.expect(200);
    }
    start(&account, Kind::Action.start(), json!({})).await;
    cancel_run(&account, Kind::Format, &id).await.expect(200);
}

async fn a_team_format_requires_a_team_key(mock: Mock) {
    let runs = "/v1/formats/fmt_team/runs";
    mock.developer()
        .post_error(runs, instruction("x"), 403, "workspace_key_required")
        .await;
    start(&mock.developer_as("svc_team_demo"), runs, instruction("x")).await;
    // The key of a team has access only to the Formats that the team was granted.
    mock.developer_as("svc_team_demo")
        .post_error(RUNS, instruction("x"), 404, "format_not_found")
        .await;
}

async fn team_runs_are_private_to_the_team(mock: Mock) {
    let team = mock.developer_as("svc_team_demo");
    let id = start(&team, "/v1/formats/fmt_team/runs", instruction("x")).await;
    let path = Kind::Format.run(&id);
    assert_eq!(team.get_data(&path).await["run_id"], *id.as_str());
    mock.developer()
        .get_error(&path, 404, "format_run_not_found")
        .await;
    let listed = team.get_items("/v1/formats/fmt_team/runs").await;
    assert_eq!(text(&listed[0]["run_id"]), id);
}

async fn any_key_can_run_first_party_formats(mock: Mock) {
    for key in ["svc_dev_demo", "svc_dev_other", "svc_team_demo"] {
        let client = mock.developer_as(key);
        let id = start(&client, STORYBOARD_RUNS, instruction("x")).await;
        client.get(&Kind::Format.run(&id)).await.expect(200);
        let runs = client.get_items(STORYBOARD_RUNS).await;
        assert_eq!(runs.len(), 1, "{key}");
    }
}

async fn open_keys_cannot_start_runs(mock: Mock) {
    let open = mock.developer_as("svc_open_demo");
    for kind in Kind::ALL {
        open.post_error(kind.start(), kind.body("x"), 401, "unauthorized")
            .await;
    }
    let both = mock.developer().api_key("svc_dev_demo");
    both.post_error(RUNS, instruction("x"), 401, "unauthorized")
        .await;
    assert_no_runs(&mock).await;
}

async fn scopes_are_checked_before_the_format(mock: Mock) {
    let no_scopes = mock.developer_as("svc_dev_noscope");
    for path in [
        RUNS,
        "/v1/formats/fmt_none/runs",
        "/v1/formats/fmt_team/runs",
    ] {
        let error = no_scopes
            .post_error(path, json!({}), 403, "insufficient_scope")
            .await;
        assert_eq!(error["details"]["required_scope"], "formats:write");
    }
}
