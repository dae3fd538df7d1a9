//! Numbers that the service holds its callers to.
//!
//! The SDK refuses on its own only what can never be right ([`IDEMPOTENCY_KEY_LENGTH`], the array
//! sizes, a URL that is no HTTPS URL). Ranges that depend on the model are the service's to judge.

use std::ops::RangeInclusive;
use std::time::Duration;

/// Cents that a top-up may have.
pub const TOP_UP_CENTS: RangeInclusive<u64> = 500..=1_000_000;
/// Printable ASCII characters that an idempotency key may have.
pub const IDEMPOTENCY_KEY_LENGTH: RangeInclusive<usize> = 1..=255;
/// How long the service keeps an idempotency key. Assumed.
pub const IDEMPOTENCY_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// Seconds that `wait_timeout_seconds` may have.
pub const WAIT_TIMEOUT_SECONDS: RangeInclusive<u64> = 0..=30;
/// Items that `reference_image_urls` may have.
pub const REFERENCE_IMAGE_URLS: RangeInclusive<usize> = 1..=10;
/// Items that `reference_video_urls` may have.
pub const REFERENCE_VIDEO_URLS: RangeInclusive<usize> = 1..=5;
/// Bytes of a Format run's request body.
pub const REQUEST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Top-level keys of a Format run's `input`.
pub const RUN_INPUT_KEYS: usize = 64;
/// Bytes of a Format run's `input`.
pub const RUN_INPUT_BYTES: usize = 2 * 1024 * 1024;
/// Dollars that a spend cap may have at most; it is above 0.
pub const SPEND_CAP_USD: u64 = 500;
/// Dollars of a Format's spend cap that never set one.
pub const DEFAULT_FORMAT_CAP_USD: u64 = 400;
/// Bytes of an attached image.
pub const ATTACHMENT_IMAGE_BYTES: u64 = 30_000_000;
/// Bytes of all attachments of a run.
pub const ATTACHMENT_SET_BYTES: u64 = 500_000_000;
/// Runs of a bulk queue.
pub const BULK_ITEMS: RangeInclusive<usize> = 1..=100;
/// Runs of a bulk queue that may be at work at once.
pub const BULK_CONCURRENCY: RangeInclusive<u64> = 1..=16;
/// Characters of a webhook URL.
pub const WEBHOOK_URL_LENGTH: usize = 2048;
/// Attempts to deliver a webhook.
pub const WEBHOOK_ATTEMPTS: u32 = 10;
/// Time that a receiver has for an attempt.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// How far a webhook's timestamp may be from now.
pub const REPLAY_WINDOW: Duration = Duration::from_secs(300);
/// Bytes above which a receipt in a webhook becomes `null`.
pub const WEBHOOK_RECEIPT_BYTES: usize = 1024 * 1024;
/// How long both secrets sign after a rotation.
pub const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a client may reasonably wait for a video.
pub const SUGGESTED_VIDEO_DEADLINE: Duration = Duration::from_secs(20 * 60);
