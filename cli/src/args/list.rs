//! Flags of commands that list something.

use std::num::NonZeroU64;

use clap::Args;
use svc_sdk::Call;

use crate::args::{BodyArgs, Pair, headings};

/// The flag for query parameters that have no flag of their own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct QueryArgs {
    /// Any other query parameter; repeatable
    #[arg(
        long = "query",
        value_name = "KEY=VALUE",
        help_heading = headings::FILTERS
    )]
    parameters: Vec<Pair>,
}

/// Flags of a list: how many items, and from where.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PageArgs {
    /// Maximum number of items, over all pages [default: 50]
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        value_parser = parse_limit,
        conflicts_with = "all",
        help_heading = headings::PAGES
    )]
    pub(crate) limit: Option<NonZeroU64>,
    /// List all items
    #[arg(long, help_heading = headings::PAGES)]
    pub(crate) all: bool,
    /// Continue an earlier list, after the item that its message names
    #[arg(long, value_name = "CURSOR", help_heading = headings::PAGES)]
    pub(crate) cursor: Option<String>,
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) query: QueryArgs,
}

impl QueryArgs {
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.parameters.iter();
        pairs.map(|pair| (pair.name.as_str(), pair.value.as_str()))
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.pairs().any(|(known, _)| known == name)
    }

    pub(crate) fn apply<T>(&self, call: Call<T>) -> Call<T> {
        let pairs = self.pairs();
        pairs.fold(call, |call, (name, value)| call.query(name, value))
    }
}

impl PageArgs {
    const DEFAULT_LIMIT: u64 = 50;

    pub(crate) fn max_items(&self) -> Option<u64> {
        self.max_items_or(Some(Self::DEFAULT_LIMIT))
    }

    /// Returns the maximum number of items, or `None` for all, with another default.
    pub(crate) fn max_items_or(&self, default: Option<u64>) -> Option<u64> {
        match self.limit {
            Some(limit) => Some(limit.get()),
            None if self.all => None,
            None => default,
        }
    }
}

fn parse_limit(text: &str) -> Result<NonZeroU64, String> {
    let limit = text.parse();
    limit.map_err(|_| "expected an integer of at least 1".to_owned())
}

#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Search query
    #[arg(value_name = "QUERY", required_unless_present_any = ["params", "input"])]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    #[command(flatten)]
    pub(crate) body: BodyArgs,
}
