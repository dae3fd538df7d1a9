//! Commands that take one id or several.

use futures_util::StreamExt as _;
use futures_util::stream;
use serde::Serialize;

use crate::error::Failure;
use crate::follow::several;
use crate::output::object::Shown;
use crate::output::{ObjectKind, Table};
use crate::session::Session;

/// The number of requests that are sent at the same time.
const MAX_CONCURRENT: usize = 8;

/// Does something to each id, and prints what that returns: one object for one id, and for several an
/// array in their order, in which a failure is `{"id", "error"}`. All are tried, and the first failure
/// decides the exit code.
pub(super) async fn print_each<T: Serialize>(
    session: &Session,
    kind: ObjectKind,
    ids: Vec<String>,
    act: impl AsyncFn(&str) -> Result<T, Failure>,
    table: impl FnOnce(&T) -> Table,
) -> Result<(), Failure> {
    if let [id] = ids.as_slice() {
        return session.printer.print_object(kind, &act(id).await?, table);
    }
    let results: Vec<_> =
        stream::iter(&ids).map(|id| act(id)).buffered(MAX_CONCURRENT).collect().await;
    let (mut shown, mut failures) = (Vec::new(), Vec::new());
    for (id, result) in ids.iter().zip(results) {
        match result {
            Ok(item) => shown.push(Shown::new(kind, &item)),
            Err(failure) => {
                shown.push(Shown::failed(id, &failure));
                failures.push(failure);
            }
        }
    }
    session.printer.print_list(&shown, several)?;
    let (count, total) = (failures.len(), ids.len());
    Failure::first_of(format!("{count} of {total} {}s failed", kind.as_str()), failures)
        .map_or(Ok(()), Err)
}
