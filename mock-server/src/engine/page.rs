//! Lists that are written while they are made.

use std::cell::Cell;

use serde::{Serialize, Serializer};

/// The items of an iterator as a list. It can be serialized once.
pub(crate) struct Items<I>(Cell<Option<I>>);

impl<I> Items<I> {
    pub(crate) fn new(items: I) -> Self {
        Self(Cell::new(Some(items)))
    }
}

impl<I: Iterator<Item: Serialize>> Serialize for Items<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}
