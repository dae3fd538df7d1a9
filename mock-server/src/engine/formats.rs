//! Formats: the reusable recipes that every mock has. Nobody can make or change one.

use svc_sdk::types::Usd;

use super::workspaces::WorkspaceKind;

/// When they were made.
pub(crate) const CREATED_AT: &str = "2025-06-02T09:00:00Z";

/// What Formats that never set a cap have.
pub(crate) const DEFAULT_CAP: Usd = Usd::from_micros(400_000_000);

/// A Format.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) id: &'static str,
    pub(crate) handle: &'static str,
    pub(crate) slug: &'static str,
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) owner: Owner,
    pub(crate) state: FormatState,
    /// What a run may spend, where the run does not say.
    pub(crate) cap: Usd,
    /// Whether it declares that it makes an image.
    pub(crate) makes_image: bool,
}

/// Whose a Format is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The service's own: anybody may run it.
    FirstParty,
    /// A workspace's.
    Workspace(&'static str),
}

/// Whether a Format can be run, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatState {
    Active,
    /// The owner set it inactive.
    Inactive,
    /// The owner turned the API-call trigger off.
    NoTrigger,
    /// It is as if it were not there.
    Archived,
    /// A capability of the service, and not a Format: it is not read or listed.
    BuiltIn,
}

/// How a key may not call a Format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotCallable {
    /// There is none, as far as the key is concerned.
    Unknown,
    /// It is a team's, and the key is a person's.
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

/// All of them.
#[rustfmt::skip]
pub(crate) static FORMATS: [Format; 9] = [
    of_demo("fmt_demo", "teaser", "Teaser", "Writes a teaser for what it is told of."),
    Format { makes_image: true, ..of_demo("fmt_media", "product-shot", "Product shot", "Makes a picture of a product.") },
    Format { cap: Usd::from_micros(2_000_000), ..of_demo("fmt_capped", "capped", "Capped", "Spends at most 2 USD.") },
    Format { state: FormatState::Inactive, ..of_demo("fmt_inactive", "inactive", "Inactive", "Is set inactive.") },
    Format { state: FormatState::NoTrigger, ..of_demo("fmt_no_trigger", "no-trigger", "No trigger", "Has its API-call trigger off.") },
    Format { state: FormatState::Archived, ..of_demo("fmt_archived", "archived", "Archived", "Is archived.") },
    Format { handle: "team", owner: Owner::Workspace("ws_team"), ..of_demo("fmt_team", "brand-film", "Brand film", "Is a team's.") },
    Format { handle: "studio", owner: Owner::FirstParty, state: FormatState::BuiltIn, ..of_demo("fmt_builtin", "built-in", "Built in", "Is a capability, and not a Format.") },
    Format { handle: "studio", owner: Owner::FirstParty, ..of_demo("fmt_storyboard", "storyboard", "Storyboard", "Turns an idea into shots.") },
];

impl Format {
    /// The Format of that id.
    pub(crate) fn by_id(id: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.id == id)
    }

    /// The Format of that handle and slug.
    pub(crate) fn by_slug(handle: &str, slug: &str) -> Option<&'static Self> {
        FORMATS
            .iter()
            .find(|format| format.handle == handle && format.slug == slug)
    }

    /// Whether a workspace sees it: its own, and the first-party catalog.
    pub(crate) fn is_visible_to(&self, workspace: &str) -> bool {
        let theirs = match self.owner {
            Owner::FirstParty => true,
            Owner::Workspace(owner) => owner == workspace,
        };
        theirs && !matches!(self.state, FormatState::Archived | FormatState::BuiltIn)
    }

    /// Whether a workspace of that kind may call it, whatever then becomes of the call.
    pub(crate) fn check_callable(
        &self,
        workspace: &str,
        kind: WorkspaceKind,
    ) -> Result<(), NotCallable> {
        let Owner::Workspace(owner) = self.owner else {
            return Ok(());
        };
        if self.state == FormatState::Archived {
            return Err(NotCallable::Unknown);
        }
        match kind {
            _ if owner == workspace => Ok(()),
            WorkspaceKind::Personal if self.is_team_owned() => Err(NotCallable::NeedsTeamKey),
            // Nobody here has granted anybody anything.
            _ => Err(NotCallable::Unknown),
        }
    }

    fn is_team_owned(&self) -> bool {
        super::workspaces::INITIAL
            .iter()
            .any(|(id, kind)| self.owner == Owner::Workspace(id) && *kind == WorkspaceKind::Team)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_sees_its_own_and_the_first_party_catalog() {
        let seen = |workspace: &str| {
            let visible = FORMATS
                .iter()
                .filter(|format| format.is_visible_to(workspace));
            visible.map(|format| format.id).collect::<Vec<_>>()
        };
        assert_eq!(seen("ws_team"), ["fmt_team", "fmt_storyboard"]);
        assert_eq!(seen("ws_other"), ["fmt_storyboard"]);
        assert_eq!(seen("ws_demo").len(), 6);
    }

    #[test]
    fn who_may_call_what() {
        let call = |id: &str, workspace: &str, kind| {
            Format::by_id(id).unwrap().check_callable(workspace, kind)
        };
        let (person, team) = (WorkspaceKind::Personal, WorkspaceKind::Team);
        assert_eq!(call("fmt_team", "ws_team", team), Ok(()));
        assert_eq!(
            call("fmt_team", "ws_demo", person),
            Err(NotCallable::NeedsTeamKey)
        );
        assert_eq!(call("fmt_team", "ws_b", team), Err(NotCallable::Unknown));
        assert_eq!(
            call("fmt_demo", "ws_other", person),
            Err(NotCallable::Unknown)
        );
        assert_eq!(
            call("fmt_archived", "ws_demo", person),
            Err(NotCallable::Unknown)
        );
        assert_eq!(call("fmt_builtin", "ws_other", person), Ok(()));
    }

    #[test]
    fn the_default_cap_is_the_contracts() {
        let dollars = svc_sdk::contract::limits::DEFAULT_FORMAT_SPEND_CAP_USD;
        assert_eq!(DEFAULT_CAP, dollars.to_string().parse().unwrap());
    }

    #[test]
    fn ids_and_slugs_are_unique_and_no_slug_is_a_collection() {
        for format in &FORMATS {
            assert_eq!(Format::by_id(format.id), Some(format));
            assert_eq!(Format::by_slug(format.handle, format.slug), Some(format));
            assert!(!["runs", "bulk-runs"].contains(&format.slug));
        }
    }
}
