//! Typed identifiers. They are opaque strings.

macro_rules! ids {
    ($( $(#[$meta:meta])* $name:ident; )+) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
            #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
            #[serde(transparent)]
            pub struct $name(String);

            impl $name {
                /// Returns the identifier as a string.
                #[must_use]
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl AsRef<str> for $name {
                fn as_ref(&self) -> &str {
                    &self.0
                }
            }

            impl From<&str> for $name {
                fn from(id: &str) -> Self {
                    Self(id.to_owned())
                }
            }

            impl From<String> for $name {
                fn from(id: String) -> Self {
                    Self(id)
                }
            }

            impl From<&Self> for $name {
                fn from(id: &Self) -> Self {
                    id.clone()
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.pad(&self.0)
                }
            }
        )+
    };
}

/// Returns the identifier after one of the collection names in a URL, such as `id` in
/// `…/format-runs/{id}/status`. The last match counts, because a base URL may have a path prefix.
pub(crate) fn id_in_url(url: &str, collections: &[&str]) -> Option<String> {
    let path = url.split(['?', '#']).next()?;
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => path,
    };
    let ids = path.split('/').zip(path.split('/').skip(1));
    let (_, id) =
        ids.filter(|(collection, id)| collections.contains(collection) && !id.is_empty()).last()?;
    let id = percent_encoding::percent_decode_str(id).decode_utf8();
    Some(id.ok()?.into_owned())
}

ids! {
    /// The identifier of a job.
    JobId;
    /// The identifier of an artifact.
    ArtifactId;
    /// The identifier of a top-up.
    TopUpId;
    /// The identifier of a request, also sent in the header `x-svc-request-id`.
    RequestId;
    /// The identifier of a run of an Action, a Format or an Agent Completion.
    RunId;
    /// The identifier of a bulk queue of Format runs.
    QueueId;
    /// The identifier of a Format.
    FormatId;
    /// The identifier of an Action.
    ActionId;
}
