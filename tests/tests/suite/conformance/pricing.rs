//! Prices: the specification's rates, what is estimated, what is charged, what is left.

use serde_json::{Value, json};
use svc_tests::{Caller, Mock, Setup, on_every_face};

use super::{
    ESTIMATE, IMAGE, NO_AMOUNTS, VIDEO, amounts, available, dollars, submit, text, units, video,
    video_of, with,
};

on_every_face! {
    every_price_is_the_rate_times_the_units: plan("scale"),
    some_prices_to_the_letter,
    an_estimate_says_what_it_counted,
    defaults_are_priced_like_the_values_they_stand_for,
    an_estimate_costs_nothing: balance_usd("1.0000"),
    an_estimate_needs_no_funds: balance_usd("0"),
    an_estimate_refuses_what_the_submit_refuses,
    the_charge_is_the_estimate: plan("scale").balance_usd("1000"),
    a_charge_is_reserved_and_then_captured: balance_usd("1.0000"),
    a_failed_job_is_refunded: balance_usd("1.0000"),
    a_canceled_job_is_refunded: balance_usd("1.0000"),
    a_price_that_the_balance_does_not_cover_is_refused: balance_usd("1.0000"),
    the_last_ten_thousandth_counts,
    the_balance_can_be_spent_to_nothing: balance_usd("0.2500"),
    submits_at_the_same_time_never_overspend: balance_usd("0.0120"),
    auto_picks_the_cheapest_model_that_takes_the_inputs,
    auto_is_charged_what_was_estimated,
    auto_without_a_model_that_takes_the_inputs_is_refused,
}

/// Ten-thousandths of a dollar per unit at each resolution, as the specification prints them, and
/// the units that can be asked for.
const RATES: [(&str, &str, &str, u64, u64); 14] = [
    ("video-f", "480p", "0.1407", 4, 15),
    ("video-f", "720p", "0.3024", 4, 15),
    ("video-l", "480p", "0.0625", 2, 30),
    ("video-l", "720p", "0.1250", 2, 30),
    ("video-l", "1080p", "0.2500", 2, 30),
    ("video-h", "720p", "0.0578", 5, 5),
    ("video-h", "1080p", "0.0963", 5, 5),
    ("video-h", "2K", "0.1444", 5, 5),
    ("video-h", "4K", "0.2157", 5, 5),
    ("video-r", "720p", "0.0838", 3, 16),
    ("video-r", "1080p", "0.1050", 3, 16),
    ("image-i", "720p", "0.0050", 1, 4),
    ("image-i", "1080p", "0.0075", 1, 4),
    ("lipsync-s", "", "0.0500", 2, 60),
];

const PICTURE: &str = "https://cdn.example.com/a.png";
const SPEECH: &str = "https://cdn.example.com/a.wav";

/// What is asked of that model at that resolution for so many units.
fn input(model: &str, resolution: &str, count: u64) -> Value {
    match model {
        "lipsync-s" => json!({"audio_url": SPEECH, "image_url": PICTURE, "duration": count}),
        "image-i" => json!({"prompt": "p", "resolution": resolution, "num_images": count}),
        _ => json!({"prompt": "p", "resolution": resolution, "duration": count}),
    }
}

fn path(model: &str) -> &'static str {
    if model == "image-i" { IMAGE } else { VIDEO }
}

async fn estimate(caller: &Caller, model: &str, input: Value) -> Value {
    caller
        .post(ESTIMATE, json!({"model": model, "input": input}))
        .await
        .expect(200)
        .data()
}

async fn every_price_is_the_rate_times_the_units(mock: Mock) {
    let open = mock.open();
    for (model, resolution, rate, min, max) in RATES {
        for count in min..=max {
            let answer = estimate(&open, model, input(model, resolution, count)).await;
            let expected = dollars(units(&json!(rate)) * count);
            assert_eq!(
                answer["price_usd"], expected,
                "{model} {resolution} {count}"
            );
        }
    }
}

async fn some_prices_to_the_letter(mock: Mock) {
    let open = mock.open();
    for (model, resolution, count, price) in [
        ("video-f", "480p", 5, "0.7035"),
        ("video-f", "480p", 15, "2.1105"),
        ("video-f", "720p", 4, "1.2096"),
        ("video-l", "480p", 2, "0.1250"),
        ("video-l", "1080p", 30, "7.5000"),
        ("video-h", "720p", 5, "0.2890"),
        ("video-h", "1080p", 5, "0.4815"),
        ("video-h", "2K", 5, "0.7220"),
        ("video-h", "4K", 5, "1.0785"),
        ("video-r", "720p", 3, "0.2514"),
        ("video-r", "1080p", 16, "1.6800"),
        ("image-i", "720p", 1, "0.0050"),
        ("image-i", "1080p", 3, "0.0225"),
        ("lipsync-s", "", 60, "3.0000"),
    ] {
        let answer = estimate(&open, model, input(model, resolution, count)).await;
        assert_eq!(answer["price_usd"], price, "{model} {resolution} {count}");
    }
}

