//! The addresses that host names resolve to, as far as they were set.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A host name and the address that it resolves to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostAddress {
    /// The host name.
    pub host: String,
    /// The address.
    pub address: IpAddr,
}

/// The addresses of host names, in lower case and without a trailing dot.
///
/// The mock makes no DNS requests. A name whose address was not set counts as public unless it is
/// `localhost`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct HostAddresses(BTreeMap<String, IpAddr>);

impl HostAddresses {
    pub(crate) fn set(&mut self, host: &str, address: IpAddr) {
        self.0.insert(normalized(host), address);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn get(&self, host: &str) -> Option<IpAddr> {
        self.0.get(&normalized(host)).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = HostAddress> {
        self.0.iter().map(|(host, address)| HostAddress { host: host.clone(), address: *address })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn normalized(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}
