//! The service's tools over MCP, by the official `rmcp`.
//!
//! `rmcp` speaks the protocol (the current revision, and the one before where the endpoint knows no
//! newer one); what carries its messages is this crate's own [`Transport`](crate::transport), with
//! the same credential, rate limit and rules of repetition as every other call.
//!
//! ```no_run
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), svc_sdk::mcp::Error> {
//! let client = svc_sdk::mcp::Client::from_env().await?;
//! let made = client
//!     .call("image_generate", json!({"prompt": "a red fox", "max_spend_usd": 0.05}))
//!     .await?;
//! println!("{:?}", made.structured);
//! # Ok(())
//! # }
//! ```

mod carrier;
mod client;
mod error;
mod tool;

pub use self::client::{Builder, Client};
pub use self::error::{Error, ToolError};
pub use self::tool::{Link, Tool, ToolResult};
