//! What a sender controls: the headers and the body of a delivery.

use std::borrow::Cow;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMemoryView, PyString, PyTuple};
use svc_webhook_verify::header;

/// The three headers of a delivery. Several lines of one are joined by commas.
#[derive(Default)]
pub(crate) struct Headers([Option<Vec<u8>>; 3]);

const NAMES: [&str; 3] = [header::TIMESTAMP, header::SIGNATURE, header::FINGERPRINT];

impl Headers {
    /// Reads a mapping of names and values, or an iterable of pairs.
    pub(crate) fn read(headers: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut read = Self::default();
        if let Ok(dict) = headers.cast_exact::<PyDict>() {
            for (name, value) in dict.iter() {
                read.add(&name, &value)?;
            }
            return Ok(read);
        }
        let pairs = match headers.getattr_opt("items")? {
            Some(items) => items.call0()?,
            None => headers.clone(),
        };
        let pairs = pairs
            .try_iter()
            .map_err(|_| not_a("headers must be a mapping or an iterable of pairs", headers))?;
        for pair in pairs {
            let pair = pair?;
            let Ok((name, value)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
                return Err(not_a("headers must be pairs of a name and a value", &pair));
            };
            read.add(&name, &value)?;
        }
        Ok(read)
    }

    pub(crate) fn timestamp(&self) -> &[u8] {
        self.get(0)
    }

    pub(crate) fn signature(&self) -> &[u8] {
        self.get(1)
    }

    pub(crate) fn fingerprint(&self) -> &[u8] {
        self.get(2)
    }

    fn get(&self, index: usize) -> &[u8] {
        self.0.get(index).and_then(Option::as_deref).unwrap_or_default()
    }

    /// Adds a header, if it is one of the three. Its value is a line, or a list of lines.
    fn add(&mut self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let name = text(name).ok_or_else(|| not_a("header names must be str or bytes", name))?;
        let is_named = |known: &&str| known.as_bytes().eq_ignore_ascii_case(&name);
        let Some(index) = NAMES.iter().position(|known| is_named(&known)) else { return Ok(()) };
        let Some(lines) = self.0.get_mut(index) else { return Ok(()) };
        let mut push = |line: &Bound<'_, PyAny>| {
            let line =
                text(line).ok_or_else(|| not_a("header values must be str or bytes", line))?;
            match lines {
                Some(lines) => {
                    lines.push(b',');
                    lines.extend_from_slice(&line);
                }
                None => *lines = Some(line.into_owned()),
            }
            Ok(())
        };
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            for line in value.try_iter()? {
                push(&line?)?;
            }
            return Ok(());
        }
        push(value)
    }
}

/// Returns the bytes of a text as they were in the request: frameworks decode them as Latin-1.
fn text<'a>(value: &'a Bound<'_, PyAny>) -> Option<Cow<'a, [u8]>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Some(bytes.as_bytes().into());
    }
    let text = value.cast::<PyString>().ok()?;
    Some(match text.to_str() {
        Ok(text) if text.is_ascii() => text.as_bytes().into(),
        Ok(text) => {
            let latin_1: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
            latin_1.map_or_else(|_| text.as_bytes().to_vec(), |bytes| bytes).into()
        }
        // Surrogates, which stand for bytes that were not UTF-8. No signature has such bytes.
        Err(_) => text.to_string_lossy().into_owned().into_bytes().into(),
    })
}

/// The raw body of a delivery.
pub(crate) enum Body<'a> {
    Borrowed(&'a [u8]),
    Owned(Vec<u8>),
}

impl<'a> Body<'a> {
    pub(crate) fn read(body: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = body.cast::<PyBytes>() {
            Ok(Self::Borrowed(bytes.as_bytes()))
        } else if let Ok(bytes) = body.cast::<PyByteArray>() {
            Ok(Self::Owned(bytes.to_vec()))
        } else if body.is_instance_of::<PyMemoryView>() {
            let bytes = body.call_method0("tobytes")?;
            Ok(Self::Owned(bytes.cast::<PyBytes>()?.as_bytes().to_vec()))
        } else {
            let expected = "body must be the raw body as bytes, which the signature covers";
            Err(not_a(expected, body))
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

pub(crate) fn not_a(expected: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type().name().map(|name| name.to_string());
    PyTypeError::new_err(format!("{expected}, not {}", kind.unwrap_or_default()))
}
