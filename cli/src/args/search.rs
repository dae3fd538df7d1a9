//! Flags of search commands.

use clap::Args;
use svc_sdk::types::SearchQuery;

use super::ListArgs;

/// Flags of a search command.
#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Search query
    #[arg(value_name = "QUERY")]
    query: String,
    #[command(flatten)]
    pub(crate) list: ListArgs,
}

impl SearchArgs {
    /// Returns the request body. The limit is a field of it.
    pub(crate) fn body(&self) -> SearchQuery {
        let search = SearchQuery::new(self.query.as_str());
        match self.list.page.limit {
            Some(limit) => search.limit(limit.get()),
            None => search,
        }
    }
}
