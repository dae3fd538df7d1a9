//! Cancellation of runs.

use super::*;

on_every_frontend! {
    a_run_in_flight_is_canceled,
    cancel_is_idempotent,
    canceling_an_ended_run_changes_nothing,
    an_unknown_run_is_not_found,
    runs_of_other_workspaces_cannot_be_canceled,
}

async fn cancel(mock: &Mock, kind: Kind, id: &str) -> Value {
    cancel_run(&mock.developer(), kind, id)
        .await
        .expect(200)
        .data()
}

async fn a_run_in_flight_is_canceled(mock: Mock) {
    for kind in Kind::ALL {
        for seconds in [0, 5, 9] {
            let id = start_run(&mock, kind, "x").await;
            mock.advance(seconds).await;
            let response = cancel(&mock, kind, &id).await;
            assert_eq!(response["run_id"], *id.as_str());
            assert_eq!(response["status"], "canceled");
            assert_eq!(status(&mock, kind, &id).await, "canceled");
            let result = run_result(&mock, kind, &id).await;
            assert_eq!(result.data()["status"], "canceled");
        }
    }
}

async fn cancel_is_idempotent(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "[mock:cost=1]").await;
        mock.advance(5).await;
        let first = cancel(&mock, kind, &id).await;
        let ledger = mock.ledger().await;
        let before = receipt(&mock, kind, &id).await;
        mock.advance(1_000).await;
        assert_eq!(receipt(&mock, kind, &id).await, before);
        let second = cancel(&mock, kind, &id).await;
        assert_eq!(text(&second["status"]), "canceled");
        assert_eq!(second["usage"], first["usage"]);
        let path = format!("{}/cancel", kind.run(&id));
        mock.developer().post(&path, json!({})).await.expect(200);
        assert_eq!(mock.ledger().await, ledger);
    }
}

async fn canceling_an_ended_run_changes_nothing(mock: Mock) {
    for kind in Kind::ALL {
        for (prompt, end) in [
            ("x", "completed"),
            ("[mock:fail]", "failed"),
            ("[mock:skip]", "skipped"),
        ] {
            let id = start_run(&mock, kind, prompt).await;
            mock.advance(10).await;
            let before = receipt(&mock, kind, &id).await;
            assert_eq!(before["status"], end);
            let response = cancel(&mock, kind, &id).await;
            assert_eq!(response["status"], end);
            assert_eq!(receipt(&mock, kind, &id).await, before);
        }
    }
}

async fn an_unknown_run_is_not_found(mock: Mock) {
    for (kind, code) in [
        (Kind::Action, "action_run_not_found"),
        (Kind::Format, "format_run_not_found"),
        (Kind::Agent, "agent_run_not_found"),
    ] {
        let path = format!("{}/cancel", kind.run("run_none"));
        mock.developer()
            .post_empty(&path)
            .await
            .expect_error(404, code);
        // A run is not found under another kind.
        let other = if kind == Kind::Agent {
            Kind::Format
        } else {
            Kind::Agent
        };
        let id = start_run(&mock, other, "x").await;
        cancel_run(&mock.developer(), kind, &id)
            .await
            .expect_error(404, code);
        assert_eq!(status(&mock, other, &id).await, "queued");
    }
}

async fn runs_of_other_workspaces_cannot_be_canceled(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        let other_workspace = mock.developer_as("svc_dev_other");
        cancel_run(&other_workspace, kind, &id).await.expect(404);
        assert_eq!(status(&mock, kind, &id).await, "queued");
    }
}
