//! Bodies of responses of the control API.

use std::io::{self, Write};

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;

pub(crate) enum ControlBody {
    Complete(Bytes),
    /// A document of any size, which is written after the state has been unlocked.
    Document(Document),
}

/// A document that is not written yet. It contains a copy of what it needs of the state.
pub(crate) struct Document(Box<WriteDocument>);

type WriteDocument = dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send;

impl Document {
    pub(crate) fn new(
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'static,
    ) -> Self {
        Self(Box::new(write))
    }

    pub(crate) fn write(self, writer: &mut dyn Write) -> io::Result<()> {
        self.0(writer)?;
        writer.write_all(b"\n")
    }
}

impl ControlBody {
    pub(super) fn json(value: &impl Serialize) -> Self {
        let mut text = serde_json::to_vec(value).unwrap_or_default();
        text.push(b'\n');
        Self::Complete(text.into())
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        match self {
            Self::Complete(bytes) => bytes,
            Self::Document(document) => {
                let mut bytes = Vec::new();
                // Writing to memory does not fail.
                let _ = document.write(&mut bytes);
                bytes.into()
            }
        }
    }
}

impl From<Value> for ControlBody {
    fn from(value: Value) -> Self {
        Self::json(&value)
    }
}
