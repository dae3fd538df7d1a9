//! The problems of a manifest's lines, reported together.

use crate::error::Failure;
use crate::text::counted;

/// The maximum number of problems that are shown.
const MAX_SHOWN: usize = 10;

/// The problems so far: the first one as it is, and the texts of some others.
#[derive(Debug, Default)]
pub(super) struct Problems {
    first: Option<Failure>,
    others: Vec<String>,
    /// The number of problems that are not shown.
    hidden: usize,
}

impl Problems {
    pub(super) fn add(&mut self, problem: Failure) {
        if self.first.is_none() {
            self.first = Some(problem);
        } else if self.others.len() + 1 < MAX_SHOWN {
            self.others.push(problem.headline());
        } else {
            self.hidden += 1;
        }
    }

    /// Returns an error if there is a problem.
    pub(super) fn into_result(self) -> Result<(), Failure> {
        let Some(first) = self.first else { return Ok(()) };
        let failure = self.others.into_iter().fold(first, Failure::issue);
        Err(match self.hidden {
            0 => failure,
            count => failure.issue(format!("and {}", counted(count, "more problem"))),
        })
    }
}
