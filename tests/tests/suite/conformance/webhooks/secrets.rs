//! Signing secrets and their rotation.

use super::*;

scripts! {
    rotation_returns_a_new_secret_and_the_expiry_of_the_previous_one r#"
        developer /v1/webhooks/signing-secret => 200 .=<first> secret=<before> rotation.previous_valid_until=null
        developer /v1/webhooks/signing-secret => 200 .=<first>
        developer POST /v1/webhooks/signing-secret/rotate => 200 secret!=<before> secret=<secret> fingerprint=<fingerprint> rotation.previous_valid_until^=2027-01-16T08:00:00
        developer /v1/webhooks/signing-secret => 200 secret=<secret> fingerprint=<fingerprint> rotation.previous_valid_until^=2027-01-16T08:00:00
        advance 86401
        developer /v1/webhooks/signing-secret => 200 secret=<secret> rotation.previous_valid_until=null
        control POST /reset => 200
        developer /v1/webhooks/signing-secret => 200 secret=<before>
    "#
    each_workspace_has_its_own_secret r#"
        developer:svc_dev_other /v1/webhooks/signing-secret => 200 secret=<other>
        developer:svc_team_demo /v1/webhooks/signing-secret => 200 secret!=<other> secret=<team>
        developer /v1/webhooks/signing-secret => 200 secret!=<other> secret!=<team>
        developer POST /v1/webhooks/signing-secret/rotate => 200
        developer:svc_dev_other /v1/webhooks/signing-secret => 200 secret=<other>
        developer:svc_team_demo /v1/webhooks/signing-secret => 200 secret=<team>
    "#
}

webhook_scripts! {
    both_secrets_sign_for_a_day_after_a_rotation r#"
        developer /v1/webhooks/signing-secret => 200 secret=<old>
        open hooked-video => 202
        advance 8
        received 1
        signed 1 <old>
        developer POST /v1/webhooks/signing-secret/rotate => 200 secret=<new>
        open hooked-video => 202
        advance 8
        received 2
        signed 2 <new> <old>
        advance 86383
        open hooked-video => 202
        advance 8
        received 3
        signed 3 <new> <old>
        open hooked-video => 202
        advance 8
        received 4
        signed 4 <new>
    "#
    a_second_rotation_retires_the_oldest_secret r#"
        developer POST /v1/webhooks/signing-secret/rotate => 200 secret=<second>
        advance 3600
        developer POST /v1/webhooks/signing-secret/rotate => 200 secret=<third>
        for <count> <wait> <secrets> in
          | 1 0 "<third> <second>"
          | 2 82800 "<third> <second>"
          | 3 3600 <third>
          advance <wait>
          open hooked-video => 202
          advance 8
          received <count>
          signed <count> <secrets>
    "#
    a_retry_is_signed_with_what_is_good_at_its_time r#"
        replies 500 204
        developer /v1/webhooks/signing-secret => 200 secret=<old>
        open hooked-video => 202
        advance 8
        outcomes 1
        signed 1 <old>
        developer POST /v1/webhooks/signing-secret/rotate => 200 secret=<new>
        advance 30
        received 2
        signed 2 <new> <old>
    "#
}

on_every_frontend! { the_secret_has_its_fingerprint }

async fn the_secret_has_its_fingerprint(mock: Mock) {
    for path in ["", "/rotate"] {
        let path = format!("/v1/webhooks/signing-secret{path}");
        let method = if path.ends_with("rotate") { "POST" } else { "GET" };
        let response = mock.developer().send(method, &path, None, Bytes::new()).await;
        let shown = response.expect(200).data();
        let secret = text(&shown["secret"]);
        assert!(secret.len() >= 16, "{} characters", secret.len());
        assert_eq!(shown["fingerprint"], fingerprint(&secret));
    }
}
