//! Signing secrets in a file.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::{format, str};

use zeroize::Zeroize;

use crate::key::KeySet;

impl KeySet {
    /// Reads a set from a file with one secret per line, newest first, as
    /// [`from_lines`](KeySet::from_lines) does from a text.
    ///
    /// The content of the file is zeroized after it has been read.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, and an error of kind
    /// [`InvalidData`](ErrorKind::InvalidData) if it is not UTF-8 or not a valid set of
    /// secrets. The error names the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = |error: Error| Error::new(error.kind(), format!("{}: {error}", path.display()));
        let mut content = fs::read(path).map_err(name)?;
        let keys = match str::from_utf8(&content) {
            Ok(text) => {
                Self::from_lines(text).map_err(|error| Error::new(ErrorKind::InvalidData, error))
            }
            Err(error) => Err(Error::new(ErrorKind::InvalidData, error)),
        };
        content.as_mut_slice().zeroize();
        keys.map_err(name)
    }
}
