//! Attempts to deliver webhook events: ten at most, the first retry after 30 seconds.

use super::*;

webhook_scripts! {
    any_2xx_ends_the_delivery r#"
        for <count> <status> in 1 200, 2 201, 3 202, 4 204, 5 299
          replies <status>
          open hooked-video => 202
          advance 8
          outcomes <count>
          advance 1000000
          received <count>
    "#
    other_statuses_are_retried_up_to_ten_attempts r#"
        for <first> <last> <status> in 1 10 400, 11 20 404, 21 30 410, 31 40 418, 41 50 500, 51 60 503
          replies <status>
          open hooked-video => 202 job.id=<id>
          advance 8
          outcomes <first>
          attempts <last>
          advance 1000000
          received <last>
          developer /v1/jobs/<id> => 200 webhook_delivery.status=exhausted webhook_delivery.last_status_code=<status> webhook_delivery.next_attempt_at=null
    "#
    redirects_are_not_followed r#"
        for <count> <next> <status> in 1 2 301, 3 4 302, 5 6 307, 7 8 308
          replies <status>:location=<RECEIVER>/elsewhere 204
          open hooked-video => 202 job.id=<id>
          advance 8
          outcomes <count>
          received <count>
          developer /v1/jobs/<id> => 200 webhook_delivery.status=retrying webhook_delivery.last_error=redirect
          advance 3600
          received <next>
          delivery <next> => @path^=/svc
          outcomes <next>
    "#
    a_closed_connection_is_retried r#"
        replies close close 200
        open hooked-video => 202 job.id=<id>
        advance 8
        outcomes 1
        developer /v1/jobs/<id> => 200 webhook_delivery.status=retrying webhook_delivery.last_status_code=null webhook_delivery.last_error=<string>
        attempts 3
        advance 1000000
        received 3
    "#
    a_timeout_is_retried [webhook_timeout_ms(50)] r#"
        replies hang
        open hooked-video => 202 job.id=<id>
        advance 8
        outcomes 1
        developer /v1/jobs/<id> => 200 webhook_delivery.status=retrying webhook_delivery.last_status_code=null webhook_delivery.last_error=<string>
        attempts 10
        advance 1000000
        received 10
        developer /v1/jobs/<id> => 200 status=completed
    "#
    the_first_retry_comes_after_30_seconds_and_retry_after_is_honoured_up_to_an_hour r#"
        for <count> <next> <reply> <before> in
          | 1 2 500 29
          | 3 4 429:retry-after=600 599
          | 5 6 503:retry-after=900 899
          | 7 8 429:retry-after=999999 3599
          replies <reply> 204
          open hooked-video => 202
          advance 8
          outcomes <count>
          advance <before>
          received <count>
          control /deliveries => 200 #=<count>
          advance 1
          received <next>
          outcomes <next>
    "#
    the_job_shows_its_delivery r#"
        replies 500 404
        open hooked-video => 202 job.id=<id>
        advance 8
        outcomes 1
        delivery 1 => @x-svc-webhook-secret-fingerprint=<fingerprint>
        developer /v1/jobs/<id> => 200 webhook_delivery.status=retrying webhook_delivery.next_attempt_at=2027-01-15T08:00:38Z webhook_delivery.last_status_code=500 webhook_delivery.attempts=1 webhook_delivery.signing_secret_fingerprint=<fingerprint>
        advance 30
        outcomes 2
        developer /v1/jobs/<id> => 200 webhook_delivery.last_status_code=404 webhook_delivery.attempts=2
    "#
    each_attempt_is_in_the_timeline_of_its_job r#"
        replies 500 200
        open hooked-image => 202 job.id=<id>
        advance 2
        outcomes 1
        advance 30
        outcomes 2
        developer /v1/jobs/<id>/events => 200 #=6 4.type=webhook_delivery 4.created_at=2027-01-15T08:00:02Z 4.webhook_delivery.status=retrying 4.webhook_delivery.attempts=1
        developer /v1/jobs/<id>/events => 200 5.type=webhook_delivery 5.created_at=2027-01-15T08:00:32Z 5.webhook_delivery.status=delivered 5.webhook_delivery.attempts=2
    "#
    urls_without_a_route_are_not_called r#"
        open hooked-video {"webhook_url": "https://other.example.com/"} => 202 job.id=<id>
        advance 8
        outcomes 1
        developer /v1/jobs/<id> => 200 webhook_delivery.last_error=no_route
        received 0
    "#
}

on_every_socket_frontend! { each_attempt_has_a_new_signature_of_the_same_body }

async fn each_attempt_has_a_new_signature_of_the_same_body(mock: Mock, receiver: Receiver) {
    receiver.set_replies([Reply::Status(500)]);
    let script = "open hooked-video => 202\nadvance 8\noutcomes 1\nattempts 10";
    run_script(&mock, Some(&receiver), script).await;
    let secret = mock.developer().get_data("/v1/webhooks/signing-secret").await;
    let deliveries = receiver.deliveries();
    for delivery in &deliveries {
        delivery.assert_signed_with(&[&text(&secret["secret"])]);
        assert_eq!(delivery.body(), deliveries[0].body());
    }
    let times: Vec<_> = deliveries.iter().map(Delivery::timestamp).collect();
    assert!(times.is_sorted_by(|one, next| one < next), "{times:?}");
}
