//! Servers on threads of their own, so that a client's processor time is not theirs.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::routing::{get, post};
use http_body::{Frame, SizeHint};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::Outcome;

pub(crate) const STATUS_BODY: &str = r#"{"data":{"job_id":"job_v5t2wk75fhe7363ypmm2","next_poll_after_seconds":4.0,"result_ready":false,"status":"processing","terminal":false}}"#;
pub(crate) const RECEIPT_BODY: &str = r#"{"data":{"cancel_url":"http://127.0.0.1:4010/v1/jobs/job_v5t2wk75fhe7363ypmm2/cancel","job":{"created_at":"2026-08-14T09:26:53.589Z","id":"job_v5t2wk75fhe7363ypmm2","metadata":{},"model":"image-i","price_usd":"0.0050","status":"queued","type":"image_generation","updated_at":"2026-08-14T09:26:53.589Z"},"next_poll_after_seconds":1.0,"request_id":"req_zgz82y26sv3553edpemh","result_url":"http://127.0.0.1:4010/v1/jobs/job_v5t2wk75fhe7363ypmm2/result","status_url":"http://127.0.0.1:4010/v1/jobs/job_v5t2wk75fhe7363ypmm2/status"}}"#;

pub(crate) const JOB_BODY: &str = r#"{"data":{"created_at":"2026-08-14T09:26:53.589Z","id":"job_v5t2wk75fhe7363ypmm2","metadata":{"order":"1042"},"model":"image-i","price_usd":"0.0050","result":{"artifacts":[{"content_type":"image/png","id":"art_0c3m8m6zq5w5r1k2","media_type":"image","url":"http://127.0.0.1:4012/media/art_0c3m8m6zq5w5r1k2.png"}]},"status":"completed","type":"image_generation","updated_at":"2026-08-14T09:27:04.120Z"}}"#;

/// The size of the file that is downloaded.
pub(crate) const FILE_BYTES: u64 = 1 << 30;
const CHUNK_BYTES: usize = 64 * 1024;

/// A server that runs until it is dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

impl Running {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// Runs a server on a thread with a runtime of its own. `start` returns its address, and whatever must
/// stay alive for it to serve.
pub(crate) fn on_own_thread<T, F>(start: impl FnOnce() -> F + Send + 'static) -> Outcome<Running>
where
    F: Future<Output = Outcome<(SocketAddr, T)>>,
{
    let (sender, receiver) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async move {
            match start().await {
                Ok((address, _alive)) => {
                    let _ = sender.send(Ok(address));
                    let _ = stopped.await;
                }
                Err(error) => drop(sender.send(Err(error))),
            }
        });
        std::io::Result::Ok(())
    });
    let address = receiver.recv()??;
    Ok(Running { address, _stop: stop })
}

/// Starts a bare axum server, which answers as the service does, from constants.
pub(crate) fn axum() -> Outcome<Running> {
    on_own_thread(|| async {
        let router = Router::new()
            .route(
                "/v1/jobs/{id}/status",
                get(async |Path(_): Path<String>| json(StatusCode::OK, STATUS_BODY)),
            )
            .route(
                "/v1/jobs/{id}",
                get(async |Path(_): Path<String>| json(StatusCode::OK, JOB_BODY)),
            )
            .route("/v1/jobs/{id}/result", get(result))
            .route(
                "/v1/image-router/generate",
                post(async |_: Bytes| json(StatusCode::ACCEPTED, RECEIPT_BODY)),
            )
            .route("/file", get(file));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok((address, serving))
    })
}

fn json(status: StatusCode, body: &'static str) -> (StatusCode, HeaderMap, &'static str) {
    (status, service_headers(), body)
}

/// Returns the headers that the service adds to a response.
fn service_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("x-svc-request-id", HeaderValue::from_static("req_zgz82y26sv3553edpemh"));
    headers.insert("ratelimit-limit", HeaderValue::from_static("100000000"));
    headers.insert("ratelimit-remaining", HeaderValue::from_static("99999999"));
    headers.insert("ratelimit-reset", HeaderValue::from_static("60"));
    headers
}

async fn result(headers: HeaderMap) -> (HeaderMap, String) {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let artifact = format!(
        r#"{{"id":"art_1","url":"http://{host}/file","media_type":"video","content_type":"video/mp4"}}"#
    );
    let body =
        format!(r#"{{"data":{{"job_id":"job_1","status":"completed","artifacts":[{artifact}]}}}}"#);
    (service_headers(), body)
}

async fn file() -> (HeaderMap, Body) {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(FILE_BYTES));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("video/mp4"));
    (headers, Body::new(Zeros { left: FILE_BYTES, chunk: Bytes::from(vec![0; CHUNK_BYTES]) }))
}

/// A body of zeros.
struct Zeros {
    left: u64,
    chunk: Bytes,
}

impl http_body::Body for Zeros {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left = self.left.saturating_sub(self.chunk.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(self.chunk.clone()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
