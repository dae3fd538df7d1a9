//! Signatures of webhook events, and the secrets that sign them.

use super::*;

on_every_frontend! {
    the_secret_has_its_fingerprint,
}

on_every_socket_frontend! {
    each_attempt_has_a_new_signature_of_the_same_body,
}

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
