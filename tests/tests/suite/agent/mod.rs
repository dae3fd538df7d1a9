//! Runs and bulk queues through the SDK, on the mock, in virtual time: each code of the
//! specification's three tables as a caller of the SDK meets it, and the whole way of a run.

mod bulk;
mod failures;
mod reads;
mod refusals;
mod runs;

use svc_mock_server::{InProcess, Setup};
use svc_sdk::types::FormatRunCreate;
use svc_sdk::{Error, RetryPolicy, developer};
use svc_sdk::{FormatRun, RunHandle};

fn client(mock: &InProcess, key: &str) -> developer::Client {
    let client = crate::developer_client(mock, key).seed(7);
    client.retry(RetryPolicy::default().max_retries(0)).build().unwrap()
}

fn demo() -> (InProcess, developer::Client) {
    let mock = InProcess::new(Setup::default());
    let client = client(&mock, "svc_dev_demo");
    (mock, client)
}

async fn started(
    client: &developer::Client,
    format: &str,
    body: &FormatRunCreate,
) -> RunHandle<FormatRun> {
    let start = client.formats().run(format, body);
    start.await.unwrap()
}

/// A run that was refused: nothing runs and nothing is charged.
async fn refused(client: &developer::Client, format: &str, body: &FormatRunCreate) -> Error {
    let start = client.formats().run(format, body);
    let error = start.await.expect_err("it is refused");
    assert!(error.run_id().is_none(), "{error}");
    assert!(error.idempotency_key().is_some(), "{error}");
    error
}
