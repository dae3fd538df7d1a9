//! What tests that run at the same time against one mock need: scopes, filters, waits and routes.

use std::time::Duration;

use super::*;

scripts! {
    a_workspace_has_what_a_test_needs r#"
        control /workspaces {"id": "ws_t", "plan": "pro", "balance_usd": "3.00"} => 201 id=ws_t open_api_key=<open> developer_api_key=<dev> webhook_secret=<secret> env.SVC_OPEN_API_KEY=<open> env.SVC_DEVELOPER_API_KEY=<dev> env.SVC_WEBHOOK_SECRET=<secret> env.SVC_CONTROL_URL=<CONTROL>
        open:<open> /v1/jobs => 200 @ratelimit-limit=12000
        developer:<dev> /v1/balance => 200 available_usd=3.0000
        developer:<dev> /v1/webhooks/signing-secret => 200 secret=<secret>
        control /workspaces {"id": "ws_t"} => 409
        control /workspaces {} => 201 id!=ws_t id^=ws_
    "#
    a_fault_of_a_workspace_or_a_key_spares_others r#"
        control /workspaces {"id": "ws_t"} => 201 open_api_key=<open>
        control /faults {"kind": "status_503", "workspace": "ws_t", "times": 9} => 200 /id=<id> 0.id=<id> 0.remaining=9 0.hits=0
        open /v1/jobs => 200
        open:<open> /v1/jobs => 503
        control /faults => 200 0.remaining=8 0.hits=1
        control /requests?status=503 => 200 #=1 0.fault_id=<id> 0.workspace=ws_t
        control DELETE /faults/<id> => 200 #=0
        control DELETE /faults/<id> => 404
        open:<open> /v1/jobs => 200
        control /faults {"kind": "status_503", "key": "key_open_demo"} => 200
        developer /v1/jobs => 200
        open /v1/jobs => 503
        control /faults {"kind": "status_503", "match": "a hen"} => 200
        open image => 202
        open image {"prompt": "a hen"} => 503
        control /faults {"kind": "status_503", "workspace": "ws_t"} => 200
        control /faults {"kind": "status_503", "workspace": "ws_other"} => 200
        control DELETE /faults?workspace=ws_t => 200 #=1 0.workspace=ws_other
    "#
    a_fault_of_a_workspace_applies_to_its_files r#"
        open image => 202 job.id=<id>
        advance 2
        open /v1/jobs/<id> => 200 result.artifacts.0.url=<url>
        control /faults {"kind": "status_404", "workspace": "ws_other"} => 200
        media <url> => 200
        control /faults {"kind": "status_404", "workspace": "ws_demo"} => 200
        media <url> => 404
    "#
    parameters_that_are_unknown_or_repeated_are_refused r#"
        for <path> in /requests /jobs /runs /deliveries /ledger /keys /limits /top-ups /faults /workspaces /clock /state /actions /webhook-routes /
          control GET <path>?wrokspace=ws_demo => 400 message*=wrokspace
        for <query> in since=1&since=2 workspace=a&workspace=b
          control GET /requests?<query> => 400 message*=repeated
        for <query> <name> in operation=nothing operation, status=7 status, wait=61 wait, wait=x wait, count=-1 count
          control GET /requests?<query> => 400 message*=<name>
        control GET /jobs?status=done => 400 message*=status
        control GET /deliveries?status=done => 400 message*=status
        control GET /ledger?wallet=mine => 400 message*=wallet
    "#
    lists_show_what_matches r#"
        control /workspaces {"id": "ws_t"} => 201 open_api_key=<open>
        open image => 202
        open:<open> video => 202 job.id=<id>
        for <query> in workspace=ws_t operation=video_generate since=1
          control GET /jobs?<query> => 200 *.id=["<id>"]
        control /jobs?key=key_open_demo => 200 #=1 0.id!=<id>
        control /jobs?status=completed => 200 #=0
        control /requests?workspace=ws_t&operation=video_generate&status=202 => 200 #=1 /matched=1 /satisfied=true /next_since=2
        control /requests?method=post&path=/v1/image-router/generate => 200 #=1 0.seq=1
        control /requests?limit=1 => 200 #=1 /matched=2 /next_since=1
        control /requests?count=3 => 200 #=2 /satisfied=false
        control /ledger?workspace=ws_t => 200 #=1 0.workspace=ws_t 0.job_id=<id>
        control /ledger?operation=image_generate => 200 #=1 0.job_id!=<id>
        control /keys?workspace=ws_t => 200 #=2
    "#
    one_job_or_run_can_be_read r#"
        open image => 202 job.id=<id>
        control /jobs/<id> => 200 id=<id> status=queued workspace=ws_demo
        developer media-run {"instruction": "[mock:fail=incomplete_assembly]"} => 202 run_id=<run>
        advance 10
        control /runs/<run> => 200 run_id=<run> workspace=ws_demo
        # What a run left unfinished is read and ended in the same way.
        developer /v1/format-runs/<run> => 200 error.details.pending_jobs.0.id=<job>
        control /jobs/<job> => 200 run_id=<run> status=processing
        control /jobs/<job> {"status": "failed"} => 200 status=failed
        control /jobs/<job> => 200 status=failed
        for <path> in /jobs/job_none /runs/run_none
          control GET <path> => 404
    "#
    requests_are_compared_with_what_is_expected r#"
        open image => 202
        open /v1/jobs => 200
        control /verify {"operation": "image_generate", "body": {"prompt": "a red fox"}} => 200 matched=1
        control /verify {"workspace": "ws_other", "count": 0} => 200 matched=0
        control /verify {"count": {"at_least": 1, "at_most": 2}} => 200 matched=2
        control /verify {"operation": "image_generate", "count": 2} => 422 verification_failed /matched=1
        control /verify {"method": "POST", "body": {"prompt": "a hen"}} => 422 verification_failed /matched=0 /nearest.0.seq=1 /nearest.0.differences.0^="/prompt: expected"
    "#
    directives_with_mistakes_are_refused r#"
        for <words> in [mock:fial] [mock:fail=no_code] [mock:refuse=no_code] [mock:seconds=x] [mock:refuse=rate_limited,status=200] [mock:fail,times=0]
          open image {"prompt": "<words>"} => 400 mock_directive_invalid
          developer run {"instruction": "<words>"} => 400 mock_directive_invalid
        open image {"prompt": "[mock:fial]"} => 400 mock_directive_invalid message*=[mock:fail
        control /jobs => 200 #=0
    "#
    a_directive_applies_as_often_as_times_says r#"
        repeat 2
          open image {"prompt": "[mock:refuse=database_busy,times=2]"} => 503 database_busy
        open image {"prompt": "[mock:refuse=database_busy,times=2]"} => 202
        open image {"prompt": "[mock:refuse=x_overheated,status=507]"} => 507 x_overheated
        open image {"prompt": "[mock:fail=x_overheated]"} => 202 job.id=<id>
        advance 2
        open /v1/jobs/<id> => 200 status=failed error.code=x_overheated
    "#
    a_restore_can_keep_the_clock r#"
        control PUT /clock {"mode": "real", "speed": 2} => 200
        control /state => 200 .=<document>
        control PUT /clock {"mode": "manual"} => 200
        control PUT /state?clock=keep <document> => 200 mode=manual
        control PUT /state?clock=maybe <document> => 400 message*=clock
        control PUT /state <document> => 200 mode=real speed=2.0
    "#
    an_asset_has_its_type_and_size r#"
        for <type> in image/png image/jpeg video/mp4 audio/wav application/json text/plain
          control /assets {"workspace": "ws_demo", "content_type": "<type>", "bytes": 70001} => 201 url=<url> asset_id^=asset_
          media <url> => 200 @content-type^=<type> @content-length=70001
    "#
    attachments_count_to_the_limit r#"
        control /assets {"workspace": "ws_demo", "content_type": "video/mp4", "bytes": 250000000} => 201 asset_id=<first>
        control /assets {"workspace": "ws_demo", "content_type": "video/mp4", "bytes": 250000001} => 201 asset_id=<second>
        developer run {"attachments": [{"asset_id": "<first>"}, {"asset_id": "<second>"}]} => 413 attachment_too_large
        developer run {"attachments": [{"asset_id": "<first>"}]} => 202
    "#
    compressed_bodies_and_hidden_operations_are_refused r#"
        open content-encoding=gzip image => 415 unsupported_media_type
        open content-encoding=identity image => 202
        for <path> in /v1/avatars /v1/avatar-videos
          developer POST <path> {"handle": "x"} => 404 not_found
    "#
}

webhook_scripts! {
    webhooks_are_routed_at_run_time r#"
        control /webhook-routes => 200 #=1 0.origin=https://hooks.example.com
        control /webhook-routes {"origin": "https://other.example", "to": "<RECEIVER>"} => 201 id=<id> workspace=null
        open hooked-image {"webhook_url": "https://other.example/in"} => 202 job.id=<job>
        advance 2
        received 1
        delivery 1 => @path=/in
        outcomes 1
        control /deliveries?workspace=ws_demo&subject_id=<job> => 200 #=1 0.seq=1 0.workspace=ws_demo
        control /deliveries?workspace=ws_other => 200 #=0
        control DELETE /webhook-routes/<id> => 200 #=1
        control DELETE /webhook-routes/<id> => 404
        open hooked-image {"webhook_url": "https://other.example/in"} => 202
        advance 2
        outcomes 2
        received 1
        control /deliveries?since=1 => 200 #=1 0.error=no_route
    "#
    a_route_of_a_workspace_is_its_own r#"
        control /workspaces {"id": "ws_t"} => 201 open_api_key=<open>
        control /webhook-routes {"origin": "https://own.example", "to": "<RECEIVER>", "workspace": "ws_t"} => 201
        open hooked-image {"webhook_url": "https://own.example/demo"} => 202
        advance 2
        outcomes 1
        open:<open> hooked-image {"webhook_url": "https://own.example/t"} => 202
        advance 2
        received 1
        delivery 1 => @path=/t
        control POST /reset => 200
        control /webhook-routes => 200 #=1
    "#
    a_refused_redelivery_is_not_a_delivery r#"
        open hooked-image => 202 job.id=<id>
        advance 2
        outcomes 1
        developer /v1/jobs/<id> => 200 webhook_delivery.status=delivered
        control /dns {"host": "hooks.example.com", "address": "10.0.0.7"} => 200
        developer POST /v1/jobs/<id>/webhook/redeliver => 202
        advance 0
        outcomes 2
        developer /v1/jobs/<id> => 200 webhook_delivery.status=failed webhook_delivery.last_error=url_not_public
    "#
}

on_every_frontend! { a_list_waits_for_what_it_counts }

async fn a_list_waits_for_what_it_counts(mock: Mock) {
    // The server of wiremock cannot wait.
    if mock.kind() == FrontendKind::Wiremock {
        return;
    }
    let (control, open) = (mock.control(), mock.open());
    let send = async {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(30)).await;
            open.get("/v1/jobs").await.expect(200);
        }
    };
    let wait = control.get("/requests?operation=jobs_list&count=2&wait=20");
    let (response, ()) = tokio::join!(wait, send);
    let list = response.expect(200).json();
    assert_eq!((&list["satisfied"], &list["matched"]), (&json!(true), &json!(2)));
    let list = control.get("/requests?count=3&wait=1").await.expect(200).json();
    assert_eq!((&list["satisfied"], &list["matched"]), (&json!(false), &json!(2)));
}

#[tokio::test]
async fn the_timestamps_of_webhooks_show_the_wall_clock_if_asked_to() {
    let receiver = Receiver::start().await;
    let setup = Setup::default().wall_timestamps().webhook_port(receiver.port());
    let mock = Mock::start(FrontendKind::Serve, setup).await;
    let hook = json!({"mode": "webhook", "webhook_url": "https://hooks.example.com/svc"});
    submit(&mock.open(), IMAGE, with(image(), hook)).await;
    mock.advance(2).await;
    let deliveries = receiver.wait_for(1).await;
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now.abs_diff(deliveries[0].timestamp()) < 60, "{}", deliveries[0].timestamp());
    let secret = mock.developer().get_data("/v1/webhooks/signing-secret").await;
    deliveries[0].assert_signed_with(&[secret["secret"].as_str().unwrap()]);
}
