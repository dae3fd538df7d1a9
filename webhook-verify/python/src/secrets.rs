//! The secrets of a call: as they are, prepared, or in a file.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use svc_webhook_verify::{Key, KeyError, KeySet, Verifier};
use zeroize::Zeroize;

use crate::delivery::not_a;

/// Signing secrets, prepared once for many deliveries.
///
/// A str is a text with one secret per line, newest first. An iterable has one secret per item, of
/// which each byte counts.
#[pyclass(frozen, module = "svc_webhook_verify")]
pub(crate) struct Secrets(Verifier);

#[pymethods]
impl Secrets {
    #[new]
    fn new(secrets: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(Verifier::new(key_set(secrets)?)))
    }

    /// The fingerprints of the secrets, newest first. They are safe to log.
    #[getter]
    fn fingerprints(&self) -> Vec<String> {
        fingerprints(self.0.keys())
    }

    fn __repr__(&self) -> String {
        format!("Secrets({})", self.fingerprints().join(", "))
    }
}

/// Signing secrets in a file with one secret per line, newest first.
///
/// The file is read again when a recent delivery names a secret that is not in it, as the first
/// deliveries after a rotation do. While it cannot be read, the secrets stay as they are.
#[pyclass(frozen, module = "svc_webhook_verify")]
pub(crate) struct SecretFile {
    path: PathBuf,
    verifier: RwLock<Arc<Verifier>>,
}

#[pymethods]
impl SecretFile {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let keys = read_file(&path)?;
        Ok(Self { path, verifier: RwLock::new(Arc::new(Verifier::new(keys))) })
    }

    /// Reads the file now, and returns whether its secrets have changed.
    fn reload(&self) -> PyResult<bool> {
        Ok(self.replace(read_file(&self.path)?).is_some())
    }

    /// The fingerprints of the secrets, newest first. They are safe to log.
    #[getter]
    fn fingerprints(&self) -> Vec<String> {
        fingerprints(self.verifier().keys())
    }

    fn __repr__(&self) -> String {
        format!("SecretFile({}: {})", self.path.display(), self.fingerprints().join(", "))
    }
}

impl SecretFile {
    fn verifier(&self) -> Arc<Verifier> {
        Arc::clone(&self.verifier.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over other keys, and returns their verifier if they are not those that are there.
    fn replace(&self, keys: KeySet) -> Option<Arc<Verifier>> {
        let fingerprints = keys.iter().map(Key::fingerprint);
        if fingerprints.eq(self.verifier().keys().iter().map(Key::fingerprint)) {
            return None;
        }
        let replaced = Arc::new(Verifier::new(keys));
        let mut verifier = self.verifier.write().unwrap_or_else(PoisonError::into_inner);
        *verifier = Arc::clone(&replaced);
        Some(replaced)
    }
}

/// What a call is verified with.
pub(crate) enum VerifierSource<'a> {
    Own(Box<Verifier>),
    Prepared(&'a Verifier),
    File(&'a SecretFile, Arc<Verifier>),
}

impl<'a> VerifierSource<'a> {
    pub(crate) fn read(secrets: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(prepared) = secrets.cast::<Secrets>() {
            Ok(Self::Prepared(&prepared.get().0))
        } else if let Ok(file) = secrets.cast::<SecretFile>() {
            Ok(Self::File(file.get(), file.get().verifier()))
        } else {
            Ok(Self::Own(Box::new(Verifier::new(key_set(secrets)?))))
        }
    }

    pub(crate) fn verifier(&self) -> &Verifier {
        match self {
            Self::Own(verifier) => verifier,
            Self::Prepared(verifier) => verifier,
            Self::File(_, verifier) => verifier,
        }
    }

    /// Reads the file again if a fingerprint is of none of its secrets. Returns the new verifier if
    /// there is one, which another thread may have read.
    pub(crate) fn reloaded_for(&self, fingerprint: &[u8]) -> Option<Arc<Verifier>> {
        let Self::File(file, used) = self else { return None };
        used.keys().unknown_fingerprint(fingerprint)?;
        if let Ok(keys) = read_file(&file.path) {
            file.replace(keys);
        }
        let current = file.verifier();
        (!Arc::ptr_eq(&current, used)).then_some(current)
    }
}

fn fingerprints(keys: &KeySet) -> Vec<String> {
    keys.iter().map(|key| key.fingerprint().to_string()).collect()
}

fn key_set(secrets: &Bound<'_, PyAny>) -> PyResult<KeySet> {
    let is_text = |value: &Bound<'_, PyAny>| {
        value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>()
    };
    if let Ok(lines) = secrets.cast::<PyString>() {
        return KeySet::from_lines(lines.to_str()?).map_err(invalid);
    }
    let items = match is_text(secrets) {
        true => None,
        false => secrets.try_iter().ok(),
    };
    let Some(items) = items else {
        let expected = "secrets must be a str with one secret per line, an iterable of secrets, \
                        Secrets or a SecretFile";
        return Err(not_a(expected, secrets));
    };
    let mut keys: Option<KeySet> = None;
    for item in items {
        let item = item?;
        let key = if let Ok(text) = item.cast::<PyString>() {
            Key::new(text.to_str()?)
        } else if let Ok(bytes) = item.cast::<PyBytes>() {
            Key::new(bytes.as_bytes())
        } else {
            return Err(not_a("a secret must be str or bytes", &item));
        };
        let key = key.map_err(invalid)?;
        match &mut keys {
            Some(keys) => keys.push(key).map_err(invalid)?,
            None => keys = Some(KeySet::from(key)),
        }
    }
    keys.ok_or_else(|| invalid(KeyError::NoSecrets))
}

fn invalid(error: KeyError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn read_file(path: &PathBuf) -> PyResult<KeySet> {
    let mut content = fs::read(path)?;
    let keys = match std::str::from_utf8(&content) {
        Ok(text) => KeySet::from_lines(text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    content.as_mut_slice().zeroize();
    keys.map_err(|error| PyValueError::new_err(format!("{}: {error}", path.display())))
}
