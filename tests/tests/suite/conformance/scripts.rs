//! The scripts themselves: a response that is not what a line says fails the test.

use super::*;

#[tokio::test]
async fn a_response_without_what_a_line_says_fails_the_script() {
    for wrong in [
        "open video => 200",
        "open estimate => 400 invalid_amount",
        "open estimate => 400 invalid_request prompt",
        "open video => 202 job.status=done",
        "open video => 202 job.status!=queued",
        "open video => 202 !job",
        "open video => 202 job.id=<id> request_id=<id>",
        "open video => 202 job.id^=run_",
        "open video => 202 job.id$=_",
        "open /v1/jobs => 200 #=1",
        "open /v1/video-router/models => 200 *.id*=none",
        "open /v1/jobs => 200 @ratelimit-limit=1",
        "open /v1/jobs => 200 %=",
        "ledger job_x = reservation 0.1250",
        "for <x> in\n  open /v1/jobs => 200",
        "= open GET\n/v1/jobs => 404\n/v1/jobs => 200",
    ] {
        let mock = Mock::start(FrontendKind::InProcess, Setup::default()).await;
        let script = async move { run_script(&mock, None, wrong).await };
        let local = tokio::task::LocalSet::new();
        let running = local.spawn_local(script);
        let result = local.run_until(running).await;
        assert!(result.is_err(), "{wrong}");
    }
}
