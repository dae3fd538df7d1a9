//! Paths of operations: routing a request to its operation, and building its path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Idempotency, Operation, RetryClass, Surface};

impl Operation {
    /// Returns the operation with this [name](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Returns the operation that `method` and `path` address on `host`, and the decoded values of
    /// its path parameters.
    ///
    /// If several templates match, the one with the most literal segments wins:
    /// `/v1/formats/x/runs` always addresses the runs of the Format `x`.
    ///
    /// # Examples
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
        let given: Vec<&str> = path.split('/').collect();
        Template::of_resource(&given)
            .filter(|it| it.segments.len() == given.len())
            .filter(|Template { operation: op, .. }| {
                op.surface().includes(host) && op.method().as_str() == method
            })
            .filter_map(|template| Some((template.literals_in(&given)?, template)))
            .max_by_key(|(literals, _)| *literals)
            .map(|(_, template)| (template.operation, template.values_in(&given)))
    }

    /// Returns what the service does with a request that has the idempotency key of an earlier one.
    #[must_use]
    pub const fn idempotency(self) -> Idempotency {
        match (self, self.retry()) {
            (Self::TopUpsCreate, _) => Idempotency::OnePerKey,
            // The specification shows the header for videos only.
            (Self::ImageGenerate, _) => Idempotency::Assumed,
            (_, RetryClass::Key) => Idempotency::Documented,
            (_, RetryClass::Unsent) => Idempotency::Undocumented,
            (_, RetryClass::Safe | RetryClass::Idempotent | RetryClass::Never) => {
                Idempotency::NoKey
            }
        }
    }

    /// Returns whether the operation is left out of the public schema.
    #[must_use]
    pub fn is_hidden(self) -> bool {
        self.name().starts_with("hidden_")
    }

    /// Returns whether this is a compatibility alias of another operation.
    #[must_use]
    pub fn is_alias(self) -> bool {
        self.name().starts_with("alias_")
    }

    /// Returns the names of the path's placeholders in order.
    pub fn placeholders(self) -> impl Iterator<Item = &'static str> {
        self.path().split('/').filter_map(placeholder)
    }

    /// Returns the path with its placeholders replaced by `segments`, which it percent-encodes.
    ///
    /// # Errors
    ///
    /// Returns an error if the number of segments does not match, or a segment is empty, `.` or `..`.
    pub fn expand<S: AsRef<str>>(self, segments: &[S]) -> Result<String, PathError> {
        let mut values = segments.iter().map(AsRef::as_ref);
        let mut path = String::with_capacity(self.path().len() + 24);
        let mut rest = self.path();
        while let Some((literal, (name, after))) = next_placeholder(rest) {
            let Some(value) = values.next() else {
                return Err(self.wrong_segment_count(segments.len()));
            };
            if matches!(value, "" | "." | "..") {
                return Err(PathError::InvalidSegment { name, value: value.to_owned() });
            }
            path.push_str(literal);
            path.extend(percent_encoding::utf8_percent_encode(value, SEGMENT));
            rest = after;
        }
        if values.next().is_some() {
            return Err(self.wrong_segment_count(segments.len()));
        }
        path.push_str(rest);
        Ok(path)
    }

    fn wrong_segment_count(self, actual: usize) -> PathError {
        let expected = self.placeholders().count();
        PathError::SegmentCount { expected, actual }
    }
}

/// The path of an operation, in segments.
struct Template {
    operation: Operation,
    segments: Vec<&'static str>,
}

