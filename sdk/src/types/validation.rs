//! Validation of request bodies before they are sent.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use crate::contract::limits::{
    MAX_WEBHOOK_URL_LENGTH, REFERENCE_IMAGE_URLS_RANGE, REFERENCE_VIDEO_URLS_RANGE,
};

/// An error returned when a field of a request is invalid. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    field: Cow<'static, str>,
    reason: Cow<'static, str>,
}

impl InvalidField {
    /// Creates an error from the field's name and the reason.
    #[must_use]
    pub fn new(field: impl Into<Cow<'static, str>>, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    /// Returns the field's name in JSON, with its path if it is nested.
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// Returns what is wrong with the field, and what is accepted.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Prepends the object that the field is in.
    pub(super) fn within(self, object: impl fmt::Display) -> Self {
        Self { field: format!("{object}.{}", self.field).into(), reason: self.reason }
    }
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.reason)
    }
}

impl std::error::Error for InvalidField {}

/// A request body that can be validated before it is sent.
pub trait Validate {
    /// Checks the documented constraints that do not depend on the model.
    ///
    /// # Errors
    ///
    /// Returns an error for the first invalid field.
    fn validate(&self) -> Result<(), InvalidField> {
        Ok(())
    }
}

pub(crate) fn https_url(field: &'static str, url: Option<&String>) -> Result<(), InvalidField> {
    let Some(url) = url else { return Ok(()) };
    let scheme_ok = url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    let host = url.get(8..).and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if !scheme_ok || host.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(InvalidField::new(field, "must be an https:// URL with a host"));
    }
    Ok(())
}

/// Checks the URL of a medium. Plain http is accepted for loopback hosts only, which is how a mock of
/// the service serves the artifacts of earlier jobs.
pub(crate) fn media_url(field: &'static str, url: Option<&String>) -> Result<(), InvalidField> {
    let is_loopback = |url: &String| {
        let host = url.strip_prefix("http://");
        let host = host.and_then(|rest| rest.split(['/', '?', '#']).next());
        let is_host = |name: &str| {
            let port = host.and_then(|host| host.strip_prefix(name));
            port.is_some_and(|port| port.is_empty() || port.starts_with(':'))
        };
        ["127.0.0.1", "localhost", "[::1]"].into_iter().any(is_host)
            && !url.chars().any(|c| c.is_whitespace() || c.is_control())
    };
    if url.is_some_and(is_loopback) {
        return Ok(());
    }
    https_url(field, url)
}

pub(crate) fn webhook_url(url: Option<&String>) -> Result<(), InvalidField> {
    https_url("webhook_url", url)?;
    if url.is_some_and(|url| url.chars().count() > MAX_WEBHOOK_URL_LENGTH) {
        return Err(InvalidField::new("webhook_url", "must have at most 2048 characters"));
    }
    Ok(())
}

fn media_urls(
    field: &'static str,
    urls: &[String],
    count: RangeInclusive<usize>,
) -> Result<(), InvalidField> {
    if !urls.is_empty() && !count.contains(&urls.len()) {
        let reason = format!("must have {} to {} items", count.start(), count.end());
        return Err(InvalidField::new(field, reason));
    }
    urls.iter().try_for_each(|url| media_url(field, Some(url)))
}

