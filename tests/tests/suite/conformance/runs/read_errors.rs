//! The errors of the specification's table "Read errors" for runs, queues and Formats.

use super::*;

on_every_frontend! {
    reads_require_the_read_scope_and_cancels_the_write_scope,
    runs_of_other_workspaces_look_unknown,
    a_run_is_readable_only_as_its_own_kind,
    an_action_run_is_readable_under_its_action,
    formats_of_other_workspaces_are_not_found,
    redelivery_requires_an_ended_run_with_a_webhook,
}

const READS: [&str; 4] = ["", "/status", "/result", "/events"];

fn reads(kind: Kind, id: &str) -> Vec<String> {
    let count = if kind == Kind::Format { 4 } else { 3 };
    let run = kind.run(id);
    READS[..count]
        .iter()
        .map(|end| format!("{run}{end}"))
        .collect()
}

fn not_found_code(kind: Kind) -> String {
    format!("{}_run_not_found", kind.name())
}

async fn reads_require_the_read_scope_and_cancels_the_write_scope(mock: Mock) {
    for (kind, family) in [
        (Kind::Action, "actions"),
        (Kind::Format, "formats"),
        (Kind::Agent, "agent_completions"),
    ] {
        let id = start_run(&mock, kind, "x").await;
        let cancel = format!("{}/cancel", kind.run(&id));
        let of =
            |scope: String| json!({"kind": "developer", "workspace": "ws_demo", "scopes": [scope]});
        let reader = mock.create_key(of(format!("{family}:read"))).await;
        let reader = mock.developer_as(&reader);
        let writer = mock.create_key(of(format!("{family}:write"))).await;
        let writer = mock.developer_as(&writer);
        reader.get(&kind.run(&id)).await.expect(200);
        reader.get(kind.list()).await.expect(200);
        let error = writer
            .get_error(&kind.run(&id), 403, "insufficient_scope")
            .await;
        assert_eq!(error["details"]["required_scope"], format!("{family}:read"));
        let error = reader
            .post_empty(&cancel)
            .await
            .expect_error(403, "insufficient_scope");
        assert_eq!(
            error["details"]["required_scope"],
            format!("{family}:write")
        );
        writer.post_empty(&cancel).await.expect(200);
    }
}

async fn runs_of_other_workspaces_look_unknown(mock: Mock) {
    let other_workspace = mock.developer_as("svc_dev_other");
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        for (unknown, other_run) in reads(kind, "run_none").into_iter().zip(reads(kind, &id)) {
            let code = not_found_code(kind);
            let mut unknown = other_workspace.get_error(&unknown, 404, &code).await;
            let mut other_run = other_workspace.get_error(&other_run, 404, &code).await;
            for error in [&mut unknown, &mut other_run] {
                error.as_object_mut().unwrap().remove("request_id");
                let normalized = error
                    .to_string()
                    .replace(&id, "ID")
                    .replace("run_none", "ID");
                *error = json!(normalized);
            }
            assert_eq!(unknown, other_run);
        }
    }
    let items = json!({"items": [instruction("x")]});
    let queue = mock.developer().post_data(BULK, items, 202).await;
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    for path in [path.as_str(), "/v1/format-run-queues/frq_none"] {
        other_workspace
            .get_error(path, 404, "format_run_queue_not_found")
            .await;
    }
    mock.developer().get(&path).await.expect(200);
}

async fn a_run_is_readable_only_as_its_own_kind(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
            for path in reads(other, &id) {
                mock.developer()
                    .get_error(&path, 404, &not_found_code(other))
                    .await;
            }
        }
    }
}

async fn an_action_run_is_readable_under_its_action(mock: Mock) {
    let id = start_run(&mock, Kind::Action, "x").await;
    let developer = mock.developer();
    let read = developer.get_data(&Kind::Action.run(&id)).await;
    let alias = developer
        .get_data(&format!("/v1/actions/act_daily/runs/{id}"))
        .await;
    assert_eq!(alias["run_id"], read["run_id"]);
    assert_eq!(alias["status"], read["status"]);
    let other_action = format!("/v1/actions/act_no_trigger/runs/{id}");
    developer
        .get_error(&other_action, 404, "action_run_not_found")
        .await;
    developer
        .get_error("/v1/actions/act_none", 404, "action_not_found")
        .await;
    developer
        .get_error("/v1/actions/act_none/runs", 404, "action_not_found")
        .await;
}

async fn formats_of_other_workspaces_are_not_found(mock: Mock) {
    for path in [
        "fmt_none",
        "fmt_archived",
        "fmt_team",
        "fmt_builtin",
        "team/brand-film",
        "demo/none",
        "unknown/teaser",
    ] {
        for end in ["", "/runs"] {
            mock.developer()
                .get_error(&format!("/v1/formats/{path}{end}"), 404, "format_not_found")
                .await;
        }
    }
    let other_workspace = mock.developer_as("svc_dev_other");
    other_workspace
        .get_error("/v1/formats/fmt_demo", 404, "format_not_found")
        .await;
    other_workspace
        .get_error("/v1/formats/demo/teaser", 404, "format_not_found")
        .await;
    other_workspace
        .get("/v1/formats/studio/storyboard")
        .await
        .expect(200);
    let team = mock.developer_as("svc_team_demo");
    team.get("/v1/formats/fmt_team").await.expect(200);
}

async fn redelivery_requires_an_ended_run_with_a_webhook(mock: Mock) {
    let developer = mock.developer();
    let redeliver = |id: &str| format!("{}/webhook/redeliver", Kind::Format.run(id));
    developer
        .post_empty(&redeliver("run_none"))
        .await
        .expect_error(404, "format_run_not_found");
    let without_webhook = start_run(&mock, Kind::Format, "x").await;
    let with_webhook = with(
        instruction("x"),
        json!({"webhook_url": "https://hooks.example.com/svc"}),
    );
    let with_webhook = start(&developer, RUNS, with_webhook).await;
    developer
        .post_empty(&redeliver(&with_webhook))
        .await
        .expect_error(409, "run_not_terminal");
    mock.advance(9).await;
    developer
        .post_empty(&redeliver(&with_webhook))
        .await
        .expect_error(409, "run_not_terminal");
    mock.advance(1).await;
    developer
        .post_empty(&redeliver(&without_webhook))
        .await
        .expect_error(409, "webhook_not_configured");
    developer
        .post_empty(&redeliver(&with_webhook))
        .await
        .expect(202);
}
