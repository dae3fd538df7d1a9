//! Serialization of indexed collections as the list of their items.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

/// Calls `add` with each item of a list as soon as it is read, so that the list is never in memory
/// as a whole.
pub(crate) fn read_items<'de, T, D, F>(deserializer: D, add: F) -> Result<(), D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
    F: FnMut(T) -> Result<(), String>,
{
    struct ItemVisitor<T, F>(F, PhantomData<T>);

    impl<'de, T: Deserialize<'de>, F: FnMut(T) -> Result<(), String>> Visitor<'de>
        for ItemVisitor<T, F>
    {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
            while let Some(item) = items.next_element()? {
                (self.0)(item).map_err(serde::de::Error::custom)?;
            }
            Ok(())
        }
    }

    deserializer.deserialize_seq(ItemVisitor(add, PhantomData))
}

/// Implements `Serialize` and `Deserialize` for a collection as the list of its items.
///
/// Indexes are not part of the document: `add` rebuilds them for each item that is read. The
/// collection needs the methods `all` and `add`, and `Default`.
macro_rules! serialize_as_list {
    ($collection:ty, $item:ty) => {
        impl serde::Serialize for $collection {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self.all())
            }
        }

        impl<'de> serde::Deserialize<'de> for $collection {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut collection = Self::default();
                $crate::engine::serde_list::read_items(deserializer, |item: $item| {
                    collection.add(item);
                    Ok(())
                })?;
                Ok(collection)
            }
        }
    };
}

pub(super) use serialize_as_list;
