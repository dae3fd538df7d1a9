//! Addresses of Formats: an id, or a handle and a slug.

use svc_sdk::contract::Operation;
use svc_sdk::types::FormatRef;

/// Returns the operation that accepts this form of address, with its path segments.
pub(super) fn operation_of(
    format: &str,
    by_id: Operation,
    by_slug: Operation,
) -> (Operation, Vec<String>) {
    let reference = FormatRef::from(format);
    let (operation, segments) = reference.select_operation(by_id, by_slug);
    (operation, segments.into_iter().map(str::to_owned).collect())
}
