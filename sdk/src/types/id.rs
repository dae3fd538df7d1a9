//! Identifiers: opaque strings of the service, each kind its own type.

macro_rules! ids {
    ($( $(#[$meta:meta])* $name:ident; )+) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
            #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
            #[serde(transparent)]
            pub struct $name(String);

            impl $name {
                /// The identifier as it is on the wire.
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

/// The identifier that follows one of these collections in a URL of the service:
/// `…/format-runs/{id}/status`. The last one, as a base URL may have a prefix.
pub(crate) fn id_in_url(url: &str, collections: &[&str]) -> Option<String> {
    let path = url.split(['?', '#']).next()?;
    let path = match path.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?.1,
        None => path,
    };
    let ids = path.split('/').zip(path.split('/').skip(1));
    let (_, id) = ids
        .filter(|(collection, id)| collections.contains(collection) && !id.is_empty())
        .last()?;
    let id = percent_encoding::percent_decode_str(id).decode_utf8();
    Some(id.ok()?.into_owned())
}

ids! {
    /// Identifies a job.
    JobId;
    /// Identifies an artifact of a job or run.
    ArtifactId;
    /// Identifies a top-up.
    TopUpId;
    /// Identifies a request; also in the header `x-svc-request-id`.
    RequestId;
    /// Identifies a run of an Action, a Format or an Agent Completion.
    RunId;
    /// Identifies a bulk queue of Format runs.
    QueueId;
    /// Identifies a Format.
    FormatId;
    /// Identifies an Action.
    ActionId;
}
