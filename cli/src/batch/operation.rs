//! The operations that a batch submits.

use svc_sdk::contract::{Auth, Operation, Surface};

use crate::args::SurfaceChoice;
use crate::text::nearest;

/// Returns the surface whose key pays for an operation.
pub(super) fn surface_of(operation: Operation) -> SurfaceChoice {
    SurfaceChoice::of(operation.surface())
}

/// Returns the operations that submit a job or a run, and take no path segment. A top-up is paid for at
/// its checkout page, and is not part of a batch.
pub(super) fn operations() -> impl Iterator<Item = Operation> {
    let is_submit = |it: &Operation| {
        it.retry().sends_idempotency_key()
            && it.auth() == Auth::Key
            && it.placeholders().next().is_none()
            && matches!(it.surface(), Surface::Open | Surface::Developer)
            && !it.is_hidden()
            && *it != Operation::TopUpsCreate
    };
    Operation::ALL.iter().copied().filter(is_submit)
}

/// Returns whether the specification shows all fields of an operation's body. The others may have more.
pub(super) const fn has_specified_fields(operation: Operation) -> bool {
    use Operation::{AgentCompletionsCreate, ImageGenerate, VideoGenerate};

    matches!(operation, AgentCompletionsCreate | ImageGenerate | VideoGenerate)
}

/// Parses the name of an operation that a batch can submit.
pub(super) fn parse_operation(name: &str) -> Result<Operation, String> {
    operations().find(|operation| operation.name() == name).ok_or_else(|| {
        let names: Vec<_> = operations().map(Operation::name).collect();
        match nearest(name, names.iter().copied()) {
            Some(guess) => format!("invalid operation `{name}`: did you mean `{guess}`?"),
            None => format!("invalid operation `{name}`: expected one of {}", names.join(", ")),
        }
    })
}
