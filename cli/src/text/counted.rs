//! Numbers of things.

/// Returns a number with its noun: `1 item`, `3 items`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}
