//! What scripts cannot say of the control API for teams: waits, and the clock of webhook timestamps.

use std::time::Duration;

use super::*;

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
