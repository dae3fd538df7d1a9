//! The headings of options in the help, in the order in which a command shows them.

/// What to generate from: prompts, scripts, media, instructions.
pub(crate) const INPUT: &str = "Input";
/// How to generate it: the model, and properties of the result.
pub(crate) const GENERATION: &str = "Generation";
/// Which items of a list to show.
pub(crate) const FILTERS: &str = "Filters";
/// How many items of a list to show.
pub(crate) const PAGES: &str = "Pages";
/// What is downloaded, and where to.
pub(crate) const FILES: &str = "Files";
/// Whether, how long, and for what to wait.
pub(crate) const WAITING: &str = "Waiting";
/// What a request may cost.
pub(crate) const COST: &str = "Cost";
/// What happens if the same request is submitted again.
pub(crate) const REPETITION: &str = "Resuming and retries";
/// Where the request goes, and fields without a flag of their own.
pub(crate) const REQUEST: &str = "Request";
