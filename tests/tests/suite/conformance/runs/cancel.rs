//! Cancel of a run: idempotent, and never an error for one that is there.

use serde_json::{Value, json};
use svc_tests::{Host, Mock, on_every_face};

use super::{Kind, receipt, started, status, text};

on_every_face! {
    a_run_in_flight_is_canceled,
    a_cancel_may_be_repeated,
    a_run_that_ended_is_left_as_it_is,
    a_canceled_run_stays_canceled,
    an_unknown_run_is_not_there,
    what_is_another_owners_cannot_be_canceled,
}

async fn cancel(mock: &Mock, kind: Kind, id: &str) -> Value {
    let path = format!("{}/cancel", kind.run(id));
    mock.developer()
        .post_nothing(&path)
        .await
        .expect(200)
        .data()
}

async fn a_run_in_flight_is_canceled(mock: Mock) {
    for kind in Kind::ALL {
        for seconds in [0, 5, 9] {
            let id = started(&mock, kind, "x").await;
            mock.advance(seconds).await;
            let answer = cancel(&mock, kind, &id).await;
            assert_eq!(answer["run_id"], *id.as_str());
            assert_eq!(answer["status"], "canceled");
            assert_eq!(status(&mock, kind, &id).await, "canceled");
            let result = mock
                .developer()
                .get(&format!("{}/result", kind.run(&id)))
                .await;
            assert_eq!(result.data()["status"], "canceled");
        }
    }
}

async fn a_cancel_may_be_repeated(mock: Mock) {
    for kind in Kind::ALL {
        let id = started(&mock, kind, "[mock:cost=1]").await;
        mock.advance(5).await;
        let first = cancel(&mock, kind, &id).await;
        let ledger = mock.ledger().await;
        mock.advance(60).await;
        let again = cancel(&mock, kind, &id).await;
        assert_eq!(text(&again["status"]), "canceled");
        assert_eq!(again["usage"], first["usage"]);
        let path = format!("{}/cancel", kind.run(&id));
        mock.developer().post(&path, json!({})).await.expect(200);
        assert_eq!(mock.ledger().await, ledger);
    }
}

async fn a_run_that_ended_is_left_as_it_is(mock: Mock) {
    for kind in Kind::ALL {
        for (words, end) in [
            ("x", "completed"),
            ("[mock:fail]", "failed"),
            ("[mock:skip]", "skipped"),
        ] {
            let id = started(&mock, kind, words).await;
            mock.advance(10).await;
            let before = receipt(&mock, kind, &id).await;
            assert_eq!(before["status"], end);
            let answer = cancel(&mock, kind, &id).await;
            assert_eq!(answer["status"], end);
            assert_eq!(receipt(&mock, kind, &id).await, before);
        }
    }
}

async fn a_canceled_run_stays_canceled(mock: Mock) {
    let id = started(&mock, Kind::Format, "x").await;
    mock.advance(5).await;
    cancel(&mock, Kind::Format, &id).await;
    let before = receipt(&mock, Kind::Format, &id).await;
    mock.advance(1_000).await;
    assert_eq!(receipt(&mock, Kind::Format, &id).await, before);
}

async fn an_unknown_run_is_not_there(mock: Mock) {
    for (kind, code) in [
        (Kind::Action, "action_run_not_found"),
        (Kind::Format, "format_run_not_found"),
        (Kind::Agent, "agent_run_not_found"),
    ] {
        let path = format!("{}/cancel", kind.run("run_none"));
        mock.developer()
            .post_nothing(&path)
            .await
            .refused(404, code);
        // A run of another kind is none of this one.
        let other = if kind == Kind::Agent {
            Kind::Format
        } else {
            Kind::Agent
        };
        let id = started(&mock, other, "x").await;
        let path = format!("{}/cancel", kind.run(&id));
        mock.developer()
            .post_nothing(&path)
            .await
            .refused(404, code);
        assert_eq!(status(&mock, other, &id).await, "queued");
    }
}

async fn what_is_another_owners_cannot_be_canceled(mock: Mock) {
    for kind in Kind::ALL {
        let id = started(&mock, kind, "x").await;
        let stranger = mock.caller(Host::Developer).bearer("svc_dev_other");
        let path = format!("{}/cancel", kind.run(&id));
        stranger.post_nothing(&path).await.expect(404);
        assert_eq!(status(&mock, kind, &id).await, "queued");
    }
}
