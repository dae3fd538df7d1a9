//! The flag for the service's MCP endpoint, and the conversion of its errors.

use clap::Args;
use svc_mcp::McpError;
use svc_sdk::ErrorKind;
use svc_sdk::contract::ErrorCode;

use crate::error::{ClientCode, Exit, Failure};

/// The flag `--mcp-url`.
#[derive(Args, Debug)]
pub(crate) struct EndpointArgs {
    /// URL of the service's MCP endpoint [env: SVC_MCP_URL]
    #[arg(long, value_name = "URL", help_heading = crate::args::headings::REQUEST)]
    pub(super) mcp_url: Option<String>,
}

/// Converts an error of a request without side effects, which is never ambiguous.
pub(super) fn read_failure(error: McpError) -> Failure {
    if !error.is_ambiguous() {
        return call_failure(error);
    }
    match &error {
        McpError::Request(request) if request.kind() == ErrorKind::InvalidResponse => {
            Failure::other(error.to_string()).with_client_code(ClientCode::UnreadableResponse)
        }
        _ => Failure::new(Exit::Unreachable, error.to_string()),
    }
}

/// Converts an error of a call.
pub(super) fn call_failure(error: McpError) -> Failure {
    match error {
        McpError::Request(error) => Failure::from(error),
        McpError::Tool(error) => {
            let code = error.code();
            let mut failure = Failure::new(exit_of(code), error.to_string());
            if let Some(body) = &error.body {
                let details = serde_json::to_value(&body.details).ok();
                failure = failure.with_response(
                    Some(body.code.as_str().to_owned()),
                    None,
                    body.request_id.as_ref().map(ToString::to_string),
                    details.filter(|details| !details.is_null()),
                );
            }
            match &error.idempotency_key {
                Some(key) => failure.with_idempotency_key(key.as_str()),
                None => failure,
            }
        }
        McpError::Protocol { code: -32602, message } => Failure::usage(message),
        other => Failure::other(other.to_string()).with_client_code(ClientCode::UnreadableResponse),
    }
}

fn exit_of(code: Option<&ErrorCode>) -> Exit {
    match code {
        Some(ErrorCode::InsufficientFunds | ErrorCode::InsufficientCredits) => Exit::Funds,
        Some(code) if code.as_str() == "max_spend_exceeded" => Exit::Funds,
        Some(ErrorCode::ConcurrencyLimitReached) => Exit::Overloaded,
        Some(code) => {
            let status = code.defaults().and_then(|defaults| defaults.status);
            status.map_or(Exit::Failure, Exit::from_status)
        }
        None => Exit::Failure,
    }
}
