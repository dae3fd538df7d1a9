//! Sends arbitrary requests, signed or not, to the axum extractor and compares the results with
//! the verifier.
#![no_main]

use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use arbitrary::Arbitrary;
use axum_core::body::Body;
use axum_core::extract::{FromRequest, Request};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use svc_webhook_verify::{Event, Key, Signer, Verifier, Webhook, WebhookReceiver, header};

const NOW: u64 = 1_700_000_000;

static KEY: LazyLock<Key> = LazyLock::new(|| Key::new("whsec_newest").expect("a secret"));
static RECEIVER: LazyLock<WebhookReceiver> =
    LazyLock::new(|| WebhookReceiver::new(Verifier::new(KEY.clone())).clock(|| NOW));

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    signed: bool,
    lines: Vec<(u8, &'a [u8])>,
    body: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let mut headers = HeaderMap::new();
    if input.signed {
        headers = Signer::new(KEY.clone()).sign(NOW, input.body).into();
    }
    for (name, value) in &input.lines {
        let names = [header::SIGNATURE, header::TIMESTAMP, header::FINGERPRINT];
        let name = HeaderName::from_static(names[usize::from(*name) % names.len()]);
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(name, value);
        }
    }
    let expected = RECEIVER.verifier().verify_with_headers(&headers, input.body, NOW);
    let mut request = Request::new(Body::from(input.body.to_vec()));
    *request.headers_mut() = headers;
    let future = pin!(Webhook::from_request(request, &*RECEIVER));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(result) = future.poll(&mut context) else {
        panic!("reading a buffered body must not wait");
    };
    match (result, expected) {
        (Ok(webhook), Ok(signature)) => {
            assert_eq!(webhook.signature(), signature);
            assert_eq!(webhook.body(), input.body);
            let event = webhook.event().map(|event| (event.dedupe_key(), event));
            assert_eq!(event.is_ok(), Event::parse(input.body).is_ok());
        }
        (Err(actual), Err(expected)) => assert_eq!(actual.status().as_u16(), expected.status()),
        (result, expected) => panic!("{result:?}, expected {expected:?}"),
    }
});