async fn an_estimate_says_what_it_counted(mock: Mock) {
    let open = mock.open();
    assert_eq!(
        estimate(&open, "video-f", json!({"prompt": "p", "duration": 5})).await,
        json!({
            "model": "video-f", "price_usd": "0.7035", "currency": "USD",
            "unit": "second", "unit_price_usd": "0.1407", "units": 5
        })
    );
    assert_eq!(
        estimate(&open, "image-i", json!({"prompt": "p", "num_images": 3})).await,
        json!({
            "model": "image-i", "price_usd": "0.0150", "currency": "USD",
            "unit": "image", "unit_price_usd": "0.0050", "units": 3
        })
    );
}

async fn defaults_are_priced_like_the_values_they_stand_for(mock: Mock) {
    let open = mock.open();
    for (model, price) in [
        ("video-f", "0.7035"),
        ("video-l", "0.3125"),
        ("video-h", "0.2890"),
        ("video-r", "0.4190"),
        ("image-i", "0.0050"),
    ] {
        assert_eq!(
            estimate(&open, model, json!({"prompt": "p"})).await["price_usd"],
            price,
            "{model}"
        );
    }
    let speech = json!({"audio_url": SPEECH, "image_url": PICTURE});
    assert_eq!(
        estimate(&open, "lipsync-s", speech).await["price_usd"],
        "0.2500"
    );
}

async fn an_estimate_costs_nothing(mock: Mock) {
    let before = mock.ledger().await;
    estimate(&mock.open(), "video-f", json!({"prompt": "p"})).await;
    assert_eq!(mock.ledger().await, before);
    assert!(mock.jobs().await.is_empty());
    assert_eq!(available(&mock.open()).await, "1.0000");
}

async fn an_estimate_needs_no_funds(mock: Mock) {
    let dear = json!({"prompt": "p", "duration": 30, "resolution": "1080p"});
    assert_eq!(
        estimate(&mock.open(), "video-l", dear).await["price_usd"],
        "7.5000"
    );
}

async fn an_estimate_refuses_what_the_submit_refuses(mock: Mock) {
    let open = mock.open();
    for body in [
        json!({}),
        json!({"model": "video-f"}),
        json!({"input": {"prompt": "p"}}),
        json!({"model": "video-x", "input": {"prompt": "p"}}),
        json!({"model": "video-f", "input": {"prompt": "p", "duration": 16}}),
        json!({"model": "video-f", "input": {"prompt": "p", "resolution": "4K"}}),
        json!({"model": "video-h", "input": {"prompt": "p", "generate_audio": true}}),
        json!({"model": "video-f", "input": "p"}),
        json!({"model": 7, "input": {"prompt": "p"}}),
    ] {
        let answer = open.post(ESTIMATE, body.clone()).await;
        assert_eq!(answer.status(), 400, "{body} got\n{answer:?}");
        answer.refused(400, "invalid_request");
    }
}

async fn the_charge_is_the_estimate(mock: Mock) {
    let open = mock.open();
    for (model, resolution, rate, min, max) in RATES {
        for count in [min, max] {
            let asked = input(model, resolution, count);
            let estimated = estimate(&open, model, asked.clone()).await;
            let body = with(asked, json!({"model": model}));
            let receipt = open.post(path(model), body).await.expect(202).data();
            let id = text(&receipt["job"]["id"]);
            let job = open.get(&format!("/v1/jobs/{id}")).await.expect(200).data();
            let expected = units(&json!(rate)) * count;
            assert_eq!(
                units(&estimated["price_usd"]),
                expected,
                "{model} {resolution} {count}"
            );
            assert_eq!(
                job["price_usd"], estimated["price_usd"],
                "{model} {resolution} {count}"
            );
            assert_eq!(
                amounts(&mock, "reservation", &id).await,
                [expected],
                "{model}"
            );
            mock.advance(8).await;
            assert_eq!(amounts(&mock, "capture", &id).await, [expected], "{model}");
        }
    }
}

async fn a_charge_is_reserved_and_then_captured(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    assert_eq!(amounts(&mock, "reservation", &id).await, [1_250]);
    assert_eq!(amounts(&mock, "capture", &id).await, NO_AMOUNTS);
    assert_eq!(available(&open).await, "0.8750");
    mock.advance(8).await;
    assert_eq!(amounts(&mock, "capture", &id).await, [1_250]);
    assert_eq!(amounts(&mock, "refund", &id).await, NO_AMOUNTS);
    assert_eq!(available(&open).await, "0.8750");
}

async fn a_failed_job_is_refunded(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video_of("[mock:fail]")).await;
    assert_eq!(available(&open).await, "0.8750");
    mock.advance(8).await;
    assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
    assert_eq!(available(&open).await, "1.0000");
}

