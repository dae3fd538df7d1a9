//! The account.

use super::resource;
use crate::call::Call;
use crate::contract::Operation;
use crate::surface::Developer;
use crate::types::{Balance, Me, Page, UsageEntry};

resource! {
    /// The API key, its owner and workspace, and what was spent.
    Account, /// The API key, the balance and the usage ledger.
    account of Developer
}

impl Account<'_> {
    /// Reads the API key, its owner and its workspace: `GET /v1/me`.
    pub fn me(&self) -> Call<Me> {
        Call::new::<&str>(&self.client.core, Operation::Me, &[])
    }

    /// Reads the balance: `GET /v1/balance`.
    pub fn balance(&self) -> Call<Balance> {
        Call::new::<&str>(&self.client.core, Operation::Balance, &[])
    }

    /// Lists the entries of the usage ledger, newest first: `GET /v1/usage`.
    pub fn usage(&self) -> Call<Page<UsageEntry>> {
        Call::list::<&str>(&self.client.core, Operation::Usage, &[])
    }
}
