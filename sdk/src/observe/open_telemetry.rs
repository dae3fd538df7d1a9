//! Metrics for OpenTelemetry.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};

use super::observer::{AttemptEnd, CallEnd, CallStart, Observer};
use crate::call::request::Request;
use crate::contract::Operation;

/// The boundaries that the semantic conventions advise for durations of requests, in seconds.
const REQUEST_BOUNDARIES: [f64; 14] =
    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// The same for calls, which may wait for the rate limit and be retried.
const CALL_BOUNDARIES: [f64; 13] =
    [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 150.0];

/// An [`Observer`] that records metrics with OpenTelemetry.
///
/// | metric | type | unit | what |
/// |---|---|---|---|
/// | `http.client.request.duration` | histogram | `s` | the time of each attempt that was answered or failed |
/// | `svc.call.duration` | histogram | `s` | the time of each call, with its retries and pauses; its count is the number of calls |
/// | `svc.call.active` | up-down counter | `{call}` | the calls in flight |
/// | `svc.call.retries` | counter | `{retry}` | the attempts that were repeated |
///
/// All have the attribute `svc.operation`, unless the request is of no known
/// [operation](crate::contract::Operation). `error.type` is absent on success, and otherwise one of few
/// words: see the [module](super). The metric of attempts also has `http.request.method`,
/// `server.address`, `server.port` and `http.response.status_code`.
///
/// ```no_run
/// use svc_sdk::observe::OpenTelemetryMetrics;
///
/// # fn run() -> svc_sdk::Result<()> {
/// let meter = opentelemetry::global::meter("shop");
/// let client = svc_sdk::open::ClientBuilder::from_env()?
///     .observer(OpenTelemetryMetrics::new(&meter))
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct OpenTelemetryMetrics {
    request_duration: Histogram<f64>,
    call_duration: Histogram<f64>,
    active_calls: UpDownCounter<i64>,
    retries: Counter<u64>,
}

impl OpenTelemetryMetrics {
    /// Creates the metrics with a meter of the program.
    #[must_use]
    pub fn new(meter: &Meter) -> Self {
        Self {
            request_duration: meter
                .f64_histogram("http.client.request.duration")
                .with_unit("s")
                .with_description("Duration of HTTP client requests.")
                .with_boundaries(REQUEST_BOUNDARIES.to_vec())
                .build(),
            call_duration: meter
                .f64_histogram("svc.call.duration")
                .with_unit("s")
                .with_description("Duration of calls, with their retries and pauses.")
                .with_boundaries(CALL_BOUNDARIES.to_vec())
                .build(),
            active_calls: meter
                .i64_up_down_counter("svc.call.active")
                .with_unit("{call}")
                .with_description("Number of calls in flight.")
                .build(),
            retries: meter
                .u64_counter("svc.call.retries")
                .with_unit("{retry}")
                .with_description("Number of attempts that were repeated.")
                .build(),
        }
    }
}

impl Observer for OpenTelemetryMetrics {
    fn on_call_start(&self, call: &CallStart<'_>) {
        self.active_calls.add(1, &attributes(call.request, None));
    }

    fn on_attempt_end(&self, attempt: &AttemptEnd<'_>) {
        let mut attributes = attributes(attempt.request, attempt.error_type());
        if attempt.retry_delay.is_some() {
            self.retries.add(1, &attributes);
        }
        let request = [
            KeyValue::new("http.request.method", attempt.request.method.as_str()),
            KeyValue::new("server.address", attempt.server_address.to_owned()),
            KeyValue::new("server.port", i64::from(attempt.server_port)),
        ];
        attributes.extend(request);
        if let Some(status) = attempt.status() {
            attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
        }
        self.request_duration.record(attempt.duration.as_secs_f64(), &attributes);
    }

    fn on_call_end(&self, call: &CallEnd<'_>) {
        self.active_calls.add(-1, &attributes(call.request, None));
        let attributes = attributes(call.request, call.error_type());
        self.call_duration.record(call.duration.as_secs_f64(), &attributes);
    }
}

