//! The layout of tables: which columns are shown, and how wide they are.

use super::column::{Column, ColumnKind};

/// The width to which a column of text is truncated at most.
const MIN_TEXT_WIDTH: usize = 8;

/// Returns the width of each column, or `None` for those that are dropped.
///
/// Text is truncated first. If that is not enough, columns are dropped: text before identifiers,
/// these before numbers and times, the status last, and of equals the rightmost. What then fits is
/// shown again.
pub(super) fn fit(
    columns: &[Column],
    natural_widths: &[usize],
    gap: usize,
    available: usize,
) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural_widths.iter().copied().map(Some).collect();
    while minimum(columns, &widths, gap) > available {
        let candidates = columns.iter().zip(&mut widths);
        let dropped = candidates
            .filter(|(_, width)| width.is_some())
            .filter_map(|(column, width)| Some((column.kind.drop_rank()?, width)))
            .max_by_key(|(rank, _)| *rank);
        match dropped {
            Some((_, width)) => *width = None,
            None => break,
        }
    }
    for rank in 1..=ColumnKind::MAX_DROP_RANK {
        for (index, column) in columns.iter().enumerate() {
            let mut wider = widths.clone();
            let (Some(width), Some(natural)) = (wider.get_mut(index), natural_widths.get(index))
            else {
                continue;
            };
            if width.is_none() && column.kind.drop_rank() == Some(rank) {
                *width = Some(*natural);
                if minimum(columns, &wider, gap) <= available {
                    widths = wider;
                }
            }
        }
    }
    while total(widths.iter().copied(), gap) > available {
        let texts = columns.iter().zip(&mut widths);
        let widest = texts
            .filter(|(column, _)| column.kind == ColumnKind::Text)
            .filter_map(|(_, width)| width.as_mut())
            .filter(|width| **width > MIN_TEXT_WIDTH)
            .max();
        match widest {
            Some(width) => *width -= 1,
            None => break,
        }
    }
    widths
}

/// Returns the width of the table when all text is truncated.
fn minimum(columns: &[Column], widths: &[Option<usize>], gap: usize) -> usize {
    let widths = columns.iter().zip(widths).map(|(column, width)| {
        let width = (*width)?;
        Some(match column.kind {
            ColumnKind::Text => width.min(MIN_TEXT_WIDTH),
            _ => width,
        })
    });
    total(widths, gap)
}

fn total(widths: impl Iterator<Item = Option<usize>>, gap: usize) -> usize {
    let (count, sum) = widths
        .flatten()
        .fold((0_usize, 0_usize), |(count, sum), width| {
            (count + 1, sum + width)
        });
    sum + gap * count.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(available: usize) -> Vec<Option<usize>> {
        let columns = [
            Column::required("id"),
            Column::status("status"),
            Column::text("model"),
            Column::text("prompt"),
            Column::number("price"),
            Column::whole("job"),
        ];
        fit(&columns, &[12, 9, 7, 40, 6, 12], 2, available)
    }

    #[test]
    fn text_is_truncated_before_columns_are_dropped() {
        let all = [12, 9, 7, 40, 6, 12].map(Some);
        assert_eq!(fitted(96), all);
        assert_eq!(fitted(90), [12, 9, 7, 34, 6, 12].map(Some));
        assert_eq!(fitted(64), [12, 9, 7, 8, 6, 12].map(Some));
    }

    #[test]
    fn columns_are_dropped_by_rank_and_from_the_right() {
        let (id, status, price, job) = (Some(12), Some(9), Some(6), Some(12));
        assert_eq!(fitted(63), [id, status, Some(7), None, price, job]);
        assert_eq!(fitted(53), [id, status, None, None, price, job]);
        assert_eq!(fitted(39), [id, status, None, None, price, None]);
        assert_eq!(fitted(30), [id, status, None, None, None, None]);
        assert_eq!(fitted(19), [id, None, None, None, None, None]);
        assert_eq!(fitted(5), [id, None, None, None, None, None]);
    }

    #[test]
    fn text_is_shown_again_if_a_wider_column_was_dropped() {
        let columns = [
            Column::required("id"),
            Column::text("name"),
            Column::whole("url"),
        ];
        assert_eq!(
            fit(&columns, &[12, 9, 80], 2, 80),
            [Some(12), Some(9), None]
        );
    }
}
