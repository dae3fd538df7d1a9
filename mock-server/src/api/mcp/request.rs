//! Requests to the MCP endpoint.

use crate::engine::keys::ApiKey;
use crate::engine::{Call, Hosts, State};

/// A request that passed the checks, with the key of its caller.
pub(in crate::api) struct McpRequest<'a> {
    pub(in crate::api) state: &'a mut State,
    pub(in crate::api) hosts: &'a Hosts,
    pub(in crate::api) call: &'a Call,
    pub(in crate::api) caller: &'a ApiKey,
    pub(in crate::api) request_id: &'a str,
}
