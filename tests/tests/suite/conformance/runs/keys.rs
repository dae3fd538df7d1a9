//! Which keys may start runs: service accounts, team keys, keys of the other host.

use serde_json::json;
use svc_tests::{Caller, Host, Mock, on_every_face};

use super::{BULK, COMPLETIONS, Kind, RUNS, STORYBOARD, nothing_happened, run_of, start, text};

on_every_face! {
    a_service_account_starts_no_runs_of_formats_and_no_completions,
    a_service_account_does_everything_else,
    a_teams_format_takes_a_key_of_the_team,
    what_a_team_runs_is_the_teams,
    any_key_may_run_what_is_first_party,
    a_key_of_the_open_surface_runs_nothing,
    a_key_without_scopes_is_refused_before_anything_else,
}

fn with_key(mock: &Mock, key: &str) -> Caller {
    mock.caller(Host::Developer).bearer(key)
}

async fn a_service_account_starts_no_runs_of_formats_and_no_completions(mock: Mock) {
    let account = with_key(&mock, "svc_sa_demo");
    for (path, body) in [
        (RUNS, run_of("x")),
        ("/v1/formats/demo/teaser/runs", run_of("x")),
        ("/v1/formats/studio/storyboard/runs", run_of("x")),
        (BULK, json!({"items": [run_of("x")]})),
        (
            "/v1/formats/demo/teaser/bulk-runs",
            json!({"items": [run_of("x")]}),
        ),
        (COMPLETIONS, Kind::Agent.body("x")),
        // Even where the resource would otherwise be 404, or the body is bad.
        ("/v1/formats/fmt_none/runs", run_of("x")),
        (RUNS, json!({})),
    ] {
        let error = account
            .post(path, body)
            .await
            .refused(403, "insufficient_scope");
        let reason = &error["details"]["reason"];
        assert_eq!(reason, "service_account_format_runs_unsupported", "{path}");
    }
    nothing_happened(&mock).await;
}

async fn a_service_account_does_everything_else(mock: Mock) {
    let account = with_key(&mock, "svc_sa_demo");
    let id = start(&mock.developer(), RUNS, run_of("x")).await;
    for path in [
        "/v1/formats",
        "/v1/formats/fmt_demo",
        "/v1/actions",
        &Kind::Format.run(&id),
    ] {
        account.get(path).await.expect(200);
    }
    start(&account, Kind::Action.start(), json!({})).await;
    let cancel = format!("{}/cancel", Kind::Format.run(&id));
    account.post_nothing(&cancel).await.expect(200);
}

async fn a_teams_format_takes_a_key_of_the_team(mock: Mock) {
    let runs = "/v1/formats/fmt_team/runs";
    mock.developer()
        .post(runs, run_of("x"))
        .await
        .refused(403, "workspace_key_required");
    start(&with_key(&mock, "svc_team_demo"), runs, run_of("x")).await;
    // A team's key is judged by its grant, and this one has none for another workspace's Format.
    let answer = with_key(&mock, "svc_team_demo")
        .post(RUNS, run_of("x"))
        .await;
    answer.refused(404, "format_not_found");
}

async fn what_a_team_runs_is_the_teams(mock: Mock) {
    let team = with_key(&mock, "svc_team_demo");
    let id = start(&team, "/v1/formats/fmt_team/runs", run_of("x")).await;
    let path = Kind::Format.run(&id);
    assert_eq!(
        team.get(&path).await.expect(200).data()["run_id"],
        *id.as_str()
    );
    mock.developer()
        .get(&path)
        .await
        .refused(404, "format_run_not_found");
    let listed = team
        .get("/v1/formats/fmt_team/runs")
        .await
        .expect(200)
        .items();
    assert_eq!(text(&listed[0]["run_id"]), id);
}

async fn any_key_may_run_what_is_first_party(mock: Mock) {
    for key in ["svc_dev_demo", "svc_dev_other", "svc_team_demo"] {
        let caller = with_key(&mock, key);
        let id = start(&caller, &format!("{STORYBOARD}/runs"), run_of("x")).await;
        caller.get(&Kind::Format.run(&id)).await.expect(200);
        let runs = caller
            .get(&format!("{STORYBOARD}/runs"))
            .await
            .expect(200)
            .items();
        assert_eq!(runs.len(), 1, "each sees its own runs: {key}");
    }
}

async fn a_key_of_the_open_surface_runs_nothing(mock: Mock) {
    let open = with_key(&mock, "svc_open_demo");
    for kind in Kind::ALL {
        open.post(kind.start(), kind.body("x"))
            .await
            .refused(401, "unauthorized");
    }
    let both = mock.developer().api_key("svc_dev_demo");
    both.post(RUNS, run_of("x"))
        .await
        .refused(401, "unauthorized");
    nothing_happened(&mock).await;
}

async fn a_key_without_scopes_is_refused_before_anything_else(mock: Mock) {
    let poor = with_key(&mock, "svc_dev_noscope");
    for path in [
        RUNS,
        "/v1/formats/fmt_none/runs",
        "/v1/formats/fmt_team/runs",
    ] {
        let error = poor
            .post(path, json!({}))
            .await
            .refused(403, "insufficient_scope");
        assert_eq!(error["details"]["required_scope"], "formats:write");
    }
}
