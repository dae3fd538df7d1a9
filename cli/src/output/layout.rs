//! The columns of tables: which are shown, and how wide they are.

const MIN_TEXT_WIDTH: usize = 8;

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(super) name: String,
    /// The path of the field, unless the cells are given.
    pub(super) path: String,
    pub(super) kind: ColumnKind,
    /// Whether it is left out if all its cells are empty.
    pub(super) is_optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// The identifier of the row, or where its content is. Neither dropped nor truncated.
    Required,
    /// An identifier, path or URL that is dropped rather than truncated.
    Whole,
    /// A status, which is colored.
    Status,
    /// A number or an amount, aligned right.
    Number,
    Time,
    /// Text, which is truncated before a column is dropped.
    Text,
}

pub(crate) fn required(name: &str) -> Column {
    Column::new(name, ColumnKind::Required)
}

/// A column of identifiers, paths or URLs, which are dropped rather than truncated.
pub(crate) fn whole(name: &str) -> Column {
    Column::new(name, ColumnKind::Whole)
}

pub(crate) fn status(name: &str) -> Column {
    Column::new(name, ColumnKind::Status)
}

pub(crate) fn number(name: &str) -> Column {
    Column::new(name, ColumnKind::Number)
}

pub(crate) fn time(name: &str) -> Column {
    Column::new(name, ColumnKind::Time)
}

pub(crate) fn cut(name: &str) -> Column {
    Column::new(name, ColumnKind::Text)
}

impl Column {
    fn new(name: &str, kind: ColumnKind) -> Self {
        let (name, path) = name.split_once('=').unwrap_or((name, name));
        Self { name: name.to_uppercase(), path: path.to_owned(), kind, is_optional: false }
    }

    pub(crate) fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        cut(name)
    }
}

impl ColumnKind {
    pub(super) const MAX_DROP_RANK: u8 = 4;

    /// Returns how early the column is dropped on a narrow terminal, or `None` for never.
    pub(super) const fn drop_rank(self) -> Option<u8> {
        match self {
            Self::Required => None,
            Self::Status => Some(1),
            Self::Number | Self::Time => Some(2),
            Self::Whole => Some(3),
            Self::Text => Some(Self::MAX_DROP_RANK),
        }
    }
}

/// Returns the width of each column, or `None` for those that are dropped or had none.
///
/// Text is truncated first. If that is not enough, columns are dropped: text before identifiers,
/// these before numbers and times, the status last, and of equals the rightmost. What then fits is
/// shown again.
pub(super) fn fit(
    columns: &[Column],
    natural_widths: &[Option<usize>],
    gap: usize,
    available: usize,
) -> Vec<Option<usize>> {
    let mut widths = natural_widths.to_vec();
    while minimum_width(columns, &widths, gap) > available {
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
            let (Some(width), Some(Some(natural))) =
                (wider.get_mut(index), natural_widths.get(index))
            else {
                continue;
            };
            if width.is_none() && column.kind.drop_rank() == Some(rank) {
                *width = Some(*natural);
                if minimum_width(columns, &wider, gap) <= available {
                    widths = wider;
                }
            }
        }
    }
    while total_width(widths.iter().copied(), gap) > available {
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

fn minimum_width(columns: &[Column], widths: &[Option<usize>], gap: usize) -> usize {
    let widths = columns.iter().zip(widths).map(|(column, width)| {
        let width = (*width)?;
        Some(match column.kind {
            ColumnKind::Text => width.min(MIN_TEXT_WIDTH),
            _ => width,
        })
    });
    total_width(widths, gap)
}

fn total_width(widths: impl Iterator<Item = Option<usize>>, gap: usize) -> usize {
    let (count, sum) =
        widths.flatten().fold((0_usize, 0_usize), |(count, sum), width| (count + 1, sum + width));
    sum + gap * count.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(available: usize) -> Vec<Option<usize>> {
        let columns = [
            required("id"),
            status("status"),
            cut("model"),
            cut("prompt"),
            number("price"),
            whole("job"),
        ];
        fit(&columns, &[12, 9, 7, 40, 6, 12].map(Some), 2, available)
    }

    #[test]
    fn columns_that_are_not_shown_take_no_space() {
        let widths =
            fit(&[required("id"), whole("job"), cut("label")], &[Some(12), None, Some(40)], 2, 54);
        assert_eq!(widths, [Some(12), None, Some(40)]);
    }

    #[test]
    fn text_is_truncated_and_then_columns_are_dropped_by_rank_and_from_the_right() {
        let (id, status, price, job) = (Some(12), Some(9), Some(6), Some(12));
        let rows = [
            (96, [id, status, Some(7), Some(40), price, job]),
            (90, [id, status, Some(7), Some(34), price, job]),
            (64, [id, status, Some(7), Some(8), price, job]),
            (63, [id, status, Some(7), None, price, job]),
            (53, [id, status, None, None, price, job]),
            (39, [id, status, None, None, price, None]),
            (30, [id, status, None, None, None, None]),
            (19, [id, None, None, None, None, None]),
            (5, [id, None, None, None, None, None]),
        ];
        for (available, expected) in rows {
            assert_eq!(fitted(available), expected, "{available}");
        }
    }

    #[test]
    fn text_is_shown_again_if_a_wider_column_was_dropped() {
        let columns = [required("id"), cut("name"), whole("url")];
        assert_eq!(fit(&columns, &[12, 9, 80].map(Some), 2, 80), [Some(12), Some(9), None]);
    }
}
