//! The errors of the specification's table "Read errors" for runs, queues and Formats.

use super::*;

scripts! {
    reads_require_the_read_scope_and_cancels_the_write_scope r#"
        for <kind> <family> in action actions, format formats, agent agent_completions
          developer run:<kind> => 202 run_id=<id>
          control /keys {"kind": "developer", "workspace": "ws_demo", "scopes": ["<family>:read"]} => 201 key=<reader>
          control /keys {"kind": "developer", "workspace": "ws_demo", "scopes": ["<family>:write"]} => 201 key=<writer>
          developer:<reader> /v1/<kind>-runs/<id> => 200
          developer:<reader> runs:<kind> => 200
          developer:<writer> /v1/<kind>-runs/<id> => 403 insufficient_scope details.required_scope=<family>:read
          developer:<reader> POST /v1/<kind>-runs/<id>/cancel => 403 insufficient_scope details.required_scope=<family>:write
          developer:<writer> POST /v1/<kind>-runs/<id>/cancel => 200
    "#
    a_run_is_readable_only_as_its_own_kind r#"
        for <kind> <other> <another> in action format agent, format agent action, agent action format
          developer run:<kind> => 202 run_id=<id>
          for <end> in "" /status /result
            developer /v1/<other>-runs/<id><end> => 404 <other>_run_not_found
            developer /v1/<another>-runs/<id><end> => 404 <another>_run_not_found
    "#
    an_action_run_is_readable_under_its_action r#"
        developer run:action => 202 run_id=<id>
        developer /v1/actions/act_daily/runs/<id> => 200 run_id=<id> status=queued
        developer /v1/actions/act_no_trigger/runs/<id> => 404 action_run_not_found
    "#
    formats_of_other_workspaces_are_not_found r#"
        for <format> in fmt_none fmt_archived fmt_team fmt_builtin team/brand-film demo/none unknown/teaser
          developer /v1/formats/<format> => 404 format_not_found
          developer /v1/formats/<format>/runs => 404 format_not_found
        for <format> in fmt_demo demo/teaser
          developer:svc_dev_other /v1/formats/<format> => 404 format_not_found
        developer:svc_dev_other /v1/formats/studio/storyboard => 200
        developer:svc_team_demo /v1/formats/fmt_team => 200
    "#
    redelivery_requires_an_ended_run_with_a_webhook r#"
        developer POST /v1/format-runs/run_none/webhook/redeliver => 404 format_run_not_found
        developer run => 202 run_id=<without>
        developer run {"webhook_url": "https://hooks.example.com/svc"} => 202 run_id=<with>
        for <step> in 0 9
          advance <step>
          developer POST /v1/format-runs/<with>/webhook/redeliver => 409 run_not_terminal
        advance 1
        developer POST /v1/format-runs/<without>/webhook/redeliver => 409 webhook_not_configured
        developer POST /v1/format-runs/<with>/webhook/redeliver => 202
    "#
}

on_every_frontend! { runs_of_other_workspaces_look_unknown }

async fn runs_of_other_workspaces_look_unknown(mock: Mock) {
    let other = mock.developer_as("svc_dev_other");
    let mut paths = Vec::new();
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        let code = format!("{}_run_not_found", kind.name());
        let ends = ["", "/status", "/result", "/events"];
        let count = if kind == Kind::Format { 4 } else { 3 };
        for end in &ends[..count] {
            paths.push((kind.run("{}") + end, id.clone(), "run_none", code.clone()));
        }
    }
    let items = json!({"items": [instruction("x")]});
    let queue = mock.developer().post_data(BULK, items, 202).await;
    let (path, code) = ("/v1/format-run-queues/{}", "format_run_queue_not_found");
    paths.push((path.to_owned(), text(&queue["queue_id"]), "frq_none", code.to_owned()));
    for (path, id, unknown, code) in paths {
        mock.developer().get(&path.replace("{}", &id)).await.expect_no_server_error();
        let mut errors = Vec::new();
        for id in [&id, unknown] {
            let mut error = other.get_error(&path.replace("{}", id), 404, &code).await;
            error["request_id"].take();
            errors.push(error.to_string().replace(id, "ID"));
        }
        assert_eq!(errors[0], errors[1]);
    }
}
