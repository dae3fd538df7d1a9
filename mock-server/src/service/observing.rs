//! Queries of the dashboard and the event stream.

use super::Service;
use crate::engine::Hosts;
use crate::mock_state::MockState;

impl Service {
    pub(crate) fn read<T>(&self, read: impl FnOnce(&mut MockState) -> T) -> T {
        read(&mut self.lock())
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.shared.addresses.hosts
    }
}
