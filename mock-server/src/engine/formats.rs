//! The seeded Formats. They cannot be created or changed through the API.

use svc_sdk::types::Usd;

use super::grants::Grants;
use super::workspaces::{WorkspaceKind, Workspaces};

pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

/// The spend cap of Formats that do not set one.
pub(crate) const DEFAULT_CAP: Usd = Usd::from_micros(400_000_000);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) id: &'static str,
    pub(crate) handle: &'static str,
    pub(crate) slug: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) owner: Owner,
    pub(crate) state: FormatState,
    /// The spend cap of a run that does not set its own.
    pub(crate) cap: Usd,
    /// Whether the Format declares an image as its output.
    pub(crate) makes_image: bool,
}

/// The owner of a Format or Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The service itself. Every workspace can run it.
    FirstParty,
    /// A workspace, by id.
    Workspace(&'static str),
}

/// The state of a Format, which determines whether it can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatState {
    Active,
    Inactive,
    /// The owner turned the API-call trigger off.
    NoTrigger,
    /// The Format is archived and treated as nonexistent.
    Archived,
    /// A capability of the service. It can be run, but not read or listed as a Format.
    BuiltIn,
}

/// Why a key cannot call a Format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCallable {
    /// The Format does not exist or is not visible to the key.
    Unknown,
    /// The Format belongs to a team, and the key to a personal workspace.
    NeedsTeamKey,
}

const fn of_demo(
    id: &'static str,
    slug: &'static str,
    name: &'static str,
    description: &'static str,
) -> Format {
    Format {
        id,
        handle: "demo",
        slug,
        name,
        description,
        owner: Owner::Workspace("ws_demo"),
        state: FormatState::Active,
        cap: DEFAULT_CAP,
        makes_image: false,
    }
}

#[rustfmt::skip]
pub(crate) static FORMATS: [Format; 9] = [
    of_demo("fmt_demo", "teaser", "Teaser", "Writes a teaser for a topic."),
    Format { makes_image: true, ..of_demo("fmt_media", "product-shot", "Product shot", "Makes a picture of a product.") },
    Format { cap: Usd::from_micros(2_000_000), ..of_demo("fmt_capped", "capped", "Capped", "Spends at most 2 USD.") },
    Format { state: FormatState::Inactive, ..of_demo("fmt_inactive", "inactive", "Inactive", "Is inactive.") },
    Format { state: FormatState::NoTrigger, ..of_demo("fmt_no_trigger", "no-trigger", "No trigger", "Has its API-call trigger turned off.") },
    Format { state: FormatState::Archived, ..of_demo("fmt_archived", "archived", "Archived", "Is archived.") },
    Format { handle: "team", owner: Owner::Workspace("ws_team"), ..of_demo("fmt_team", "brand-film", "Brand film", "Belongs to a team.") },
    Format { handle: "studio", owner: Owner::FirstParty, state: FormatState::BuiltIn, ..of_demo("fmt_builtin", "built-in", "Built in", "Is a capability, not a Format.") },
    Format { handle: "studio", owner: Owner::FirstParty, ..of_demo("fmt_storyboard", "storyboard", "Storyboard", "Turns an idea into shots.") },
];

impl Format {
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.id == id)
    }

    pub(crate) fn by_slug(handle: &str, slug: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.handle == handle && format.slug == slug)
    }

    /// Returns `true` if the Format is in the workspace's catalog: its own, granted and first-party
    /// ones.
    pub(crate) fn is_visible_to(&self, workspace: &str, grants: &Grants) -> bool {
        let is_accessible = match self.owner {
            Owner::FirstParty => true,
            Owner::Workspace(owner) => owner == workspace || grants.contains(self.id, workspace),
        };
        is_accessible && !matches!(self.state, FormatState::Archived | FormatState::BuiltIn)
    }

    /// Checks that a workspace may call the Format. The state of the Format may still prevent a
    /// run.
    pub(crate) fn check_callable(
        &self,
        workspace: &str,
        workspaces: &Workspaces,
        grants: &Grants,
    ) -> Result<(), NotCallable> {
        let Owner::Workspace(owner) = self.owner else { return Ok(()) };
        if self.state == FormatState::Archived {
            return Err(NotCallable::Unknown);
        }
        if owner == workspace {
            return Ok(());
        }
        // A grant does not replace the key of a team.
        if workspaces.kind(owner) == WorkspaceKind::Team
            && workspaces.kind(workspace) == WorkspaceKind::Personal
        {
            return Err(NotCallable::NeedsTeamKey);
        }
        if grants.contains(self.id, workspace) { Ok(()) } else { Err(NotCallable::Unknown) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_cap_matches_the_contract() {
        let dollars = svc_sdk::contract::limits::DEFAULT_FORMAT_SPEND_CAP_USD;
        assert_eq!(DEFAULT_CAP, dollars.to_string().parse().unwrap());
    }

    #[test]
    fn ids_and_slugs_are_unique_and_do_not_collide_with_paths() {
        for format in &FORMATS {
            assert_eq!(Format::by_id(format.id), Some(format));
            assert_eq!(Format::by_slug(format.handle, format.slug), Some(format));
            assert!(!["runs", "bulk-runs"].contains(&format.slug));
        }
    }
}
