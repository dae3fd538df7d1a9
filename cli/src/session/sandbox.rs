//! The sandbox: a mock of the service in this process.

use std::sync::Arc;

use svc_mock_server::{DEVELOPER_API_KEY, InProcess, OPEN_API_KEY, Setup, Speed};
use svc_sdk::ApiKey;
use svc_sdk::transport::Transport;

use crate::args::SurfaceChoice;
use crate::error::{Failure, Result};

/// Says why a job of an earlier command is missing in the sandbox.
pub(crate) const EMPTY_SANDBOX: &str = "each command with --sandbox starts with an empty mock; to \
    keep jobs between commands, run the mock in another terminal: svc mock serve";

/// At 2, a video takes about four seconds, so that its progress is visible.
const SPEED: &str = "2";

/// A mock of the service for one invocation of the program.
#[derive(Debug)]
pub(crate) struct Sandbox {
    mock: InProcess,
}

impl Sandbox {
    pub(crate) const FIRST_PARTY_OWNER: &str = "studio";

    pub(crate) fn start() -> Self {
        let speed: Speed = SPEED.parse().unwrap_or_default();
        Self { mock: InProcess::new(Setup::default().speed(speed)) }
    }

    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.mock.clone())
    }

    pub(crate) fn base_url(&self, surface: SurfaceChoice) -> String {
        match surface {
            SurfaceChoice::Open => self.mock.base_url().to_owned(),
            SurfaceChoice::Developer => self.mock.developer_base_url().to_owned(),
        }
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn mcp_url(&self) -> String {
        self.mock.mcp_url().to_owned()
    }

    pub(crate) fn webhook_secret(&self) -> String {
        self.mock.webhook_secret()
    }

    pub(crate) fn key(surface: SurfaceChoice) -> Result<ApiKey> {
        let key = match surface {
            SurfaceChoice::Open => OPEN_API_KEY,
            SurfaceChoice::Developer => DEVELOPER_API_KEY,
        };
        ApiKey::new(key).map_err(|error| Failure::other(error.to_string()))
    }
}
