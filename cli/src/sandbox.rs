//! `--sandbox`: the service in miniature, inside this process. It costs nothing and needs nothing.

use std::sync::Arc;

use svc_mock_server::{DEVELOPER_API_KEY, InProcess, OPEN_API_KEY, Setup, Speed};
use svc_sdk::Secret;
use svc_sdk::transport::Transport;

use crate::args::SurfaceChoice;
use crate::error::Failure;

/// A video of eight seconds' work is there in four: long enough to be watched.
const SPEED: &str = "2";

/// The mock of one run.
#[derive(Debug)]
pub(crate) struct Sandbox {
    mock: InProcess,
}

impl Sandbox {
    /// The owner in the paths of the compatibility aliases.
    pub(crate) const FIRST_PARTY_OWNER: &str = "studio";

    /// A fresh one.
    pub(crate) fn start() -> Self {
        let speed: Speed = SPEED.parse().unwrap_or_default();
        Self {
            mock: InProcess::new(Setup::default().speed(speed)),
        }
    }

    /// How it is reached.
    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.mock.clone())
    }

    /// A surface's URL.
    pub(crate) fn base_url(&self, surface: SurfaceChoice) -> String {
        match surface {
            SurfaceChoice::Open => self.mock.base_url().to_owned(),
            SurfaceChoice::Developer => self.mock.developer_base_url().to_owned(),
        }
    }

    /// The MCP endpoint's URL.
    #[cfg(feature = "mcp")]
    pub(crate) fn mcp_url(&self) -> String {
        self.mock.mcp_url().to_owned()
    }

    /// A surface's key.
    pub(crate) fn key(surface: SurfaceChoice) -> Result<Secret, Failure> {
        let key = match surface {
            SurfaceChoice::Open => OPEN_API_KEY,
            SurfaceChoice::Developer => DEVELOPER_API_KEY,
        };
        Secret::new(key).map_err(|error| Failure::other(error.to_string()))
    }
}
