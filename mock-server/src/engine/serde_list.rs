//! Serialization of indexed collections as the list of their items.

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
                for item in <Vec<$item> as serde::Deserialize>::deserialize(deserializer)? {
                    collection.add(item);
                }
                Ok(collection)
            }
        }
    };
}

pub(super) use serialize_as_list;
