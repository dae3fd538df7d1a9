//! Fields that all searches share: `query` and `limit`.

use super::api_error::ApiError;
use super::request::Request;
use crate::catalog_data;

/// The number of results if the request has no `limit`.
const DEFAULT_LIMIT: u64 = 10;
/// The maximum number of results.
const MAX_LIMIT: u64 = 50;

/// The body of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchQuery {
    text: String,
    pub(super) limit: usize,
}

/// Reads the body of a search.
pub(super) fn read_query(request: &Request<'_>) -> Result<SearchQuery, ApiError> {
    let fields = request.fields()?;
    fields.deny_unknown(|name| matches!(name, "query" | "limit"), "a search")?;
    let query = fields.non_blank_text("query")?;
    let query = query.ok_or_else(|| fields.error("query", "is required"))?;
    let limit = fields
        .integer("limit", 1..=MAX_LIMIT)?
        .unwrap_or(DEFAULT_LIMIT);
    Ok(SearchQuery {
        text: query.to_owned(),
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
    })
}

impl SearchQuery {
    /// Returns whether every word of the query occurs in one of these texts.
    pub(super) fn matches_all_words<'t>(
        &self,
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> bool {
        catalog_data::matches_all_words(&self.text, texts)
    }
}