async fn a_canceled_job_is_refunded(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, VIDEO, video()).await;
    open.post_nothing(&format!("/v1/jobs/{id}/cancel"))
        .await
        .expect(200);
    assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
    assert_eq!(available(&open).await, "1.0000");
    open.post_nothing(&format!("/v1/jobs/{id}/cancel"))
        .await
        .expect(200);
    mock.advance(60).await;
    assert_eq!(amounts(&mock, "refund", &id).await, [1_250]);
    assert_eq!(amounts(&mock, "capture", &id).await, NO_AMOUNTS);
    assert_eq!(available(&open).await, "1.0000");
}

async fn a_price_that_the_balance_does_not_cover_is_refused(mock: Mock) {
    let open = mock.open();
    let body = json!({"model": "video-f", "prompt": "p", "duration": 10});
    let error = open
        .post(VIDEO, body)
        .await
        .refused(402, "insufficient_funds");
    assert_eq!(error["details"]["required_usd"], "1.4070");
    assert_eq!(error["details"]["available_usd"], "1.0000");
    assert!(mock.jobs().await.is_empty(), "a refused submit made a job");
    assert_eq!(available(&open).await, "1.0000");
}

async fn the_last_ten_thousandth_counts(mock: Mock) {
    let exact = mock.another(Setup::default().balance_usd("0.1250")).await;
    submit(&exact.open(), VIDEO, video()).await;
    let short = mock.another(Setup::default().balance_usd("0.1249")).await;
    let error = short
        .open()
        .post(VIDEO, video())
        .await
        .refused(402, "insufficient_funds");
    assert_eq!(error["details"]["required_usd"], "0.1250");
    assert_eq!(error["details"]["available_usd"], "0.1249");
}

async fn the_balance_can_be_spent_to_nothing(mock: Mock) {
    let open = mock.open();
    submit(&open, VIDEO, video()).await;
    submit(&open, VIDEO, video()).await;
    assert_eq!(available(&open).await, "0.0000");
    let error = open
        .post(VIDEO, video())
        .await
        .refused(402, "insufficient_funds");
    assert_eq!(error["details"]["available_usd"], "0.0000");
}

async fn submits_at_the_same_time_never_overspend(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let open = mock.open();
        calls.spawn(async move { open.post(IMAGE, super::image()).await.status() });
    }
    let mut statuses = calls.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 402, 402, 402, 402, 402, 402]);
    assert_eq!(available(&mock.open()).await, "0.0020");
}

async fn auto_picks_the_cheapest_model_that_takes_the_inputs(mock: Mock) {
    let open = mock.open();
    for (input, model, price) in [
        (json!({"prompt": "p"}), "video-h", "0.2890"),
        (json!({"prompt": "p", "duration": 5}), "video-h", "0.2890"),
        (json!({"prompt": "p", "duration": 2}), "video-l", "0.1250"),
        (json!({"prompt": "p", "duration": 10}), "video-l", "0.6250"),
        (
            json!({"prompt": "p", "resolution": "480p"}),
            "video-l",
            "0.3125",
        ),
        (
            json!({"prompt": "p", "resolution": "4K"}),
            "video-h",
            "1.0785",
        ),
        (
            json!({"prompt": "p", "aspect_ratio": "21:9"}),
            "video-f",
            "0.7035",
        ),
        (
            json!({"prompt": "p", "image_url": PICTURE}),
            "video-l",
            "0.3125",
        ),
        (
            json!({"audio_url": SPEECH, "image_url": PICTURE}),
            "lipsync-s",
            "0.2500",
        ),
    ] {
        let answer = estimate(&open, "auto", input.clone()).await;
        assert_eq!(
            (&answer["model"], &answer["price_usd"]),
            (&json!(model), &json!(price)),
            "{input}"
        );
    }
}

async fn auto_is_charged_what_was_estimated(mock: Mock) {
    let open = mock.open();
    let estimated = estimate(&open, "auto", json!({"prompt": "p", "duration": 10})).await;
    let body = json!({"model": "auto", "prompt": "p", "duration": 10});
    let id = submit(&open, VIDEO, body).await;
    assert_eq!(
        amounts(&mock, "reservation", &id).await,
        [units(&estimated["price_usd"])]
    );
}

async fn auto_without_a_model_that_takes_the_inputs_is_refused(mock: Mock) {
    for body in [
        json!({"model": "auto", "prompt": "p", "resolution": "4K", "duration": 10}),
        json!({"model": "auto", "prompt": "p", "aspect_ratio": "7:5"}),
        json!({"model": "auto", "prompt": "p", "duration": 61}),
        json!({"model": "auto", "prompt": "p", "seed": 1}),
    ] {
        mock.open()
            .post(VIDEO, body)
            .await
            .refused(400, "invalid_request");
    }
}