/// Checks the input URLs of a video generation.
pub(crate) fn video_inputs(
    image_url: Option<&String>,
    end_image_url: Option<&String>,
    reference_image_urls: &[String],
    reference_video_urls: &[String],
) -> Result<(), InvalidField> {
    media_url("image_url", image_url)?;
    media_url("end_image_url", end_image_url)?;
    media_urls("reference_image_urls", reference_image_urls, REFERENCE_IMAGE_URLS_RANGE)?;
    media_urls("reference_video_urls", reference_video_urls, REFERENCE_VIDEO_URLS_RANGE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::*;

    /// Returns the field that is invalid; empty if none is.
    fn invalid(body: impl Validate) -> String {
        body.validate().err().map(|error| error.field().to_owned()).unwrap_or_default()
    }

    #[test]
    fn validation_names_the_invalid_field() {
        let video = || VideoGenerate::new("auto");
        let photo = AvatarInput::photo("http://a/1");
        let talking = AvatarTalkingVideo::new("ada");
        let preview = AvatarPreviewCreate::new("ada").script("s").video_inputs(json!([]));
        let swap = || AvatarFaceSwap::new("ada");
        let top_up = |amount: &str| TopUpCreate::new(amount.parse().unwrap());
        for (field, expected) in [
            (invalid(video().image_url("http://a/1")), "image_url"),
            (invalid(video().end_image_url("file:///etc/passwd")), "end_image_url"),
            (
                invalid(video().reference_image_urls(vec!["https://a/1"; 11])),
                "reference_image_urls",
            ),
            (invalid(video().reference_video_urls(vec!["https://a/1"; 6])), "reference_video_urls"),
            (
                invalid(video().webhook_url(format!("https://a/{}", "x".repeat(2048)))),
                "webhook_url",
            ),
            // Ranges that depend on the model are not validated.
            (invalid(video().duration(9999)), ""),
            (invalid(AvatarGenerate::new("mia").input(photo)), "input.image_url"),
            (invalid(talking), "script"),
            (invalid(preview), "script"),
            (invalid(VideoCaptionsCreate::new("file:///x")), "video_url"),
            (invalid(swap()), "video_url"),
            (invalid(swap().image_url("http://a/1")), "image_url"),
            (invalid(top_up("20.505")), "amount_usd_cents"),
        ] {
            assert_eq!(field, expected);
        }
    }

    #[test]
    fn validation_names_the_invalid_field_of_a_run() {
        let run = || FormatRunCreate::new("x");
        let schema = OutputSchema::new(json!({"type": "object"})).unwrap();
        let both = run().output_schema(schema).response_format(json!({}));
        let wide = (0..65).fold(run(), |run, n| run.input(n.to_string(), n));
        let cap = |micros| invalid(run().generation_spend_cap_usd(Usd::from_micros(micros)));
        let url = Attachment::from_url;
        let twice = Attachment { asset_id: Some("a".into()), ..url("https://a") };
        let unknown = Attachment { url: None, ..url("").field("file_id", "f") };
        let hook = |url: &str| Communication::default().webhook_url(url);
        let hooked = run().webhook_url("https://a.example");
        let bulk = |count| BulkRunCreate::new(vec![run(); count]);
        for (field, expected) in [
            (invalid(FormatRunCreate::default()), "instruction"),
            (invalid(FormatRunCreate::continue_from("run_1")), ""),
            (invalid(both), "response_format"),
            (invalid(wide), "input"),
            (invalid(run().input("a", "x".repeat(2 * 1024 * 1024))), "input"),
            (invalid(run().attachments([url("http://a.example")])), "attachments"),
            (invalid(run().attachments([twice])), "attachments"),
            (invalid(run().attachments([unknown])), ""),
            (cap(0), "generation_spend_cap_usd"),
            (cap(-1), "generation_spend_cap_usd"),
            (cap(1), ""),
            (cap(500_000_000), ""),
            (cap(500_000_001), "generation_spend_cap_usd"),
            (invalid(run().webhook_url("http://a.example")), "webhook_url"),
            (invalid(run().communication(hook("http://a.example"))), "communication.webhook_url"),
            (invalid(hooked.communication(hook("https://b.example"))), "communication.webhook_url"),
            (invalid(bulk(0)), "items"),
            (invalid(bulk(101)), "items"),
            (invalid(bulk(1).concurrency(0)), "concurrency"),
            (invalid(bulk(1).concurrency(17)), "concurrency"),
            (invalid(bulk(100).concurrency(16)), ""),
            (
                invalid(BulkRunCreate::new([run(), FormatRunCreate::default()])),
                "items[1].instruction",
            ),
        ] {
            assert_eq!(field, expected);
        }
    }

    #[test]
    fn media_urls_may_be_on_a_loopback_host() {
        for (url, is_accepted) in [
            ("https://a.example/x.png", true),
            ("http://127.0.0.1:4012/artifacts/x.png", true),
            ("http://localhost/x.png", true),
            ("http://[::1]:4012/x.png", true),
            ("http://a.example/x.png", false),
            ("http://127.0.0.1.example/x.png", false),
            ("http://localhost@a.example/x.png", false),
            ("http://127.0.0.1/x y", false),
            ("ftp://127.0.0.1/x.png", false),
        ] {
            let result = media_url("image_url", Some(&url.to_owned()));
            assert_eq!(result.is_ok(), is_accepted, "{url}");
        }
        assert!(webhook_url(Some(&"http://127.0.0.1/hook".to_owned())).is_err());
    }

    #[test]
    fn accepts_https_urls_with_a_host() {
        for good in ["https://a.example/x.png", "HTTPS://a.example", "https://1.2.3.4/x?y#z"] {
            assert!(https_url("image_url", Some(&good.to_owned())).is_ok(), "{good}");
        }
        for bad in ["http://a.example", "https://", "https:///x", "ftp://a", "", "a", "https://a b"]
        {
            assert!(https_url("image_url", Some(&bad.to_owned())).is_err(), "{bad}");
        }
    }
}
