//! Redeliveries of the events of jobs, and test deliveries. Each mock starts at 1800000000.

use super::*;

webhook_scripts! {
    a_test_event_is_signed r#"
        developer /v1/webhooks/signing-secret => 200 secret=<old>
        developer POST /v1/webhooks/signing-secret/rotate => 200 secret=<new>
        developer /v1/webhooks/test-deliveries {"url": "https://hooks.example.com/try"} => 202 @x-svc-request-id=<id> event=webhook.test url=https://hooks.example.com/try delivery_id^=dlv_
        advance 0
        received 1
        signed 1 <new> <old>
        delivery 1 => @path=/try .={"created_at":"2027-01-15T08:00:00Z","event":"webhook.test","payload":{"message":"This is a test. Nothing has happened."},"request_id":"<id>","status":"OK"}
        outcomes 1
        advance 1000000
        received 1
    "#
    a_failed_test_shows_its_status r#"
        replies 404
        developer /v1/webhooks/test-deliveries {"url": "https://hooks.example.com/try"} => 2xx
        advance 0
        outcomes 1
        control /deliveries => 200 0.event=webhook.test 0.status=404
    "#
    redelivery_sends_the_event_with_a_new_signature r#"
        open hooked-video {"prompt": "[mock:fail]"} => 202 job.id=<id>
        advance 8
        outcomes 1
        advance 500
        developer POST /v1/jobs/<id>/webhook/redeliver => 202
        advance 0
        received 2
        delivery 1 => .=<event> @path=<path> @x-svc-webhook-timestamp=1800000008
        delivery 2 => .=<event> @path=<path> @x-svc-webhook-timestamp=1800000508
        developer /v1/webhooks/signing-secret => 200 secret=<secret>
        signed 2 <secret>
    "#
    a_successful_redelivery_ends_the_retries r#"
        replies 500 404 200
        open hooked-image => 202 job.id=<id>
        advance 2
        outcomes 1
        developer /v1/jobs/<id> => 200 webhook_delivery.next_attempt_at=2027-01-15T08:00:32Z
        developer POST /v1/jobs/<id>/webhook/redeliver => 202
        advance 0
        outcomes 2
        developer /v1/jobs/<id> => 200 webhook_delivery.status=retrying webhook_delivery.attempts=1 webhook_delivery.last_status_code=404 webhook_delivery.next_attempt_at=2027-01-15T08:00:32Z
        developer POST /v1/jobs/<id>/webhook/redeliver => 202
        advance 0
        outcomes 3
        developer /v1/jobs/<id> => 200 webhook_delivery.next_attempt_at=null
        advance 100000
        received 3
    "#
    redelivery_does_not_count_as_an_attempt_and_works_after_the_last_one r#"
        replies 500
        open hooked-video => 202 job.id=<id>
        advance 8
        outcomes 1
        developer POST /v1/jobs/<id>/webhook/redeliver => 202
        advance 0
        received 2
        outcomes 2
        attempts 11
        advance 1000000
        received 11
        for <count> in 12 13 14
          developer POST /v1/jobs/<id>/webhook/redeliver => 202
          advance 0
          received <count>
          outcomes <count>
          advance 1000000
          received <count>
    "#
}

scripts! {
    redelivery_requires_an_ended_job_with_a_webhook r#"
        developer POST /v1/jobs/job_none/webhook/redeliver => 404 job_not_found
        open video => 202 job.id=<without>
        open hooked-video => 202 job.id=<with>
        for <step> in 0 3
          advance <step>
          developer POST /v1/jobs/<with>/webhook/redeliver => 409 job_not_terminal
        advance 5
        developer POST /v1/jobs/<without>/webhook/redeliver => 409 webhook_not_configured
    "#
}
