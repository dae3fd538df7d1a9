//! Serialization of maps as lists of pairs, because JSON keys must be strings.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

pub(crate) fn serialize<'m, M, K, V, S>(map: &'m M, serializer: S) -> Result<S::Ok, S::Error>
where
    &'m M: IntoIterator<Item = (&'m K, &'m V)>,
    K: Serialize + 'm,
    V: Serialize + 'm,
    S: Serializer,
{
    serializer.collect_seq(map)
}

pub(crate) fn deserialize<'de, M, K, V, D>(deserializer: D) -> Result<M, D::Error>
where
    M: FromIterator<(K, V)>,
    K: Deserialize<'de>,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
}
