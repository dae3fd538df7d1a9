//! Rendered files, of which the most recently used ones are kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use super::{Spec, render};

/// The maximum total size of the files that are kept.
const MAX_BYTES: usize = 128 * 1024 * 1024;

/// The files of all mocks in this process. A file depends only on its specification.
static FILES: Mutex<Files> = Mutex::new(Files { by_etag: BTreeMap::new(), uses: 0 });

struct Files {
    by_etag: BTreeMap<String, File>,
    /// The number of requests so far.
    uses: u64,
}

#[derive(Clone)]
struct File {
    /// The contents, once they are rendered.
    bytes: Arc<OnceLock<Bytes>>,
    /// The number of the last request.
    last_use: u64,
}

/// Returns the file that `spec` describes, which is rendered if it is not kept. If several threads
/// request it, one renders it and the others wait.
pub(crate) fn rendered(spec: &Spec) -> Bytes {
    let bytes = files(|files| files.file(spec.etag()));
    let contents = bytes.get_or_init(|| render(spec).into()).clone();
    files(|files| files.drop_least_recent(MAX_BYTES));
    contents
}

/// Returns `true` if the file that `spec` describes is kept.
pub(crate) fn is_rendered(spec: &Spec) -> bool {
    files(|files| {
        let file = files.by_etag.get(&spec.etag());
        file.is_some_and(|file| file.bytes.get().is_some())
    })
}

fn files<T>(access: impl FnOnce(&mut Files) -> T) -> T {
    access(&mut FILES.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Files {
    fn file(&mut self, etag: String) -> Arc<OnceLock<Bytes>> {
        self.uses += 1;
        let file =
            self.by_etag.entry(etag).or_insert_with(|| File { bytes: Arc::default(), last_use: 0 });
        file.last_use = self.uses;
        Arc::clone(&file.bytes)
    }

    /// Drops the files whose last use is the longest ago, until the rest fits.
    fn drop_least_recent(&mut self, max_bytes: usize) {
        let size = |file: &File| file.bytes.get().map_or(0, Bytes::len);
        let mut total: usize = self.by_etag.values().map(size).sum();
        while total > max_bytes {
            let rendered = self.by_etag.iter().filter(|(_, file)| size(file) > 0);
            let Some((etag, file)) = rendered.min_by_key(|(_, file)| file.last_use) else { return };
            let (etag, size) = (etag.clone(), size(file));
            self.by_etag.remove(&etag);
            total -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(seed: u64) -> Spec {
        Spec::Image { width: 24, height: 16, seed }
    }

    #[test]
    fn a_file_is_rendered_once() {
        let spec = spec(0x7e57_0001);
        assert!(!is_rendered(&spec));
        let first = rendered(&spec);
        assert!(is_rendered(&spec));
        assert_eq!(first, render(&spec));
        assert_eq!(rendered(&spec).as_ptr(), first.as_ptr());
    }

    #[test]
    fn the_most_recently_used_files_are_kept() {
        let mut files = Files { by_etag: BTreeMap::new(), uses: 0 };
        for etag in ["a", "b", "c", "a"] {
            let bytes = files.file(etag.to_owned());
            bytes.get_or_init(|| Bytes::from_static(&[0; 10]));
        }
        files.file("rendering".to_owned());
        files.drop_least_recent(20);
        let kept: Vec<_> = files.by_etag.keys().map(String::as_str).collect();
        assert_eq!(kept, ["a", "c", "rendering"]);
    }
}
