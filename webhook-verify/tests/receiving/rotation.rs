//! Tests of secret rotations: keys that are replaced and loaded again.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Bytes;
use axum::http::HeaderMap;
use http_body_util::Full;
use svc_webhook_verify::{
    KeySet, ReceiveError, Signer, Verifier, VerifyError, Webhook, WebhookReceiver,
};

use crate::fixtures::{JOB, NOW};

async fn receive_at(
    receiver: &WebhookReceiver,
    timestamp: u64,
    secrets: &[&str],
) -> Result<Webhook, VerifyError> {
    let keys = KeySet::new(secrets).unwrap();
    let headers: HeaderMap = Signer::new(keys).sign(timestamp, JOB).into();
    let body = Full::new(Bytes::from(JOB));
    let received = receiver.receive(&headers, body).await;
    received.map_err(|error| match error {
        ReceiveError::Verify(error) => error,
        other => panic!("{other}"),
    })
}

async fn receive(receiver: &WebhookReceiver, secrets: &[&str]) -> Result<Webhook, VerifyError> {
    receive_at(receiver, NOW, secrets).await
}

fn with_file(path: &Path, content: &str) -> WebhookReceiver {
    fs::write(path, content).unwrap();
    WebhookReceiver::from_secret_file(path).unwrap().clock(|| NOW)
}

fn fingerprint(secret: &str) -> String {
    let keys = KeySet::new([secret]).unwrap();
    keys.newest().fingerprint().to_string()
}

#[tokio::test]
async fn a_secret_file_is_read_again_and_revoked_secrets_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets");
    let receiver = with_file(&path, "first\n");
    let webhook = receive(&receiver, &["first"]).await.unwrap();
    assert_eq!(webhook.unknown_fingerprint(), None);

    // The secret was rotated, and the file has only the previous one.
    let webhook = receive(&receiver, &["second", "first"]).await.unwrap();
    assert_eq!(webhook.fingerprint().as_str(), fingerprint("first"));
    assert_eq!(webhook.unknown_fingerprint(), Some(&*fingerprint("second")));

    fs::write(&path, "second\nfirst\n").unwrap();
    let webhook = receive(&receiver, &["second", "first"]).await.unwrap();
    assert_eq!(webhook.fingerprint().as_str(), fingerprint("second"));
    assert_eq!(webhook.unknown_fingerprint(), None);
    receive(&receiver, &["first"]).await.unwrap();

    // A clone verifies the first delivery that only the newest secret has signed.
    fs::write(&path, "third\nsecond\n").unwrap();
    let clone = receiver.clone();
    receive(&clone, &["third"]).await.unwrap();
    let revoked = receive(&receiver, &["first"]).await;
    assert_eq!(revoked.unwrap_err(), VerifyError::SignatureMismatch);
}

#[tokio::test]
async fn keys_stay_as_they_are_while_the_file_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets");
    let receiver = with_file(&path, "first");
    for content in [None, Some(&b"\n"[..]), Some(b"\xff"), Some(b"")] {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert!(!receiver.reload_keys().await);
        receive(&receiver, &["second", "first"]).await.unwrap();
    }
    fs::write(&path, "second").unwrap();
    assert!(receiver.reload_keys().await);
    assert!(!receiver.reload_keys().await);
    receive(&receiver, &["second"]).await.unwrap();
}

#[tokio::test]
async fn keys_are_loaded_only_for_recent_deliveries_that_name_an_unknown_secret() {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&loads);
    let verifier = Verifier::new(KeySet::new(["first"]).unwrap());
    let receiver = WebhookReceiver::new(verifier).clock(|| NOW).key_loader(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        async { None }
    });
    receive(&receiver, &["first"]).await.unwrap();
    receive(&receiver, &["first", "other"]).await.unwrap();
    receive_at(&receiver, NOW - 301, &["other"]).await.unwrap_err();
    assert_eq!(loads.load(Ordering::SeqCst), 0);
    receive(&receiver, &["other"]).await.unwrap_err();
    receive(&receiver, &["other", "first"]).await.unwrap();
    assert_eq!(loads.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_receiver_without_a_loader_keeps_its_keys_until_they_are_replaced() {
    let receiver = WebhookReceiver::new(Verifier::new(KeySet::new(["first"]).unwrap()));
    let receiver = receiver.clock(|| NOW);
    assert!(!receiver.reload_keys().await);
    receive(&receiver, &["second"]).await.unwrap_err();
    receiver.set_keys(KeySet::new(["second"]).unwrap());
    receive(&receiver.clone(), &["second"]).await.unwrap();
    receive(&receiver, &["first"]).await.unwrap_err();
}

#[test]
fn errors_of_a_secret_file_name_it_and_hide_its_content() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets");
    let error = KeySet::from_file(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    for content in ["\n".as_bytes(), b"canary\xff", "canary\n".repeat(9).as_bytes()] {
        fs::write(&path, content).unwrap();
        let error = KeySet::from_file(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let message = error.to_string();
        assert!(message.contains("secrets: "), "{message}");
        assert!(!message.contains("canary"), "{message}");
    }
}
