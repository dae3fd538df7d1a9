//! Paths of the operations: which one a request addresses, and how its path is written.

use std::borrow::Cow;

use super::{Operation, Surface};

impl Operation {
    /// The operation of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// The operation that `method` and `path` address on `host`, with the decoded values of the
    /// template's placeholders.
    ///
    /// Where several templates fit, the one with the most literal segments wins:
    /// `/v1/formats/x/runs` always means the runs of the Format `x`.
    ///
    /// ```
    /// use svc_sdk::contract::{Operation, Surface};
    ///
    /// let (operation, segments) =
    ///     Operation::route(Surface::Open, "GET", "/v1/jobs/job_1/status").unwrap();
    /// assert_eq!(operation, Operation::JobsStatus);
    /// assert_eq!(segments, ["job_1"]);
    /// ```
    #[must_use]
    pub fn route(host: Surface, method: &str, path: &str) -> Option<(Self, Vec<String>)> {
        Self::ALL
            .iter()
            .copied()
            .filter(|op| op.surface().includes(host) && op.method().as_str() == method)
            .filter_map(|op| {
                let (literals, values) = op.match_path(path)?;
                Some((literals, op, values))
            })
            .max_by_key(|(literals, ..)| *literals)
            .map(|(_, op, values)| (op, values))
    }

    /// Whether `path` fits a template of `host` with any method, which tells `404` from `405`.
    #[must_use]
    pub fn path_is_known(host: Surface, path: &str) -> bool {
        Self::ALL
            .iter()
            .any(|op| op.surface().includes(host) && op.match_path(path).is_some())
    }

    /// Whether the route is left out of the public schema: implemented, and no public contract.
    #[must_use]
    pub fn is_hidden(self) -> bool {
        self.name().starts_with("hidden_")
    }

    /// Whether this is a compatibility alias: it continues to work, and the canonical path is
    /// preferred.
    #[must_use]
    pub fn is_alias(self) -> bool {
        self.name().starts_with("alias_")
    }

    /// The names of the path's placeholders, in order.
    pub fn placeholders(self) -> impl Iterator<Item = &'static str> {
        self.path().split('/').filter_map(placeholder)
    }

    /// The path with `segments` in the place of its placeholders, each percent-encoded as one
    /// segment.
    ///
    /// # Errors
    ///
    /// [`PathError`] where the number is wrong, or a segment is empty, `.` or `..`.
    pub fn expand<S: AsRef<str>>(self, segments: &[S]) -> Result<String, PathError> {
        let expected = self.placeholders().count();
        if expected != segments.len() {
            return Err(PathError::Count {
                expected,
                given: segments.len(),
            });
        }
        let mut values = segments.iter().map(AsRef::as_ref);
        let mut path = String::with_capacity(self.path().len() + 24);
        for (index, part) in self.path().split('/').enumerate() {
            if index > 0 {
                path.push('/');
            }
            match placeholder(part) {
                None => path.push_str(part),
                Some(name) => {
                    let value = values.next().unwrap_or_default();
                    if matches!(value, "" | "." | "..") {
                        return Err(PathError::Segment {
                            name,
                            value: value.to_owned(),
                        });
                    }
                    path.extend(percent_encoding::utf8_percent_encode(value, SEGMENT));
                }
            }
        }
        Ok(path)
    }

    fn match_path(self, path: &str) -> Option<(usize, Vec<String>)> {
        let mut literals = 0;
        let mut values = Vec::new();
        let mut given = path.split('/');
        for part in self.path().split('/') {
            let value = given.next()?;
            if placeholder(part).is_some() {
                if value.is_empty() {
                    return None;
                }
                let decoded = percent_encoding::percent_decode_str(value).decode_utf8();
                values.push(decoded.unwrap_or(Cow::Borrowed(value)).into_owned());
            } else if part == value {
                literals += 1;
            } else {
                return None;
            }
        }
        given.next().is_none().then_some((literals, values))
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// All but RFC 3986's unreserved characters.
const SEGMENT: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn placeholder(part: &'static str) -> Option<&'static str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// Why path segments do not fit an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathError {
    /// The operation takes another number of segments.
    Count {
        /// How many it takes.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// A segment is empty, `.` or `..`, which would address another resource.
    Segment {
        /// The placeholder's name.
        name: &'static str,
        /// What was given.
        value: String,
    },
}

impl std::error::Error for PathError {}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count { expected, given } => {
                write!(f, "{given} path segments given where {expected} are needed")
            }
            Self::Segment { name, value } => {
                write!(
                    f,
                    "{name} must not be empty, \".\" or \"..\", but is {value:?}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Budget, Method, RetryClass};

    #[test]
    fn the_table_has_every_operation_once() {
        assert_eq!(Operation::ALL.len(), 92);
        let mut names: Vec<_> = Operation::ALL.iter().map(|op| op.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 92);
        for op in Operation::ALL {
            assert_eq!(Operation::from_name(op.name()), Some(*op));
        }
    }

    #[test]
    fn every_operation_is_routed_to_itself() {
        for op in Operation::ALL
            .iter()
            .filter(|op| op.surface() != Surface::Mcp)
        {
            let segments: Vec<_> = op
                .placeholders()
                .map(|name| format!("{name} /?%"))
                .collect();
            let path = op.expand(&segments).unwrap();
            let host = if op.surface() == Surface::Developer {
                Surface::Developer
            } else {
                Surface::Open
            };
            let routed = Operation::route(host, op.method().as_str(), &path);
            assert_eq!(routed, Some((*op, segments)), "{path}");
        }
    }

    #[test]
    fn reads_are_safe_and_reads_only() {
        for op in Operation::ALL {
            assert_eq!(
                op.method() == Method::Get,
                op.retry() == RetryClass::Safe,
                "{op}"
            );
            if op.method() == Method::Get {
                assert_eq!(op.budget(), Budget::Read, "{op}");
            }
        }
    }

    #[test]
    fn a_literal_segment_wins_over_a_placeholder() {
        let runs = Operation::route(Surface::Developer, "GET", "/v1/formats/fmt_demo/runs");
        assert_eq!(
            runs,
            Some((Operation::FormatsRunsList, vec!["fmt_demo".to_owned()]))
        );
        let slug = Operation::route(Surface::Developer, "GET", "/v1/formats/demo/teaser");
        assert_eq!(slug.map(|(op, _)| op), Some(Operation::FormatsBySlugGet));
    }

    #[test]
    fn an_operation_of_the_other_host_is_not_routed() {
        assert_eq!(
            Operation::route(Surface::Developer, "POST", "/v1/open/estimate"),
            None
        );
        assert_eq!(Operation::route(Surface::Open, "GET", "/v1/me"), None);
        assert_eq!(Operation::route(Surface::Open, "GET", "/v1/jobs/"), None);
        assert!(Operation::path_is_known(Surface::Open, "/v1/open/estimate"));
    }

    #[test]
    fn a_segment_that_would_change_the_path_is_refused() {
        for bad in ["", ".", ".."] {
            assert!(Operation::JobsGet.expand(&[bad]).is_err(), "{bad:?}");
        }
        assert_eq!(
            Operation::JobsGet.expand(&["../a b"]).unwrap(),
            "/v1/jobs/..%2Fa%20b"
        );
        assert!(Operation::JobsGet.expand::<&str>(&[]).is_err());
    }
}
