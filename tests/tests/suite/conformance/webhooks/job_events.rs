//! Webhook events of jobs.

use super::*;

webhook_scripts! {
    a_completed_job_sends_one_event_with_its_artifacts r#"
        open hooked-video => 202 job.id=<id>
        advance 8
        received 1
        developer /v1/webhooks/signing-secret => 200 secret=<secret>
        signed 1 <secret>
        open /v1/jobs/<id>/result => 200 artifacts.#=1 artifacts.0.id=<artifact> artifacts.0.url=<url> artifacts.0.content_type=<type> artifacts.0.media_type=video
        # The field is `media_type` in the result.
        delivery 1 => @method=POST @path=/svc?tenant=7 event=job.completed job_id=<id> status=OK request_id=<string> error=null payload.artifacts.#=1 payload.artifacts.0.id=<artifact> payload.artifacts.0.url=<url> payload.artifacts.0.content_type=<type> payload.artifacts.0.type=video
        outcomes 1
        advance 1000000
        received 1
    "#
    a_failed_job_sends_its_error r#"
        open hooked-video {"prompt": "[mock:fail=content_rejected]"} => 202 job.id=<id>
        advance 8
        received 1
        delivery 1 => event=job.failed job_id=<id> status=ERROR error.code=content_rejected error.message=<string>
    "#
    a_canceled_job_sends_one_event r#"
        open hooked-video => 202 job.id=<id>
        repeat 2
          open POST /v1/jobs/<id>/cancel => 200
        advance 0
        received 1
        delivery 1 => event=job.canceled job_id=<id> status=ERROR error=<object>
        outcomes 1
        advance 100
        received 1
    "#
    no_event_is_sent_before_the_end r#"
        open hooked-video {"prompt": "[mock:seconds=100]"} => 202
        repeat 99
          advance 1
        control /deliveries => 200 #=0
        advance 1
        received 1
    "#
    a_job_without_a_webhook_sends_no_event r#"
        open video => 202
        open video {"mode": "sync", "wait_timeout_seconds": 0} => 202
        advance 8
        control /deliveries => 200 #=0
        received 0
    "#
    each_job_sends_its_own_event r#"
        open hooked-video {"prompt": "[mock:fail]"} => 202 job.id=<failed>
        open hooked-image {"num_images": 3, "webhook_url": "https://hooks.example.com/images"} => 202 job.id=<images>
        advance 2
        received 1
        delivery 1 => job_id=<images> event=job.completed @path=/images
        advance 6
        received 2
        delivery 2 => job_id=<failed> event=job.failed @path=/svc?tenant=7
    "#
    events_are_signed_with_the_secret_of_the_workspace r#"
        control /keys {"kind": "open", "workspace": "ws_elsewhere"} => 201 key=<open>
        control /keys {"kind": "developer", "workspace": "ws_elsewhere"} => 201 key=<developer>
        open:<open> hooked-video => 202
        advance 8
        developer /v1/webhooks/signing-secret => 200 secret=<other>
        developer:<developer> /v1/webhooks/signing-secret => 200 secret=<secret> secret!=<other>
        received 1
        signed 1 <secret>
    "#
}
