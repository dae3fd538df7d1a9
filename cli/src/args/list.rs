//! Flags of commands that list something.

use clap::Args;

use super::{Pair, headings};

/// The flag for query parameters that have no flag of their own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QueryArgs {
    /// Any other query parameter; repeatable
    #[arg(short, long, value_name = "KEY=VALUE", help_heading = headings::FILTERS)]
    query: Vec<Pair>,
}

/// Flags of a list whose length can be limited.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    /// Maximum number of items
    #[arg(long, value_name = "N", help_heading = headings::PAGES)]
    limit: Option<u64>,
    #[command(flatten)]
    query: QueryArgs,
}

impl QueryArgs {
    /// Returns the names and values of the parameters.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.query.iter();
        pairs.map(|pair| (pair.name.as_str(), pair.value.as_str()))
    }
}

impl ListArgs {
    /// Adds the query parameters to a request.
    pub(crate) fn apply<T>(&self, call: svc_sdk::Call<T>) -> svc_sdk::Call<T> {
        let call = match self.limit {
            Some(limit) => call.query("limit", limit),
            None => call,
        };
        let pairs = self.query.pairs();
        pairs.fold(call, |call, (name, value)| call.query(name, value))
    }
}
