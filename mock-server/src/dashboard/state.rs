//! The view of the state: exporting, importing and resetting it.

use axum::extract::State;
use maud::{Markup, html};

use super::page::page;
use super::parts::{problem, prose};
use super::view::View;
use crate::service::Service;

pub(super) async fn view(State(service): State<Service>) -> Markup {
    let content = html! {
        p {
            "The state is everything that the mock knows: workspaces, keys, jobs, runs, the ledger, webhooks, "
            "the journal, the clock and the generator of identifiers. After an import, the same requests get the "
            "same responses."
        }
        h2 { "Export" }
        p { a.button href="/state" download="svc-mock-state.json" { "Save the state as a file" } }
        h2 { "Import" }
        form.inline data-send="PUT /state" data-file data-done="The state is imported." {
            label { "State file " input type="file" name="file" accept="application/json,.json" required; }
            button type="submit" { "Import" }
            (problem())
        }
        p.muted { "The current state is replaced. A file that is not a state changes nothing." }
        h2 { "Reset" }
        form.inline data-send="POST /reset" data-done="The mock is as at its start." data-confirm="Reset the mock? Jobs, requests, added keys and faults are removed." {
            button.danger type="submit" { "Reset to the start" }
            (problem())
        }
        p.muted { "Added keys, jobs, requests and faults are removed. The clock continues." }
        h2 { "Control API" }
        p {
            "All that this dashboard shows and does is available to programs on this port: "
            (prose(&format!("`curl {}/` lists the endpoints.", service.control_url())))
        }
    };
    page(&service, View::State, "", &content)
}
