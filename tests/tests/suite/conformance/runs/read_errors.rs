//! The table "Read errors", code by code, for runs, queues and Formats.

use serde_json::json;
use svc_tests::{Host, Mock, on_every_face};

use super::{BULK, Kind, run_of, start, started, text};

on_every_face! {
    reads_need_a_key,
    reads_need_the_scope_of_reads_and_cancels_that_of_writes,
    what_is_not_there_and_what_is_anothers_read_the_same,
    a_run_is_read_under_its_own_kind_alone,
    a_run_of_an_action_is_read_under_its_action_too,
    formats_that_are_not_ones_own_are_not_there,
    the_read_budget_has_its_own_429,
    a_redelivery_needs_an_end_and_a_webhook,
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

fn not_found(kind: Kind) -> String {
    format!("{}_run_not_found", kind.name())
}

async fn reads_need_a_key(mock: Mock) {
    let anonymous = mock.caller(Host::Developer);
    for kind in Kind::ALL {
        let id = started(&mock, kind, "x").await;
        for path in reads(kind, &id) {
            anonymous.get(&path).await.refused(401, "unauthorized");
        }
    }
}

async fn reads_need_the_scope_of_reads_and_cancels_that_of_writes(mock: Mock) {
    for (kind, family) in [
        (Kind::Action, "actions"),
        (Kind::Format, "formats"),
        (Kind::Agent, "agent_completions"),
    ] {
        let id = started(&mock, kind, "x").await;
        let cancel = format!("{}/cancel", kind.run(&id));
        let of =
            |scope: String| json!({"kind": "developer", "workspace": "ws_demo", "scopes": [scope]});
        let reader = mock.new_key(of(format!("{family}:read"))).await;
        let reader = mock.caller(Host::Developer).bearer(&reader);
        let writer = mock.new_key(of(format!("{family}:write"))).await;
        let writer = mock.caller(Host::Developer).bearer(&writer);
        reader.get(&kind.run(&id)).await.expect(200);
        reader.get(kind.list()).await.expect(200);
        let error = writer
            .get(&kind.run(&id))
            .await
            .refused(403, "insufficient_scope");
        assert_eq!(error["details"]["required_scope"], format!("{family}:read"));
        let error = reader
            .post_nothing(&cancel)
            .await
            .refused(403, "insufficient_scope");
        assert_eq!(
            error["details"]["required_scope"],
            format!("{family}:write")
        );
        writer.post_nothing(&cancel).await.expect(200);
    }
}

async fn what_is_not_there_and_what_is_anothers_read_the_same(mock: Mock) {
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    for kind in Kind::ALL {
        let id = started(&mock, kind, "x").await;
        for (unknown, foreign) in reads(kind, "run_none").into_iter().zip(reads(kind, &id)) {
            let code = not_found(kind);
            let mut unknown = stranger.get(&unknown).await.refused(404, &code);
            let mut foreign = stranger.get(&foreign).await.refused(404, &code);
            for error in [&mut unknown, &mut foreign] {
                error.as_object_mut().unwrap().remove("request_id");
                let said = error
                    .to_string()
                    .replace(&id, "ID")
                    .replace("run_none", "ID");
                *error = json!(said);
            }
            assert_eq!(unknown, foreign);
        }
    }
    let items = json!({"items": [run_of("x")]});
    let queue = mock.developer().post(BULK, items).await.expect(202).data();
    let path = format!("/v1/format-run-queues/{}", text(&queue["queue_id"]));
    for path in [path.as_str(), "/v1/format-run-queues/frq_none"] {
        stranger
            .get(path)
            .await
            .refused(404, "format_run_queue_not_found");
    }
    mock.developer().get(&path).await.expect(200);
}

async fn a_run_is_read_under_its_own_kind_alone(mock: Mock) {
    for kind in Kind::ALL {
        let id = started(&mock, kind, "x").await;
        for other in Kind::ALL.into_iter().filter(|other| *other != kind) {
            for path in reads(other, &id) {
                mock.developer()
                    .get(&path)
                    .await
                    .refused(404, &not_found(other));
            }
        }
    }
}

async fn a_run_of_an_action_is_read_under_its_action_too(mock: Mock) {
    let id = started(&mock, Kind::Action, "x").await;
    let developer = mock.developer();
    let read = developer
        .get(&Kind::Action.run(&id))
        .await
        .expect(200)
        .data();
    let alias = developer
        .get(&format!("/v1/actions/act_daily/runs/{id}"))
        .await
        .expect(200)
        .data();
    assert_eq!(alias["run_id"], read["run_id"]);
    assert_eq!(alias["status"], read["status"]);
    let elsewhere = format!("/v1/actions/act_no_trigger/runs/{id}");
    developer
        .get(&elsewhere)
        .await
        .refused(404, "action_run_not_found");
    developer
        .get("/v1/actions/act_none")
        .await
        .refused(404, "action_not_found");
    developer
        .get("/v1/actions/act_none/runs")
        .await
        .refused(404, "action_not_found");
}

async fn formats_that_are_not_ones_own_are_not_there(mock: Mock) {
    for path in [
        "fmt_none",
        "fmt_archived",
        "fmt_team",
        "demo/none",
        "nobody/teaser",
    ] {
        for end in ["", "/runs"] {
            let answer = mock
                .developer()
                .get(&format!("/v1/formats/{path}{end}"))
                .await;
            answer.refused(404, "format_not_found");
        }
    }
    let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
    stranger
        .get("/v1/formats/fmt_demo")
        .await
        .refused(404, "format_not_found");
    stranger
        .get("/v1/formats/demo/teaser")
        .await
        .refused(404, "format_not_found");
    stranger
        .get("/v1/formats/studio/storyboard")
        .await
        .expect(200);
    let team = mock.caller(Host::Developer).bearer("svc_team_demo");
    team.get("/v1/formats/fmt_team").await.expect(200);
}

async fn the_read_budget_has_its_own_429(mock: Mock) {
    let id = started(&mock, Kind::Format, "x").await;
    for path in reads(Kind::Format, &id) {
        mock.fault(json!({"surface": "developer", "kind": "status_429"}))
            .await;
        let answer = mock.developer().get(&path).await;
        answer.number("retry-after");
        let error = answer.refused(429, "rate_limited");
        assert_eq!(error["details"]["scope"], "read");
    }
}

async fn a_redelivery_needs_an_end_and_a_webhook(mock: Mock) {
    let developer = mock.developer();
    let redeliver = |id: &str| format!("{}/webhook/redeliver", Kind::Format.run(id));
    developer
        .post_nothing(&redeliver("run_none"))
        .await
        .refused(404, "format_run_not_found");
    let plain = started(&mock, Kind::Format, "x").await;
    let told = super::with(
        run_of("x"),
        json!({"webhook_url": "https://hooks.example.com/svc"}),
    );
    let told = start(&developer, super::RUNS, told).await;
    developer
        .post_nothing(&redeliver(&told))
        .await
        .refused(409, "run_not_terminal");
    mock.advance(10).await;
    developer
        .post_nothing(&redeliver(&plain))
        .await
        .refused(409, "webhook_not_configured");
    developer.post_nothing(&redeliver(&told)).await.expect(202);
}
