//! Queries of the dashboard and the event stream.

use std::sync::Arc;

use super::Service;
use crate::addresses::Addresses;
use crate::engine::Hosts;
use crate::mock_state::MockState;

impl Service {
    pub(crate) fn read<T>(&self, read: impl FnOnce(&mut MockState) -> T) -> T {
        self.lock().with_addresses(self.shown_addresses.as_deref(), read)
    }

    /// Returns the same mock, which shows other addresses if there are any.
    pub(crate) fn showing(&self, addresses: Option<Addresses>) -> Self {
        Self { shown_addresses: addresses.map(Arc::new), ..self.clone() }
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.shown_addresses.as_deref().unwrap_or(&self.shared.addresses).hosts
    }
}
