//! The lifecycle of a run, which takes 10 seconds by default and is queued for a tenth of them.

use super::*;

on_every_frontend! {
    a_receipt_has_urls_and_null_results,
    a_run_is_queued_then_running_then_completed,
    the_status_is_a_short_form_of_the_receipt,
    the_result_is_available_only_at_the_end,
    only_format_runs_have_events,
    runs_are_not_jobs,
}

async fn a_receipt_has_urls_and_null_results(mock: Mock) {
    for kind in Kind::ALL {
        let response = mock
            .developer()
            .post(kind.start(), kind.body("x"))
            .await
            .expect(202);
        let receipt = response.data();
        assert_eq!(
            response.header("x-svc-request-id").unwrap(),
            receipt["request_id"]
        );
        assert_eq!(receipt["kind"], kind.name());
        assert_eq!(receipt["status"], "queued");
        let run = kind.run(&text(&receipt["run_id"]));
        for (field, end) in [("status_url", "/status"), ("result_url", "/result")] {
            let path = mock.path_of(Host::Developer, &receipt[field]);
            assert_eq!(path, format!("{run}{end}"));
        }
        match kind {
            Kind::Format => {
                let path = mock.path_of(Host::Developer, &receipt["events_url"]);
                assert_eq!(path, format!("{run}/events"));
            }
            _ => assert!(receipt["events_url"].is_null(), "{receipt}"),
        }
        let body = mock.developer().get_data(&run).await;
        assert_eq!(body["run_id"], receipt["run_id"]);
    }
}

async fn a_run_is_queued_then_running_then_completed(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        for (step, expected) in [
            (0.0, "queued"),
            (0.9, "queued"),
            (0.2, "running"),
            (8.8, "running"),
            (0.1, "completed"),
        ] {
            mock.advance(step).await;
            assert_eq!(
                status(&mock, kind, &id).await,
                expected,
                "{kind:?} after {step}"
            );
        }
    }
}

async fn the_status_is_a_short_form_of_the_receipt(mock: Mock) {
    for (kind, prompt, end) in [
        (Kind::Format, "x", "completed"),
        (Kind::Action, "[mock:fail]", "failed"),
        (Kind::Agent, "[mock:degraded]", "completed"),
    ] {
        let id = start_run(&mock, kind, prompt).await;
        for (seconds, expected) in [(0, "queued"), (5, "running"), (5, end)] {
            mock.advance(seconds).await;
            let path = format!("{}/status", kind.run(&id));
            let short = mock.developer().get_data(&path).await;
            assert_eq!(short["status"], expected);
            let is_over = expected == end;
            assert_eq!(short["terminal"], is_over);
            assert_eq!(short["result_ready"], is_over);
            assert!(short["next_poll_after_seconds"].is_number(), "{short}");
            assert_eq!(short["run_id"], *id.as_str());
            assert!(
                short.get("output").is_none() && short.get("artifacts").is_none(),
                "{short}"
            );
        }
    }
}

async fn the_result_is_available_only_at_the_end(mock: Mock) {
    for kind in Kind::ALL {
        for prompt in ["x", "[mock:fail]", "[mock:degraded]"] {
            let id = start_run(&mock, kind, prompt).await;
            let path = format!("{}/result", kind.run(&id));
            for (seconds, expected) in [(0, "queued"), (9, "running")] {
                mock.advance(seconds).await;
                let error = mock
                    .developer()
                    .get_error(&path, 409, "run_not_completed")
                    .await;
                assert_eq!(error["details"]["status"], expected);
                assert!(error["retry_after_seconds"].is_number(), "{error}");
            }
            mock.advance(1).await;
            let result = mock.developer().get_data(&path).await;
            let read = receipt(&mock, kind, &id).await;
            for field in ["run_id", "status", "output", "error", "artifacts", "usage"] {
                assert_eq!(result[field], read[field], "{field}");
            }
        }
    }
}

async fn only_format_runs_have_events(mock: Mock) {
    for kind in [Kind::Action, Kind::Agent] {
        let id = start_run(&mock, kind, "x").await;
        let response = mock
            .developer()
            .get(&format!("{}/events", kind.run(&id)))
            .await;
        assert!([404, 405].contains(&response.status()), "{response:?}");
    }
}

async fn runs_are_not_jobs(mock: Mock) {
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        mock.developer()
            .get_error(&format!("/v1/jobs/{id}"), 404, "job_not_found")
            .await;
    }
    assert!(mock.developer().get_items("/v1/jobs").await.is_empty());
}
