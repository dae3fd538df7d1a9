//! Configures a client for production: limits, timeouts, headers, metrics, and an API key that can be
//! replaced while the program runs.

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use svc_sdk::observe::{AttemptEnd, Observer};
use svc_sdk::{ApiKey, KeyProviderError, Result, RetryPolicy, developer, open};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let attempts = Arc::<Attempts>::default();
    let client = open::ClientBuilder::from_env()?
        // Plain http to a container, as in docker-compose. Other hosts need https.
        .allow_http("mock")
        .user_agent_suffix("my-service/1.2")
        .default_header("x-deployment", "blue")
        .connect_timeout(Duration::from_secs(3))
        .read_timeout(Duration::from_secs(20))
        .timeout(Duration::from_secs(60))
        .retry(RetryPolicy::default().max_retries(3))
        .max_in_flight(16)
        .observer(Metrics(Arc::clone(&attempts)))
        .build()?;
    let page = client.jobs().list().limit(10).await?;
    println!("{} jobs", page.items.len());

    let client = developer::Client::builder()
        .base_url(std::env::var("SVC_DEVELOPER_BASE_URL")?)
        // Asked before the first request, and after the service has rejected the key.
        .key_provider(current_key)
        // Shares the connections of the other client.
        .transport(client.transport())
        .observer(Metrics(Arc::clone(&attempts)))
        .build()?;
    let balance = client.account().balance().await?;
    println!("{} USD", balance.available_usd);

    println!("{} attempts", attempts.total.load(Ordering::Relaxed));
    println!("{} failed", attempts.failed.load(Ordering::Relaxed));
    Ok(())
}

/// Reads the key where it is rotated: here in the environment, elsewhere in a mounted file or a secret
/// manager.
async fn current_key() -> Result<ApiKey, KeyProviderError> {
    Ok(ApiKey::new(std::env::var("SVC_DEVELOPER_API_KEY")?)?)
}

#[derive(Default)]
struct Attempts {
    total: AtomicU64,
    failed: AtomicU64,
}

/// Counts attempts. A program would pass the figures to its metrics library.
struct Metrics(Arc<Attempts>);

impl Observer for Metrics {
    fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
        self.0.total.fetch_add(1, Ordering::Relaxed);
        if attempt.error.is_some() {
            self.0.failed.fetch_add(1, Ordering::Relaxed);
        }
    }
}
