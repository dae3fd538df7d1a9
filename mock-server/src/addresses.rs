//! The addresses of a running mock and the environment variables for its clients.

use std::fmt;
use std::str::FromStr;

use crate::engine::{Hosts, PublicSurface};

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
    /// The names by which the control port and the receivers of webhooks may be addressed, beside
    /// those of this machine.
    pub(crate) allowed_hosts: Vec<String>,
}

impl Addresses {
    /// Creates addresses from base URLs. The MCP endpoint is `/mcp` of the developer host.
    pub(crate) fn new([open, developer, media, control]: [String; 4]) -> Self {
        let mcp = format!("{developer}/mcp");
        let hosts = Hosts { open, developer, media, mcp, ..Hosts::default() };
        Self { hosts, control, allowed_hosts: Vec::new() }
    }

    pub(crate) fn at_speed(mut self, speed: f64) -> Self {
        self.hosts.speed = speed;
        self
    }

    /// Returns the names that the control port accepts beside loopback names.
    pub(crate) fn control_hosts(&self) -> Vec<String> {
        let url = url::Url::parse(&self.control).ok();
        let own = url.and_then(|url| url.host_str().map(str::to_owned));
        self.allowed_hosts.iter().cloned().chain(own).collect()
    }

    /// Replaces URLs by those under which clients reach the mock.
    #[cfg(feature = "serve")]
    pub(crate) fn published(mut self, urls: &[PublicUrl]) -> Self {
        for PublicUrl { surface, url } in urls {
            let text = url.as_str().trim_end_matches('/').to_owned();
            match surface {
                None => {
                    let urls = [0, 1, 2, 3].map(|offset| with_next_port(url, offset));
                    let allowed_hosts = std::mem::take(&mut self.allowed_hosts);
                    self = Self { allowed_hosts, ..Self::new(urls) };
                }
                Some(PublicSurface::Open) => self.hosts.open = text,
                Some(PublicSurface::Developer) => {
                    self.hosts.mcp = format!("{text}/mcp");
                    self.hosts.developer = text;
                }
                Some(PublicSurface::Mcp) => self.hosts.mcp = text,
                Some(PublicSurface::Media) => self.hosts.media = text,
                Some(PublicSurface::Control) => self.control = text,
            }
        }
        self
    }

    /// Returns the same addresses with another host name.
    #[cfg(feature = "serve")]
    pub(crate) fn with_host(&self, name: &str) -> Self {
        let renamed = |text: &String| {
            let url = url::Url::parse(text).ok().and_then(|mut url| {
                url.set_host(Some(name)).ok()?;
                Some(url.as_str().trim_end_matches('/').to_owned())
            });
            url.unwrap_or_else(|| text.clone())
        };
        let Hosts { open, developer, media, mcp, speed } = &self.hosts;
        let hosts = Hosts {
            open: renamed(open),
            developer: renamed(developer),
            media: renamed(media),
            mcp: renamed(mcp),
            speed: *speed,
        };
        Self { hosts, control: renamed(&self.control), allowed_hosts: self.allowed_hosts.clone() }
    }

    /// Returns the environment variables that configure clients to use the mock with these keys.
    pub(crate) fn environment(
        &self,
        open_key: &str,
        developer_key: &str,
        webhook_secret: String,
    ) -> [(&'static str, String); 8] {
        let Hosts { open, developer, media, mcp, .. } = self.hosts.clone();
        [
            ("SVC_BASE_URL", open),
            ("SVC_DEVELOPER_BASE_URL", developer),
            ("SVC_MCP_URL", mcp),
            ("SVC_MEDIA_URL", media),
            ("SVC_CONTROL_URL", self.control.clone()),
            ("SVC_OPEN_API_KEY", open_key.to_owned()),
            ("SVC_DEVELOPER_API_KEY", developer_key.to_owned()),
            ("SVC_WEBHOOK_SECRET", webhook_secret),
        ]
    }
}

/// A URL under which clients reach the mock, or one of its surfaces, such as
/// `media=https://media.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    /// The surface; `None` for the open surface, whose next three ports are the others.
    surface: Option<PublicSurface>,
    url: url::Url,
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let named = text.split_once('=').filter(|(name, _)| !name.contains(':'));
        let (surface, url) = match named {
            Some((name, url)) => {
                let surface = PublicSurface::from_name(name);
                (Some(surface.ok_or_else(|| InvalidPublicUrl(text.to_owned()))?), url)
            }
            None => (None, text),
        };
        let url = url::Url::parse(url).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.has_host()
        });
        let url = url.ok_or_else(|| InvalidPublicUrl(text.to_owned()))?;
        Ok(Self { surface, url })
    }
}

/// The error returned when a text is not a valid [`PublicUrl`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPublicUrl(String);

impl fmt::Display for InvalidPublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let surfaces = PublicSurface::NAMES.join(", ");
        write!(
            f,
            "invalid URL `{}`: expected URL or SURFACE=URL, where SURFACE is one of {surfaces}",
            self.0
        )
    }
}

impl std::error::Error for InvalidPublicUrl {}

/// Returns a URL whose port is so many higher.
#[cfg(feature = "serve")]
fn with_next_port(url: &url::Url, offset: u16) -> String {
    let mut url = url.clone();
    let port = url.port_or_known_default().and_then(|port| port.checked_add(offset));
    if offset > 0 {
        // An HTTP URL has a host, so that its port can be set.
        let _ = url.set_port(port);
    }
    url.as_str().trim_end_matches('/').to_owned()
}
