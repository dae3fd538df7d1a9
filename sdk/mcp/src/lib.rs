//! A client of the MCP endpoint of the svc media-generation and agent-run service.
//!
//! [`McpClient`] lists and calls the tools of the endpoint. The protocol is implemented by [`rmcp`]:
//! the current revision, with a fallback to the previous one if the endpoint does not support it.
//! Its messages are sent like every request of [`svc_sdk`], with the same credential, rate limit and
//! retry rules.
//!
//! # Examples
//!
//! ```no_run
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), svc_mcp::McpError> {
//! let client = svc_mcp::McpClient::from_env().await?;
//! let result = client
//!     .call("image_generate", json!({"prompt": "a red fox", "max_spend_usd": 0.05}))
//!     .await?;
//! println!("{:?}", result.structured);
//! # Ok(())
//! # }
//! ```
//!
//! With a [`journal`](svc_sdk::journal), a call of a paid tool is paid for once, whatever crashes:
//! [`McpClient::submit`].
//!
//! [`rmcp`]: https://docs.rs/rmcp

mod client;
mod error;
mod response;
mod submit;
mod tool;
mod transport;

pub use self::client::McpClient;
pub use self::error::{McpError, ToolError};
pub use self::submit::ToolCall;
pub use self::tool::{ResourceLink, Tool, ToolResult};

#[cfg(test)]
mod tests;
