//! The times of a call: how old a timestamp may be, and what time it is.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt};

/// How much a timestamp may differ from the current time.
#[derive(Clone, Copy)]
pub(crate) enum Tolerance {
    /// The default of the Rust crate, 300 seconds.
    Default,
    Within(Duration),
    /// `None`: by any time.
    Any,
}

impl<'py> FromPyObject<'_, 'py> for Tolerance {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Any);
        }
        if value.is_instance_of::<PyFloat>() {
            let duration = Duration::try_from_secs_f64(value.extract()?);
            return duration.map(Self::Within).map_err(|_| invalid("tolerance"));
        }
        match whole_seconds(&value, "tolerance")? {
            300 => Ok(Self::Default),
            seconds => Ok(Self::Within(Duration::from_secs(seconds))),
        }
    }
}

/// What time it is, in Unix seconds.
#[derive(Clone, Copy)]
pub(crate) enum UnixTime {
    Current,
    At(u64),
}

impl UnixTime {
    pub(crate) fn seconds(self) -> u64 {
        match self {
            Self::Current => {
                let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
                since_epoch.map_or(0, |duration| duration.as_secs())
            }
            Self::At(seconds) => seconds,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for UnixTime {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_none() {
            return Ok(Self::Current);
        }
        if value.is_instance_of::<PyFloat>() {
            let duration = Duration::try_from_secs_f64(value.extract()?);
            return duration.map(|it| Self::At(it.as_secs())).map_err(|_| invalid("now"));
        }
        whole_seconds(&value, "now").map(Self::At)
    }
}

fn whole_seconds(value: &Bound<'_, PyAny>, name: &str) -> PyResult<u64> {
    if !value.is_instance_of::<PyInt>() {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{name} must be a number of seconds, not {kind}"
        )));
    }
    value.extract().map_err(|_| invalid(name))
}

fn invalid(name: &str) -> PyErr {
    PyValueError::new_err(format!("invalid {name}: expected seconds from 0 to 2**64 - 1"))
}
