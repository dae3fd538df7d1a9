//! Pagination of lists by `limit` and `cursor`.

use super::api_error::ApiError;
use super::request::Request;

/// The maximum number of items on a page. It is also the default, so that clients without
/// pagination get as many items as possible.
const MAX_PAGE_SIZE: usize = 1000;

pub(super) fn limit(request: &Request<'_>) -> Result<usize, ApiError> {
    let Some(text) = request.parameter("limit")? else { return Ok(MAX_PAGE_SIZE) };
    // `parse` would accept a leading `+`.
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let limit = text.parse().ok().filter(|_| is_decimal);
    limit.filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit)).ok_or_else(|| {
        ApiError::field("limit", format!("must be an integer from 1 to {MAX_PAGE_SIZE}"))
    })
}

/// Returns the first `limit` items and, if more follow, the last of them, which is the cursor of
/// the next page.
pub(super) fn page<T: Copy>(items: impl Iterator<Item = T>, limit: usize) -> (Vec<T>, Option<T>) {
    let mut page: Vec<T> = items.take(limit.saturating_add(1)).collect();
    let has_more = page.len() > limit;
    page.truncate(limit);
    let last = page.last().copied().filter(|_| has_more);
    (page, last)
}

/// Returns the number of items to skip in a list with these IDs, according to the query parameter
/// `cursor`.
pub(super) fn offset<'a>(
    request: &Request<'_>,
    mut ids: impl Iterator<Item = &'a str>,
) -> Result<usize, ApiError> {
    let last = before(request, |cursor| ids.position(|id| id == cursor))?;
    Ok(last.map_or(0, |last| last + 1))
}

/// Returns the number of the item that the query parameter `cursor` names.
pub(super) fn before(
    request: &Request<'_>,
    number: impl FnOnce(&str) -> Option<usize>,
) -> Result<Option<usize>, ApiError> {
    let cursor = request.parameter("cursor")?;
    cursor.map(|cursor| number(&cursor).ok_or_else(invalid_cursor)).transpose()
}

fn invalid_cursor() -> ApiError {
    ApiError::field("cursor", "is not a cursor of this list")
}
