//! Colors of statuses.

use console::Style;

/// Returns the style of a status, or `None` for one that is shown as other text.
pub(super) fn status_style(status: &str) -> Option<Style> {
    let style = Style::new();
    Some(match status {
        "completed" | "succeeded" | "delivered" | "paid" | "active" | "ok" => style.green(),
        "failed" | "error" => style.red(),
        "canceled" | "skipped" | "expired" | "refused" | "abandoned" | "open" | "warning" => {
            style.yellow()
        }
        "processing" | "running" | "pending" => style.cyan(),
        _ => return None,
    })
}
