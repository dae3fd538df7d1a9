//! Columns of tables.

/// A column of a table: its name, how its cells are shown, and what happens to it on a narrow
/// terminal.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
}

/// What a column contains.
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
    /// A point in time.
    Time,
    /// Text, which is truncated before a column is dropped.
    Text,
}

impl Column {
    /// Creates a column that is neither dropped nor truncated, such as the id or the path of a file.
    pub(crate) fn required(name: &str) -> Self {
        Self::new(name, ColumnKind::Required)
    }

    /// Creates a column of identifiers, paths or URLs, which are dropped rather than truncated.
    pub(crate) fn whole(name: &str) -> Self {
        Self::new(name, ColumnKind::Whole)
    }

    /// Creates a column of statuses, which are colored.
    pub(crate) fn status(name: &str) -> Self {
        Self::new(name, ColumnKind::Status)
    }

    /// Creates a column of numbers or amounts, aligned right.
    pub(crate) fn number(name: &str) -> Self {
        Self::new(name, ColumnKind::Number)
    }

    /// Creates a column of points in time.
    pub(crate) fn time(name: &str) -> Self {
        Self::new(name, ColumnKind::Time)
    }

    /// Creates a column of text, which may be truncated.
    pub(crate) fn text(name: &str) -> Self {
        Self::new(name, ColumnKind::Text)
    }

    fn new(name: &str, kind: ColumnKind) -> Self {
        let name = name.to_uppercase();
        Self { name, kind }
    }
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Self::text(name)
    }
}

impl ColumnKind {
    /// The rank of the columns that are dropped first.
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
