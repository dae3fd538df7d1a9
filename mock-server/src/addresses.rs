//! The addresses of a running mock and the environment variables for its clients.

use crate::engine::Hosts;

/// The seeded key of the open surface.
pub const OPEN_API_KEY: &str = "svc_open_demo";
/// The seeded key of the developer surface with all scopes.
pub const DEVELOPER_API_KEY: &str = "svc_dev_demo";
/// The workspace of both seeded keys.
pub const DEMO_WORKSPACE: &str = "ws_demo";

/// The base URLs of a mock's hosts, without a trailing slash.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Addresses {
    pub(crate) hosts: Hosts,
    pub(crate) control: String,
}

impl Addresses {
    /// Creates addresses from base URLs. The MCP endpoint is `/mcp` of the developer host.
    pub(crate) fn new([open, developer, media, control]: [String; 4]) -> Self {
        let mcp = format!("{developer}/mcp");
        Self { hosts: Hosts { open, developer, media, mcp, ..Hosts::default() }, control }
    }

    pub(crate) fn at_speed(mut self, speed: f64) -> Self {
        self.hosts.speed = speed;
        self
    }

    /// Returns the host name of the control API.
    pub(crate) fn control_host(&self) -> Option<String> {
        let url = url::Url::parse(&self.control).ok()?;
        url.host_str().map(str::to_owned)
    }

    /// Returns the environment variables that configure clients to use the mock.
    pub(crate) fn environment(&self, webhook_secret: String) -> [(&'static str, String); 8] {
        let Hosts { open, developer, media, mcp, .. } = self.hosts.clone();
        [
            ("SVC_BASE_URL", open),
            ("SVC_DEVELOPER_BASE_URL", developer),
            ("SVC_MCP_URL", mcp),
            ("SVC_MEDIA_URL", media),
            ("SVC_CONTROL_URL", self.control.clone()),
            ("SVC_OPEN_API_KEY", OPEN_API_KEY.to_owned()),
            ("SVC_DEVELOPER_API_KEY", DEVELOPER_API_KEY.to_owned()),
            ("SVC_WEBHOOK_SECRET", webhook_secret),
        ]
    }
}