fn attributes(
    request: &Request,
    error_type: Option<std::borrow::Cow<'static, str>>,
) -> Vec<KeyValue> {
    let operation = request.operation.map(Operation::name);
    let operation = operation.map(|name| KeyValue::new("svc.operation", name));
    let error_type = error_type.map(|word| KeyValue::new("error.type", word));
    operation.into_iter().chain(error_type).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use opentelemetry::metrics::MeterProvider;
    use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ScopeMetrics};
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};

    use super::*;
    use crate::call::clock;
    use crate::client::Client;
    use crate::surface::Open;
    use crate::transport::scripted::{Script, ScriptedTransport, Step, builder, busy, json};

    struct Meters {
        provider: SdkMeterProvider,
        exporter: InMemoryMetricExporter,
    }

    impl Meters {
        fn new() -> Self {
            let exporter = InMemoryMetricExporter::default();
            let provider =
                SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
            Self { provider, exporter }
        }

        fn client(&self, script: &Arc<Script>) -> Client<Open> {
            let metrics = OpenTelemetryMetrics::new(&self.provider.meter("test"));
            builder(ScriptedTransport(Arc::clone(script))).observer(metrics).build().unwrap()
        }

        /// Returns the points of all metrics, each with its attributes and its value.
        fn points(&self) -> Vec<String> {
            self.exporter.reset();
            self.provider.force_flush().unwrap();
            let mut points = Vec::new();
            for metrics in self.exporter.get_finished_metrics().unwrap() {
                for metric in metrics.scope_metrics().flat_map(ScopeMetrics::metrics) {
                    let mut add = |attributes: &mut dyn Iterator<Item = &KeyValue>,
                                   value: String| {
                        let mut attributes: Vec<_> =
                            attributes.map(|it| format!("{}={}", it.key, it.value)).collect();
                        attributes.sort();
                        points.push(format!("{} {}: {value}", metric.name(), attributes.join(" ")));
                    };
                    match metric.data() {
                        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                            for point in histogram.data_points() {
                                let value = format!("{} in {} s", point.count(), point.sum());
                                add(&mut point.attributes(), value);
                            }
                        }
                        AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                            for point in sum.data_points() {
                                add(&mut point.attributes(), point.value().to_string());
                            }
                        }
                        AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                            for point in sum.data_points() {
                                add(&mut point.attributes(), point.value().to_string());
                            }
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
            points.sort();
            points
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_attempts_and_retries_are_counted_by_operation() {
        let job = r#"{"data": {"id": "job_1", "status": "completed"}}"#;
        let missing = r#"{"error": {"code": "job_not_found", "message": "missing"}}"#;
        let script = Script::new([busy(2), json(200, job), json(404, missing)]);
        let meters = Meters::new();
        let client = meters.client(&script);
        client.jobs().handle("job_1").get().await.unwrap();
        client.jobs().handle("job_2").get().await.unwrap_err();

        let expected = [
            "http.client.request.duration error.type=404 http.request.method=GET http.response.status_code=404 server.address=api.example server.port=443 svc.operation=jobs_get: 1 in 0 s",
            "http.client.request.duration error.type=503 http.request.method=GET http.response.status_code=503 server.address=api.example server.port=443 svc.operation=jobs_get: 1 in 0 s",
            "http.client.request.duration http.request.method=GET http.response.status_code=200 server.address=api.example server.port=443 svc.operation=jobs_get: 1 in 0 s",
            "svc.call.active svc.operation=jobs_get: 0",
            "svc.call.duration error.type=404 svc.operation=jobs_get: 1 in 0 s",
            "svc.call.duration svc.operation=jobs_get: 1 in 2 s",
            "svc.call.retries error.type=503 svc.operation=jobs_get: 1",
        ];
        assert_eq!(meters.points(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_active_until_its_future_is_dropped() {
        let script = Script::new([Step::NoResponse]);
        let meters = Meters::new();
        let client = meters.client(&script);
        let call = tokio::spawn(client.jobs().handle("job_1").get().into_future());
        clock::sleep(Duration::from_secs(3)).await;
        assert_eq!(meters.points(), ["svc.call.active svc.operation=jobs_get: 1"]);

        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        clock::sleep(Duration::from_secs(1)).await;
        let ended = "svc.call.duration error.type=canceled svc.operation=jobs_get: 1 in 3 s";
        assert_eq!(meters.points(), ["svc.call.active svc.operation=jobs_get: 0", ended]);
    }
}
