//! Connections to NATS servers, and the stream of the inbox.

use std::fmt;
use std::time::Duration;

use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{Context, message::PublishMessage};
use async_nats::{Client, ConnectOptions};

use crate::clock::Clock;
use crate::store::{EventStoreError, EventStoreErrorKind};

/// The time to wait for a connection or a response, so that a delivery is answered in time.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The size of the largest deliveries: a receipt of 1 MiB, its envelope and the headers.
const MAX_DELIVERY_BYTES: usize = 5 * 1024 * 1024 / 4;

/// The stream of a [`NatsEventStore`](crate::NatsEventStore).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NatsOptions {
    /// The name of the stream, and the first part of its subjects. It is created if it does not
    /// exist. The default is `svc-webhook-inbox`.
    pub stream_name: String,
    /// The number of servers that store each message, when the stream is created. The default is 1;
    /// with 3, accepted events survive the loss of a server and of its disk.
    pub replicas: usize,
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self { stream_name: "svc-webhook-inbox".to_owned(), replicas: 1 }
    }
}

pub(super) async fn connect(address: &str) -> Result<Client, EventStoreError> {
    let addresses: Result<Vec<_>, _> =
        address.split(',').map(str::parse::<async_nats::ServerAddr>).collect();
    let addresses = addresses.map_err(|_| {
        let message = "invalid NATS address: expected one such as nats://127.0.0.1:4222";
        EventStoreError::new(EventStoreErrorKind::Invalid, message)
    })?;
    let options = ConnectOptions::new()
        .connection_timeout(TIMEOUT)
        .request_timeout(Some(TIMEOUT))
        .name("svc-webhook-inbox");
    let client = options.connect(addresses).await;
    client.map_err(|error| EventStoreError::unavailable("cannot connect to NATS", error))
}

/// Opens the stream, and creates it if it does not exist.
pub(super) async fn open_stream(
    client: &Client,
    options: &NatsOptions,
) -> Result<(Context, Stream), EventStoreError> {
    let name = &options.stream_name;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || !name.chars().all(is_allowed) {
        let message = format!(
            "invalid stream name `{name}`: expected letters, digits, hyphens and underscores"
        );
        return Err(EventStoreError::new(EventStoreErrorKind::Invalid, message));
    }
    let max_payload = client.server_info().max_payload;
    if max_payload < MAX_DELIVERY_BYTES {
        tracing::warn!(
            max_payload,
            "the NATS server rejects the largest deliveries; set its max_payload to 4MB"
        );
    }
    let context = ContextBuilder::new().timeout(TIMEOUT).build(client.clone());
    let config = Config {
        name: name.clone(),
        description: Some("webhook events of svc-webhook-inbox".to_owned()),
        subjects: vec![format!("{name}.>")],
        retention: RetentionPolicy::Limits,
        // A full stream rejects new events rather than remove old ones.
        discard: DiscardPolicy::New,
        max_messages_per_subject: 1,
        storage: StorageType::File,
        num_replicas: options.replicas,
        ..Config::default()
    };
    let stream = context.get_or_create_stream(config).await;
    let stream = stream.map_err(|error| nats_error("cannot open the stream", error))?;
    Ok((context, stream))
}

/// Returns by how many milliseconds the clock of the server is ahead of the one of this machine.
pub(super) async fn clock_offset(
    context: &Context,
    stream: &Stream,
    name: &str,
) -> Result<i64, EventStoreError> {
    let clock = Clock::system();
    let before = clock.millis();
    let subject = format!("{name}.clock");
    let sequence = publish(context, subject, PublishMessage::build()).await;
    let after = clock.millis();
    let cannot_read =
        |error: &dyn fmt::Display| nats_error("cannot read the server's clock", error);
    let sequence = sequence.map_err(|error| cannot_read(&error))?;
    let message = stream.get_raw_message(sequence).await;
    let at = match message {
        Ok(message) => message.time.unix_timestamp_nanos() / 1_000_000,
        // Another process has replaced the message in between: its clock was read as well.
        Err(_) => return Ok(0),
    };
    let at = i64::try_from(at).unwrap_or(after);
    Ok(at - (before + (after - before) / 2))
}

/// Publishes a message and waits until it is stored. Returns its sequence number.
pub(super) async fn publish(
    context: &Context,
    subject: String,
    message: PublishMessage,
) -> Result<u64, async_nats::jetstream::context::PublishError> {
    Ok(context.send_publish(subject, message).await?.await?.sequence)
}

pub(super) fn nats_error(what: &str, error: impl fmt::Display) -> EventStoreError {
    EventStoreError::unavailable(&format!("NATS: {what}"), error)
}
