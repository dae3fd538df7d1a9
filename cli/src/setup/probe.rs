//! Requests that are free of charge, to check a URL and an API key.

use std::time::Duration;

use http::HeaderMap;
use svc_sdk::types::Me;
use svc_sdk::{ApiKey, Call, Developer, Open};

use crate::args::SurfaceChoice;
use crate::config::ConfiguredKey;
#[cfg(feature = "mcp")]
use crate::error::Exit;
use crate::error::{ClientCode, Failure, SetupProblem};
use crate::session::Session;

/// Sends a request that is free of charge and needs a key, and returns the headers of the response.
/// With a time limit, it is sent once.
///
/// # Errors
///
/// The outer error is that of a URL that is not valid, or not that of the service. The inner one is
/// that of the request.
pub(crate) async fn probe(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
    key: &ApiKey,
    limit: Option<Duration>,
) -> Result<Result<HeaderMap, svc_sdk::Error>, Failure> {
    let url = url.to_owned();
    Ok(match surface {
        SurfaceChoice::Open => {
            let client = session.access_with::<Open>(url, Some(key))?.client;
            let call = limited(client.pricing().list(), limit);
            call.with_response().await.map(|response| response.headers)
        }
        SurfaceChoice::Developer => {
            let me_url = format!("{}/v1/me", url.trim_end_matches('/'));
            let client = session.access_with::<Developer>(url, Some(key))?.client;
            let call = limited(client.account().me(), limit);
            match call.with_response().await {
                // All of its fields are optional.
                Ok(response) if response.value == Me::default() => {
                    let why = format!("{me_url}: the response does not describe an API key");
                    return Err(Failure::other(why)
                        .with_client_code(ClientCode::UnreadableResponse)
                        .with_setup_problem(Some(SetupProblem::WebPage)));
                }
                answered => answered.map(|response| response.headers),
            }
        }
    })
}

/// Verifies a key with the service.
///
/// # Errors
///
/// Returns an error if the service rejects the key or cannot be reached.
pub(crate) async fn verify(
    session: &Session,
    surface: SurfaceChoice,
    url: &str,
    key: &ConfiguredKey,
) -> Result<(), Failure> {
    session.record_key(surface, key.clone());
    probe(session, surface, url, &key.key, None).await??;
    Ok(())
}

fn limited<T>(call: Call<T>, limit: Option<Duration>) -> Call<T> {
    match limit {
        Some(limit) => call.timeout(limit).max_retries(0),
        None => call,
    }
}

/// Connects to the MCP endpoint, and returns the number of its tools.
///
/// # Errors
///
/// Returns an error if the endpoint rejects the key or cannot be reached.
#[cfg(feature = "mcp")]
pub(crate) async fn count_tools(
    session: &Session,
    url: &str,
    key: &ConfiguredKey,
) -> Result<usize, Failure> {
    session.record_key(SurfaceChoice::Developer, key.clone());
    let access = session.mcp_with(url.to_owned(), key.key.clone());
    let client = access.builder.connect().await.map_err(mcp_failure)?;
    let tools = client.tools().await.map_err(mcp_failure)?;
    Ok(tools.len())
}

#[cfg(feature = "mcp")]
fn mcp_failure(error: svc_sdk::mcp::Error) -> Failure {
    match error {
        svc_sdk::mcp::Error::Request(error) => Failure::from(error),
        // Listing tools has no side effects: an unknown outcome is a connection that failed.
        error if error.is_ambiguous() => Failure::new(Exit::Unreachable, error.to_string()),
        error => Failure::other(error.to_string()),
    }
}
