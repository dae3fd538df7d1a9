//! Lists that are not read from the service.

use super::continuation::Continuation;
use crate::args::PageArgs;
use crate::error::Failure;

/// Selects the items after the cursor, up to a number. The cursor is the key of an item.
///
/// # Errors
///
/// Returns an error if no item has the cursor as its key.
pub(crate) fn select<T>(
    mut items: Vec<T>,
    page: &PageArgs,
    max_items: Option<u64>,
    key: impl Fn(&T) -> &str,
) -> Result<(Vec<T>, Continuation), Failure> {
    if let Some(cursor) = &page.cursor {
        let position = items.iter().position(|item| key(item) == cursor);
        let position = position.ok_or_else(|| {
            Failure::usage(format!(
                "invalid --cursor `{cursor}`: expected one that this list has printed"
            ))
        })?;
        items.drain(..=position);
    }
    let max_items = max_items.and_then(|max_items| usize::try_from(max_items).ok());
    let Some(max_items) = max_items.filter(|max_items| items.len() > *max_items) else {
        return Ok((items, Continuation::None));
    };
    items.truncate(max_items);
    let cursor = items.last().map(|item| key(item).to_owned());
    Ok((
        items,
        cursor.map_or(Continuation::WithoutCursor, Continuation::Cursor),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let select = |cursor: Option<&str>, max_items| {
            let page = PageArgs {
                cursor: cursor.map(str::to_owned),
                ..PageArgs::default()
            };
            select(vec!["a", "b", "c"], &page, max_items, |it| it)
        };
        let cursor = |name: &str| Continuation::Cursor(name.to_owned());
        assert_eq!(
            select(None, Some(2)).unwrap(),
            (vec!["a", "b"], cursor("b"))
        );
        assert_eq!(
            select(Some("b"), Some(2)).unwrap(),
            (vec!["c"], Continuation::None)
        );
        assert_eq!(
            select(Some("c"), None).unwrap(),
            (vec![], Continuation::None)
        );
        assert_eq!(select(Some("x"), None).unwrap_err().exit().code(), 2);
    }
}
