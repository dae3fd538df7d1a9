//! Any request, signed or not: the extractor answers and never panics, takes what was signed
//! and nothing else, and reads any body as an event or as none.
#![no_main]

use std::pin::pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, Waker};

use arbitrary::Arbitrary;
use axum_core::body::Body;
use axum_core::extract::{FromRequest, Request};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use svc_webhook_verify::{Event, Key, Receiver, Signer, Verifier, Webhook, header};

const NOW: u64 = 1_700_000_000;

static KEY: LazyLock<Key> = LazyLock::new(|| Key::new("whsec_newest").expect("a secret"));
static RECEIVER: LazyLock<Receiver> =
    LazyLock::new(|| Receiver::new(Verifier::new(KEY.clone())).clock(|| NOW));

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
    let extracting = pin!(Webhook::from_request(request, &*RECEIVER));
    let mut context = Context::from_waker(Waker::noop());
    let Poll::Ready(extracted) = extracting.poll(&mut context) else {
        panic!("a body that is there keeps nobody waiting");
    };
    match (extracted, expected) {
        (Ok(webhook), Ok(verified)) => {
            assert_eq!(webhook.signature(), verified);
            assert_eq!(webhook.body(), input.body);
            let event = webhook.event().map(|event| (event.dedupe_key(), event));
            assert_eq!(event.is_ok(), Event::parse(input.body).is_ok());
        }
        (Err(refused), Err(reject)) => assert_eq!(refused.status().as_u16(), reject.status()),
        (extracted, expected) => panic!("{extracted:?}, expected {expected:?}"),
    }
});
