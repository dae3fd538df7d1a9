//! Client for the service's MCP endpoint.
//!
//! [`McpClient`] lists and calls the tools of the endpoint. The protocol is implemented by [`rmcp`]:
//! the current revision, with a fallback to the previous one if the endpoint does not support it.
//! Its messages are sent like every other request of this crate, with the same credential, rate
//! limit and retry rules.
//!
//! # Examples
//!
//! ```no_run
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), svc_sdk::mcp::McpError> {
//! let client = svc_sdk::mcp::McpClient::from_env().await?;
//! let result = client
//!     .call("image_generate", json!({"prompt": "a red fox", "max_spend_usd": 0.05}))
//!     .await?;
//! println!("{:?}", result.structured);
//! # Ok(())
//! # }
//! ```
//!
//! With a [`journal`](crate::journal), a call of a paid tool is paid for once, whatever crashes:
//! [`McpClient::submit`].
//!
//! [`rmcp`]: https://docs.rs/rmcp

mod client;
mod error;
mod receipt;
mod response;
mod submit;
mod tool;
mod transport;

pub use self::client::{McpClient, McpClientBuilder};
pub use self::error::{McpError, ToolError};
pub use self::submit::ToolCall;
pub use self::tool::{ResourceLink, Tool, ToolResult};

#[cfg(test)]
mod tests;
