//! Exports traces of calls, waits and downloads to an OpenTelemetry collector, by OTLP over HTTP.
//!
//! Without `OTEL_EXPORTER_OTLP_ENDPOINT`, the program is its own collector, and prints the spans that it
//! received:
//!
//! ```console
//! $ cargo run -p svc-examples --features otlp --example export_traces
//! ```

#![allow(clippy::print_stdout, reason = "an example that prints")]

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::routing::post;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use prost::Message;
use svc_sdk::observe::{AttemptStart, Observer};
use svc_sdk::open;
use svc_sdk::types::ImageGenerate;
use tracing::{Instrument, Level};
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut exporter = SpanExporter::builder().with_http();
    let collector = match std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT") {
        Some(_) => None,
        None => Some(Collector::start().await?),
    };
    if let Some(collector) = &collector {
        exporter = exporter.with_endpoint(&collector.url);
    }
    let provider = SdkTracerProvider::builder()
        .with_resource(Resource::builder().with_service_name("svc-example").build())
        .with_batch_exporter(exporter.build()?)
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("svc"))
        // Not the spans of the exporter's own requests.
        .with_filter(
            Targets::new()
                .with_target("svc_sdk", Level::DEBUG)
                .with_target("export_traces", Level::INFO),
        );
    tracing_subscriber::registry().with(layer).init();

    let span = tracing::info_span!("generate");
    generate().instrument(span).await?;

    // Exports what is left, which blocks.
    tokio::task::spawn_blocking(move || provider.shutdown()).await??;
    if let Some(collector) = collector {
        collector.print_spans();
    }
    Ok(())
}

async fn generate() -> svc_sdk::Result<()> {
    let client = open::ClientBuilder::from_env()?.observer(TraceParent).build()?;
    let body = ImageGenerate::new("image-i").prompt("a red fox in snow");
    let job = client.images().generate(body).await?;
    job.wait().await?;
    job.download("out").await?;
    Ok(())
}

/// Adds the header `traceparent` to each request, so that the service can continue the trace.
struct TraceParent;

impl Observer for TraceParent {
    fn on_attempt_start(&self, attempt: &mut AttemptStart<'_>) {
        let mut headers = HashMap::new();
        let context = tracing::Span::current().context();
        TraceContextPropagator::new().inject_context(&context, &mut headers);
        for (name, value) in &headers {
            // The propagator makes valid headers.
            let _ = attempt.set_header(name, value);
        }
    }
}

/// A collector on a free port of this machine.
struct Collector {
    url: String,
    received: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    async fn start() -> Result<Self, Box<dyn Error>> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/v1/traces", listener.local_addr()?);
        let received = Arc::<Mutex<Vec<Span>>>::default();
        let spans = Arc::clone(&received);
        let collect = post(async move |body: Bytes| {
            if let Ok(request) = ExportTraceServiceRequest::decode(body) {
                let scopes = request.resource_spans.into_iter().flat_map(|it| it.scope_spans);
                let mut received = spans.lock().unwrap_or_else(PoisonError::into_inner);
                received.extend(scopes.flat_map(|scope| scope.spans));
            }
        });
        let router = axum::Router::new().route("/v1/traces", collect);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { url, received })
    }

    /// Prints the spans as a tree.
    fn print_spans(&self) {
        let mut spans = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        spans.sort_by_key(|span| span.start_time_unix_nano);
        println!("received {} spans", spans.len());
        print_children(&spans, &[], 1);
    }
}

fn print_children(spans: &[Span], parent: &[u8], depth: usize) {
    for span in spans.iter().filter(|span| span.parent_span_id == parent) {
        let milliseconds =
            span.end_time_unix_nano.saturating_sub(span.start_time_unix_nano) / 1_000_000;
        let indent = "  ".repeat(depth);
        println!("{indent}{}: {milliseconds} ms, {} events", span.name, span.events.len());
        print_children(spans, &span.span_id, depth + 1);
    }
}
