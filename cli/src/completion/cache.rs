//! A cache of the lists that completions fetch.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::value::Value;
use crate::clock;
use crate::files::write_private;

/// The age up to which a list is used without asking the service.
const FRESH_FOR: Duration = Duration::from_secs(60);

/// The cached list of one URL and API key.
pub(super) struct Cache {
    path: PathBuf,
}

impl Cache {
    /// Creates the cache of a list that depends on `identity`.
    pub(super) fn new(state_dir: &Path, list: &str, identity: [&str; 2]) -> Self {
        let hash = Sha256::digest(identity.join("\n"));
        let short: String = hash
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            path: state_dir
                .join("completions")
                .join(format!("{list}-{short}.json")),
        }
    }

    /// Returns the list if it is recent.
    pub(super) fn fresh(&self) -> Option<Vec<Value>> {
        let modified = fs::metadata(&self.path).ok()?.modified().ok()?;
        let age = clock::elapsed(clock::now(), Timestamp::try_from(modified).ok()?);
        (age < FRESH_FOR).then(|| self.stale())?
    }

    /// Returns the list, however old it is.
    pub(super) fn stale(&self) -> Option<Vec<Value>> {
        serde_json::from_slice(&fs::read(&self.path).ok()?).ok()
    }

    /// Stores the list. Without it the next completion asks the service again.
    pub(super) fn store(&self, values: &[Value]) {
        if let Ok(text) = serde_json::to_vec(values) {
            let _ = write_private(&self.path, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_fresh_for_a_while_and_belongs_to_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), "models", ["https://a", "key 1"]);
        assert_eq!(cache.fresh(), None);
        let values = vec![Value {
            value: "video-f".into(),
            help: String::new(),
            kind: "video".into(),
        }];
        cache.store(&values);
        assert_eq!(cache.fresh(), Some(values.clone()));
        let other = Cache::new(folder.path(), "models", ["https://a", "key 2"]);
        assert_eq!(other.stale(), None);
        let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let file = fs::File::options().append(true).open(&cache.path).unwrap();
        file.set_modified(long_ago).unwrap();
        assert_eq!(cache.fresh(), None);
        assert_eq!(cache.stale(), Some(values));
    }
}
