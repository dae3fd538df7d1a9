//! Checkout pages of top-ups, on the media host.

use bytes::Bytes;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Response};
use svc_sdk::contract::TopUpStatus;
use svc_sdk::types::Usd;

use super::response::{response, set_header};
use crate::engine::top_ups::TopUp;
use crate::engine::{Host, HostRequest, Hosts, State};

const HTML: &str = "text/html; charset=utf-8";

/// The maximum length of a submitted form. The rest is ignored.
const MAX_FORM_BYTES: usize = 4096;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;margin:0;background:#f4f5f7;color:#16181d}\
main{max-width:26rem;margin:12vh auto;padding:2rem;background:#fff;border:1px solid #d4d7dd;border-radius:12px}\
h1{font-size:1.25rem;margin:0 0 1rem}dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1.5rem;margin:0 0 1.5rem}\
dt{color:#565b66}dd{margin:0;text-align:right;overflow-wrap:anywhere}.amount{font-size:1.5rem;font-weight:600}\
form{display:flex;gap:.5rem;flex-wrap:wrap}button{font:inherit;padding:.6rem 1.1rem;border-radius:8px;border:1px solid #767b86;background:#fff;color:inherit;cursor:pointer}\
button.pay{background:#0b57d0;border-color:#0b57d0;color:#fff;flex:1}button:focus-visible,a:focus-visible{outline:3px solid #0b57d0;outline-offset:2px}\
a{color:#0b57d0}@media (prefers-color-scheme:dark){body{background:#16181d;color:#eceef2}main{background:#1f2229;border-color:#3a3f4a}\
dt{color:#a8adb8}button{background:#2a2e37;border-color:#8b909b}button.pay{background:#8ab4f8;border-color:#8ab4f8;color:#10131a}a{color:#8ab4f8}}";

/// Serves the page, or settles the top-up when one of its buttons was pressed.
pub(super) fn respond(
    state: &mut State,
    hosts: &Hosts,
    call: &HostRequest,
    token: &str,
    request_id: &str,
) -> Response<Bytes> {
    let page = |status: u16, title: &str, body: &str| {
        response(status, request_id, page_headers(), HTML, html_page(title, body))
    };
    let Some(top_up) = state.top_ups.by_token(token).cloned() else {
        return page(
            404,
            "Checkout not found",
            "<p>This checkout does not exist. The link may be incomplete.</p>",
        );
    };
    match *call.request.method() {
        Method::GET | Method::HEAD => page(200, "Top up your balance", &page_body(&top_up, hosts)),
        Method::POST => {
            let Some(status) = submitted_status(call.request.body()) else {
                let body = "<p>Use one of the buttons on the checkout page.</p>";
                return page(400, "Invalid form", body);
            };
            // A top-up that was already settled is left unchanged, and the page shows its status.
            let settled = match state.settle_top_up(&top_up.id, status) {
                Ok(settled) => settled,
                Err(_) => state.top_ups.get(&top_up.id).unwrap_or(&top_up),
            };
            match settled.redirect_url() {
                Some(url) => {
                    let body = html_page("Redirecting", &page_body(settled, hosts));
                    let mut response = response(303, request_id, page_headers(), HTML, body);
                    set_header(&mut response, LOCATION, url);
                    response
                }
                None => page(200, "Top up your balance", &page_body(settled, hosts)),
            }
        }
        _ => {
            let mut headers = page_headers();
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
            let body = html_page("Method not allowed", "<p>Use GET, HEAD or POST.</p>");
            response(405, request_id, headers, HTML, body)
        }
    }
}

/// Returns the status that the pressed button selects.
fn submitted_status(form: &Bytes) -> Option<TopUpStatus> {
    let form = form.get(..form.len().min(MAX_FORM_BYTES))?;
    let mut fields = url::form_urlencoded::parse(form);
    let status =
        fields.find(|(name, _)| name == "status").map(|(_, value)| TopUpStatus::from(&*value));
    status.filter(TopUpStatus::is_terminal)
}

fn page_headers() -> HeaderMap {
    const POLICY: &str =
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'";
    let headers = [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect()
}

fn page_body(top_up: &TopUp, hosts: &Hosts) -> String {
    let summary = format!(
        "<dl><dt>Amount</dt><dd class=\"amount\">{}</dd><dt>Status</dt><dd role=\"status\">{}</dd>\
<dt>Top-up</dt><dd>{}</dd></dl>",
        dollars(top_up.amount()),
        escape_html(top_up.status.as_str()),
        escape_html(&top_up.id)
    );
    let content = match top_up.status {
        TopUpStatus::Pending => {
            let action = format!("{}/checkout/{}", hosts.prefix(Host::Media), top_up.token);
            format!(
                "<form method=\"post\" action=\"{}\">\
<button class=\"pay\" type=\"submit\" name=\"status\" value=\"paid\">Pay</button>\
<button type=\"submit\" name=\"status\" value=\"failed\">Fail the payment</button>\
<button type=\"submit\" name=\"status\" value=\"expired\">Close without paying</button></form>",
                escape_html(&action)
            )
        }
        TopUpStatus::Paid => "<p>Paid. The amount was added to your balance.</p>".to_owned(),
        TopUpStatus::Failed => "<p>The payment failed. Nothing was charged.</p>".to_owned(),
        _ => "<p>This checkout has expired. Start a new top-up to pay.</p>".to_owned(),
    };
    let continue_link = top_up
        .redirect_url()
        .map(|url| format!("<p><a href=\"{}\">Continue</a></p>", escape_html(url)));
    format!("{summary}{content}{}", continue_link.unwrap_or_default())
}

/// Returns an HTML document without external resources.
fn html_page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
<title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>{body}</main></body></html>\n"
    )
}

fn dollars(amount: Usd) -> String {
    let cents = amount.as_micros() / 10_000;
    format!("${}.{:02}", cents / 100, cents % 100)
}

/// Escapes text for HTML content and attributes.
fn escape_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Time;

    #[test]
    fn pages_show_the_top_up_and_escape_html() {
        let top_up = TopUp {
            id: "top_<b>\"&'".to_owned(),
            workspace: "ws_demo".to_owned(),
            status: TopUpStatus::Pending,
            cents: 123_456,
            token: "t".to_owned(),
            success_url: None,
            cancel_url: None,
            created_at: Time::default(),
        };
        let page = page_body(&top_up, &Hosts::default());
        assert!(page.contains("$1234.56") && page.contains("pending"), "{page}");
        assert!(page.contains("top_&lt;b&gt;&quot;&amp;&#39;"), "{page}");
        assert!(page.contains("action=\"/checkout/t\""), "{page}");
    }
}
