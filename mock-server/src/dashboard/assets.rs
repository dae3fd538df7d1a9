//! The style sheet, the scripts and the icon, which are part of the program.

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const SCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: &[(&str, &str, &str)] = &[
    ("dashboard.css", "text/css; charset=utf-8", include_str!("assets/dashboard.css")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    ("app.js", SCRIPT, include_str!("assets/app.js")),
    ("clock.js", SCRIPT, include_str!("assets/clock.js")),
    ("copy.js", SCRIPT, include_str!("assets/copy.js")),
    ("forms.js", SCRIPT, include_str!("assets/forms.js")),
    ("keyboard.js", SCRIPT, include_str!("assets/keyboard.js")),
    ("live.js", SCRIPT, include_str!("assets/live.js")),
    ("morph.js", SCRIPT, include_str!("assets/morph.js")),
    ("navigation.js", SCRIPT, include_str!("assets/navigation.js")),
    ("status.js", SCRIPT, include_str!("assets/status.js")),
];

/// `GET /dashboard/assets/{name}`.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    let asset = ASSETS.iter().find(|(known, ..)| *known == name);
    match asset {
        Some((_, content_type, content)) => {
            ([(CONTENT_TYPE, *content_type)], *content).into_response()
        }
        None => super::plain(StatusCode::NOT_FOUND, "no such file\n"),
    }
}
