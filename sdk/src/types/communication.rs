//! Communication fields: how a request is answered and how its end is reported.

use super::request::request_body;
use crate::open_enum::open_enum;

open_enum! {
    /// How a submission is answered. Runs accept `async` and `webhook`.
    pub enum Mode {
        /// Immediately, with a receipt. The default.
        Async = "async",
        /// Immediately, with a receipt; a webhook reports the end.
        Webhook = "webhook",
        /// When the job is terminal or `wait_timeout_seconds` have passed.
        Sync = "sync",
        /// Same as `sync`.
        Subscribe = "subscribe",
    }
}

request_body! {
    /// The communication fields of a run in an object. Its fields are assumed.
    ///
    /// ```
    /// use svc_sdk::types::{Communication, FormatRunCreate, Mode};
    ///
    /// let communication = Communication::default()
    ///     .mode(Mode::Webhook)
    ///     .webhook_url("https://hooks.example/svc");
    /// let body = FormatRunCreate::new("A teaser").communication(communication);
    /// assert_eq!(
    ///     serde_json::to_value(&body)?["communication"],
    ///     serde_json::json!({"mode": "webhook", "webhook_url": "https://hooks.example/svc"}),
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Communication {
        /// Whether a webhook reports the end of the run: `async` or `webhook`.
        mode: [Mode],
        /// The URL that receives the terminal receipt: public HTTPS, at most 2048 characters.
        webhook_url: text,
        /// Accepted, and without effect on a run, in seconds: 0 to 30.
        wait_timeout_seconds: integer,
    }
}
