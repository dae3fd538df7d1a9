//! Pages of a list: how long one is, and where the next one starts.

use super::api_error::ApiError;
use super::request::Request;

/// How many items a page has at most, and where the request does not say: a client that knows of
/// no pages sees as many as there may be.
const MAX_PAGE_SIZE: usize = 1000;

/// The query parameter `limit`.
pub(super) fn limit(request: &Request<'_>) -> Result<usize, ApiError> {
    let Some(text) = request.parameter("limit")? else {
        return Ok(MAX_PAGE_SIZE);
    };
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let limit = digits.then(|| text.parse().ok()).flatten();
    limit
        .filter(|limit| (1..=MAX_PAGE_SIZE).contains(limit))
        .ok_or_else(|| {
            ApiError::field(
                "limit",
                format!("must be an integer from 1 to {MAX_PAGE_SIZE}"),
            )
        })
}

/// The first `limit` items; and the last of them, where the list goes on after it.
pub(super) fn page<T: Copy>(items: impl Iterator<Item = T>, limit: usize) -> (Vec<T>, Option<T>) {
    let mut page: Vec<T> = items.take(limit.saturating_add(1)).collect();
    let more = page.len() > limit;
    page.truncate(limit);
    let last = page.last().copied().filter(|_| more);
    (page, last)
}

/// The complaint about a cursor that no page gave.
pub(super) fn invalid_cursor() -> ApiError {
    ApiError::field("cursor", "is not one that this list gave")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_where_the_next_one_starts() {
        let items = [1, 2, 3];
        let page = |limit| page(items.iter(), limit);
        assert_eq!(page(2), (vec![&1, &2], Some(&2)));
        assert_eq!(page(3), (vec![&1, &2, &3], None));
        assert_eq!(page(9).1, None);
    }
}
