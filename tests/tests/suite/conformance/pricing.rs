//! Prices: rates, estimates, charges and balances.

use super::*;

scripts! {
    an_estimate_lists_its_units_and_is_free [balance_usd("0")] r#"
        open estimate {"model": "video-f", "input": {"prompt": "p", "duration": 5}} => 200 ={"model":"video-f","price_usd":"0.7035","currency":"USD","unit":"second","unit_price_usd":"0.1407","units":5}
        open estimate {"model": "image-i", "input": {"prompt": "p", "num_images": 3}} => 200 ={"model":"image-i","price_usd":"0.0150","currency":"USD","unit":"image","unit_price_usd":"0.0050","units":3}
        open estimate {"model": "video-l", "input": {"prompt": "p", "duration": 30, "resolution": "1080p"}} => 200 price_usd=7.5000
        control /ledger => 200 #=0
        control /jobs => 200 #=0
    "#
    default_values_are_priced r#"
        for <model> <price> in video-f 0.7035, video-l 0.3125, video-h 0.2890, video-r 0.4190, image-i 0.0050
          open estimate {"model": "<model>", "input": {"prompt": "p"}} => 200 price_usd=<price>
        open estimate {"model": "lipsync-s", "input": {"audio_url": "https://cdn.example.com/a.wav", "image_url": "https://cdn.example.com/a.png"}} => 200 price_usd=0.2500
    "#
    a_failed_job_is_refunded [balance_usd("1.0000")] r#"
        open video {"prompt": "[mock:fail]"} => 202 job.id=<id>
        available 0.8750
        advance 8
        ledger <id> = reservation 0.1250, refund 0.1250
        available 1.0000
    "#
    auto_picks_the_cheapest_compatible_model r#"
        for <input> <model> <price> in
          | {"prompt":"p"} video-h 0.2890
          | {"prompt":"p","duration":5} video-h 0.2890
          | {"prompt":"p","duration":2} video-l 0.1250
          | {"prompt":"p","duration":10} video-l 0.6250
          | {"prompt":"p","resolution":"480p"} video-l 0.3125
          | {"prompt":"p","resolution":"4K"} video-h 1.0785
          | {"prompt":"p","aspect_ratio":"21:9"} video-f 0.7035
          | {"prompt":"p","image_url":"https://cdn.example.com/a.png"} video-l 0.3125
          | {"audio_url":"https://cdn.example.com/a.wav","image_url":"https://cdn.example.com/a.png"} lipsync-s 0.2500
          open estimate {"model": "auto", "input": <input>} => 200 model=<model> price_usd=<price>
        open /v1/video-router/generate {"model": "auto", "prompt": "p", "duration": 10} => 202 job.id=<id>
        ledger <id> = reservation 0.6250
        for <fields> in {"resolution":"4K","duration":10} {"aspect_ratio":"7:5"} {"duration":61} {"seed":1}
          open /v1/video-router/generate {"model": "auto", "prompt": "p"} <fields> => 400 invalid_request
    "#
    a_job_of_the_developer_surface_above_the_balance_is_rejected [balance_usd("1.0000")] r#"
        developer /v1/video-1.0/generate {"prompt": "p", "duration": 30, "resolution": "1080p"} => 402 insufficient_credits next_action=add_funds details={"required_usd":"6.0000","available_usd":"1.0000"}
        control /jobs => 200 #=0
    "#
}

on_every_frontend! {
    the_charge_equals_the_estimate: plan("scale").balance_usd("1000"),
    the_balance_is_compared_to_four_decimal_places,
    concurrent_submits_do_not_overspend: balance_usd("0.0120"),
}

/// The specification's rates: model, resolution, dollars per unit, and the range of units.
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

/// Returns the input for a number of units of a model at a resolution.
fn input(model: &str, resolution: &str, count: u64) -> Value {
    match model {
        "lipsync-s" => json!({"audio_url": AUDIO_URL, "image_url": IMAGE_URL, "duration": count}),
        "image-i" => json!({"prompt": "p", "resolution": resolution, "num_images": count}),
        _ => json!({"prompt": "p", "resolution": resolution, "duration": count}),
    }
}

fn router_path(model: &str) -> &'static str {
    if model == "image-i" { IMAGE } else { VIDEO }
}

async fn estimate(client: &Client, model: &str, input: Value) -> Value {
    client.post_data(ESTIMATE, json!({"model": model, "input": input}), 200).await
}

async fn the_charge_equals_the_estimate(mock: Mock) {
    let open = mock.open();
    for (model, resolution, rate, min, max) in RATES {
        for count in [min, max] {
            let input_body = input(model, resolution, count);
            let estimated = estimate(&open, model, input_body.clone()).await;
            let body = with(input_body, json!({"model": model}));
            let receipt = open.post_data(router_path(model), body, 202).await;
            let id = text(&receipt["job"]["id"]);
            let job = job(&open, &id).await;
            let expected = parse_usd(&json!(rate)) * count;
            assert_eq!(
                parse_usd(&estimated["price_usd"]),
                expected,
                "{model} {resolution} {count}"
            );
            assert_eq!(job["price_usd"], estimated["price_usd"], "{model} {resolution} {count}");
            assert_eq!(ledger_amounts(&mock, "reservation", &id).await, [expected], "{model}");
            mock.advance(8).await;
            assert_eq!(ledger_amounts(&mock, "capture", &id).await, [expected], "{model}");
        }
    }
}

async fn the_balance_is_compared_to_four_decimal_places(mock: Mock) {
    let exact = mock.start_another(Setup::default().balance_usd("0.1250")).await;
    submit(&exact.open(), VIDEO, video()).await;
    let short = mock.start_another(Setup::default().balance_usd("0.1249")).await;
    let error = short.open().post_error(VIDEO, video(), 402, "insufficient_funds").await;
    assert_eq!(error["details"]["required_usd"], "0.1250");
    assert_eq!(error["details"]["available_usd"], "0.1249");
}

async fn concurrent_submits_do_not_overspend(mock: Mock) {
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let open = mock.open();
        calls.spawn(async move { open.post(IMAGE, image()).await.status() });
    }
    let mut statuses = calls.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 202, 402, 402, 402, 402, 402, 402]);
    assert_eq!(available(&mock.open()).await, "0.0020");
}