impl Template {
    /// Returns the operations whose paths have the same resource, which is never a placeholder.
    fn of_resource(path: &[&str]) -> impl Iterator<Item = &'static Self> {
        static BY_RESOURCE: LazyLock<BTreeMap<&str, Vec<Template>>> = LazyLock::new(|| {
            let mut by_resource = BTreeMap::<_, Vec<_>>::new();
            for operation in Operation::ALL.iter().copied() {
                let segments: Vec<_> = operation.path().split('/').collect();
                let of_resource = by_resource.entry(resource(&segments)).or_default();
                of_resource.push(Template { operation, segments });
            }
            by_resource
        });
        BY_RESOURCE.get(resource(path)).into_iter().flatten()
    }

    /// Returns how many segments of a path of the same length are literals of the operation's path;
    /// `None` if the paths do not match.
    fn literals_in(&self, path: &[&str]) -> Option<usize> {
        let mut literals = 0;
        for (part, given) in self.segments.iter().zip(path) {
            match placeholder(part) {
                Some(_) if given.is_empty() => return None,
                Some(_) => {}
                None if given == part => literals += 1,
                None => return None,
            }
        }
        Some(literals)
    }

    /// Returns the values of the placeholders in a path that matches.
    fn values_in(&self, path: &[&str]) -> Vec<String> {
        let segments = self.segments.iter().zip(path);
        let values = segments.filter(|(part, _)| placeholder(part).is_some());
        let decoded = values.map(|(_, value)| {
            let decoded = percent_encoding::percent_decode_str(value).decode_utf8();
            decoded.unwrap_or(Cow::Borrowed(value)).into_owned()
        });
        decoded.collect()
    }
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// All characters except the unreserved ones of RFC 3986.
const SEGMENT: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the segment of a path after the version, such as `jobs` of `/v1/jobs/job_1`.
fn resource<'p>(path: &[&'p str]) -> &'p str {
    path.get(2).copied().unwrap_or_default()
}

fn placeholder(part: &'static str) -> Option<&'static str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

/// Returns what precedes the first placeholder of a path, its name, and what follows it.
fn next_placeholder(path: &'static str) -> Option<(&'static str, (&'static str, &'static str))> {
    let (literal, rest) = path.split_once('{')?;
    Some((literal, rest.split_once('}')?))
}

/// An error from [`Operation::expand`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// The number of segments does not match the operation's path.
    #[non_exhaustive]
    SegmentCount {
        /// The expected number of segments.
        expected: usize,
        /// The actual number of segments.
        actual: usize,
    },
    /// A segment is empty, `.` or `..`, which would address another resource.
    #[non_exhaustive]
    InvalidSegment {
        /// The name of the placeholder.
        name: &'static str,
        /// The segment.
        value: String,
    },
}

impl std::error::Error for PathError {}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SegmentCount { expected, actual } => {
                write!(f, "expected {expected} path segments, got {actual}")
            }
            Self::InvalidSegment { name, value } => {
                write!(f, "invalid {name} {value:?}: it must not be empty, \".\" or \"..\"")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Method, RateLimitBucket};

    #[test]
    fn names_are_unique() {
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
    fn expanded_paths_route_to_their_operation() {
        for op in Operation::ALL.iter().filter(|op| op.surface() != Surface::Mcp) {
            let segments: Vec<_> = op.placeholders().map(|name| format!("{name} /?%")).collect();
            let path = op.expand(&segments).unwrap();
            let host =
                if op.surface() == Surface::Developer { Surface::Developer } else { Surface::Open };
            let routed = Operation::route(host, op.method().as_str(), &path);
            assert_eq!(routed, Some((*op, segments)), "{path}");
        }
    }

    #[test]
    fn only_get_requests_are_safe() {
        for op in Operation::ALL {
            assert_eq!(op.method() == Method::Get, op.retry() == RetryClass::Safe, "{op}");
            if op.method() == Method::Get {
                assert_eq!(op.rate_limit_bucket(), RateLimitBucket::Read, "{op}");
            }
        }
    }

    #[test]
    fn literal_segments_win_over_placeholders() {
        let runs = Operation::route(Surface::Developer, "GET", "/v1/formats/fmt_demo/runs");
        assert_eq!(runs, Some((Operation::FormatsRunsList, vec!["fmt_demo".to_owned()])));
        let slug = Operation::route(Surface::Developer, "GET", "/v1/formats/demo/teaser");
        assert_eq!(slug.map(|(op, _)| op), Some(Operation::FormatsBySlugGet));
    }

    #[test]
    fn operations_of_the_other_host_are_not_routed() {
        assert_eq!(Operation::route(Surface::Developer, "POST", "/v1/open/estimate"), None);
        assert_eq!(Operation::route(Surface::Open, "GET", "/v1/me"), None);
        assert_eq!(Operation::route(Surface::Open, "GET", "/v1/jobs/"), None);
    }

    #[test]
    fn segments_that_would_change_the_path_are_rejected() {
        for bad in ["", ".", ".."] {
            assert!(Operation::JobsGet.expand(&[bad]).is_err(), "{bad:?}");
        }
        assert_eq!(Operation::JobsGet.expand(&["../a b"]).unwrap(), "/v1/jobs/..%2Fa%20b");
        assert!(Operation::JobsGet.expand::<&str>(&[]).is_err());
    }
}
