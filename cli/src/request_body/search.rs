//! The body of the searches.

use std::num::NonZero;

use svc_sdk::types::SearchQuery;

use super::RequestBody;
use crate::args::SearchArgs;
use crate::error::Failure;

/// Returns the body of a search. The limit is a field of it.
pub(crate) fn search_query(args: &SearchArgs) -> Result<SearchQuery, Failure> {
    let (query, fields) = RequestBody::read(&args.body)?
        .with("query", args.query.clone())?
        .with("limit", args.list.page.limit.map(NonZero::get))?
        .finish_with_text("query")?;
    let body = SearchQuery::new(query);
    Ok(fields
        .into_iter()
        .fold(body, |body, (name, value)| body.field(name, value)))
}
