//! Limits that the service documents.
//!
//! The SDK checks only what is never valid: [`IDEMPOTENCY_KEY_LENGTH_RANGE`], the sizes of arrays, and URLs
//! that are not HTTPS URLs. Ranges that depend on the model are checked by the service.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The valid amounts of a top-up, in cents.
pub const TOP_UP_CENTS_RANGE: RangeInclusive<u64> = 500..=1_000_000;
/// The valid lengths of an idempotency key, in printable ASCII characters.
pub const IDEMPOTENCY_KEY_LENGTH_RANGE: RangeInclusive<usize> = 1..=255;
/// How long the service remembers an idempotency key. Assumed.
pub const IDEMPOTENCY_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
/// The valid values of `wait_timeout_seconds`.
pub const WAIT_TIMEOUT_SECONDS_RANGE: RangeInclusive<u64> = 0..=30;
/// The valid number of items in `reference_image_urls`.
pub const REFERENCE_IMAGE_URLS_RANGE: RangeInclusive<usize> = 1..=10;
/// The valid number of items in `reference_video_urls`.
pub const REFERENCE_VIDEO_URLS_RANGE: RangeInclusive<usize> = 1..=5;
/// The valid number of images of a generation. Some models accept fewer.
pub const NUM_IMAGES_RANGE: RangeInclusive<u64> = 1..=4;
/// The valid number of items in `video_inputs`.
pub const VIDEO_INPUTS_RANGE: RangeInclusive<usize> = 1..=50;
/// The valid number of results of a search.
pub const SEARCH_LIMIT_RANGE: RangeInclusive<u64> = 1..=50;
/// The valid number of items on a page of a list.
pub const PAGE_LIMIT_RANGE: RangeInclusive<u64> = 1..=1000;
/// The maximum number of attachments of a run.
pub const MAX_ATTACHMENTS: usize = 50;
/// The maximum size of a request body for a Format run, in bytes.
pub const MAX_REQUEST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of top-level keys in the `input` of a Format run.
pub const MAX_RUN_INPUT_KEYS: usize = 64;
/// The maximum size of the `input` of a Format run, in bytes.
pub const MAX_RUN_INPUT_BYTES: usize = 2 * 1024 * 1024;
/// The maximum spend cap, in dollars. A spend cap must be greater than 0.
pub const MAX_SPEND_CAP_USD: u64 = 500;
/// The spend cap of a Format whose owner never set one, in dollars.
pub const DEFAULT_FORMAT_SPEND_CAP_USD: u64 = 400;
/// The maximum size of an attached image, in bytes.
pub const MAX_ATTACHMENT_IMAGE_BYTES: u64 = 30_000_000;
/// The maximum total size of a run's attachments, in bytes.
pub const MAX_ATTACHMENTS_TOTAL_BYTES: u64 = 500_000_000;
/// The valid number of runs in a bulk queue.
pub const BULK_ITEMS_RANGE: RangeInclusive<usize> = 1..=100;
/// The valid number of concurrent runs in a bulk queue.
pub const BULK_CONCURRENCY_RANGE: RangeInclusive<u64> = 1..=16;
/// The maximum length of a webhook URL, in characters.
pub const MAX_WEBHOOK_URL_LENGTH: usize = 2048;
/// The maximum number of attempts to deliver a webhook event.
pub const MAX_WEBHOOK_ATTEMPTS: u32 = 10;
/// The time in which a webhook receiver must respond.
pub const WEBHOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of a receipt in a webhook event, in bytes. A larger receipt is sent as `null`.
pub const MAX_WEBHOOK_RECEIPT_BYTES: usize = 1024 * 1024;
/// How long the previous secret signs as well after a rotation.
pub const ROTATION_OVERLAP: Duration = Duration::from_secs(24 * 60 * 60);
/// The suggested timeout when waiting for a video.
pub const SUGGESTED_VIDEO_TIMEOUT: Duration = Duration::from_secs(20 * 60);
