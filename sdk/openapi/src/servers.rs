//! The base URLs of a deployment.

use serde_json::{Value, json};
use svc_sdk::contract::Surface;

/// The base URLs of a deployment, which become the document's `servers`.
///
/// The default URLs are placeholders that do not resolve. Use them for a document that is only
/// compared with another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Servers {
    /// The base URL of the open surface.
    pub open: String,
    /// The base URL of the developer surface.
    pub developer: String,
    /// The URL of the MCP endpoint.
    pub mcp: String,
}

impl Servers {
    /// Creates the servers of a deployment from their base URLs.
    #[must_use]
    pub fn new(
        open: impl Into<String>,
        developer: impl Into<String>,
        mcp: impl Into<String>,
    ) -> Self {
        Self { open: open.into(), developer: developer.into(), mcp: mcp.into() }
    }

    pub(crate) fn of_surface(&self, surface: Surface) -> Vec<Value> {
        let open = || json!({"url": self.open, "description": "The open surface."});
        let developer = || json!({"url": self.developer, "description": "The developer surface."});
        match surface {
            Surface::Open => vec![open()],
            Surface::Developer => vec![developer()],
            Surface::Mcp => {
                let (base, _) = self.split_mcp();
                vec![json!({"url": base, "description": "The host of the MCP endpoint."})]
            }
            _ => vec![open(), developer()],
        }
    }

    /// Splits the URL of the MCP endpoint into its base and its last path segment.
    pub(crate) fn split_mcp(&self) -> (&str, String) {
        match self.mcp.rsplit_once('/') {
            Some((base, last)) => (base, format!("/{last}")),
            None => (&self.mcp, "/".to_owned()),
        }
    }
}

impl Default for Servers {
    fn default() -> Self {
        Self::new(
            "https://open.svc.invalid",
            "https://developer.svc.invalid",
            "https://developer.svc.invalid/mcp",
        )
    }
}
