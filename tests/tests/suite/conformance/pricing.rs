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
    a_job_costs_its_estimate [plan("scale").balance_usd("1000")] r#"
        for <router> <model> <fields> <price> in
          | video video-f {"prompt":"p","resolution":"480p","duration":4} 0.5628
          | video video-f {"prompt":"p","resolution":"480p","duration":15} 2.1105
          | video video-f {"prompt":"p","resolution":"720p","duration":4} 1.2096
          | video video-f {"prompt":"p","resolution":"720p","duration":15} 4.5360
          | video video-l {"prompt":"p","resolution":"480p","duration":2} 0.1250
          | video video-l {"prompt":"p","resolution":"480p","duration":30} 1.8750
          | video video-l {"prompt":"p","resolution":"720p","duration":2} 0.2500
          | video video-l {"prompt":"p","resolution":"720p","duration":30} 3.7500
          | video video-l {"prompt":"p","resolution":"1080p","duration":2} 0.5000
          | video video-l {"prompt":"p","resolution":"1080p","duration":30} 7.5000
          | video video-h {"prompt":"p","resolution":"720p","duration":5} 0.2890
          | video video-h {"prompt":"p","resolution":"1080p","duration":5} 0.4815
          | video video-h {"prompt":"p","resolution":"2K","duration":5} 0.7220
          | video video-h {"prompt":"p","resolution":"4K","duration":5} 1.0785
          | video video-r {"prompt":"p","resolution":"720p","duration":3} 0.2514
          | video video-r {"prompt":"p","resolution":"720p","duration":16} 1.3408
          | video video-r {"prompt":"p","resolution":"1080p","duration":3} 0.3150
          | video video-r {"prompt":"p","resolution":"1080p","duration":16} 1.6800
          | image image-i {"prompt":"p","resolution":"720p","num_images":1} 0.0050
          | image image-i {"prompt":"p","resolution":"720p","num_images":4} 0.0200
          | image image-i {"prompt":"p","resolution":"1080p","num_images":1} 0.0075
          | image image-i {"prompt":"p","resolution":"1080p","num_images":4} 0.0300
          | video lipsync-s {"audio_url":"https://cdn.example.com/a.wav","image_url":"https://cdn.example.com/a.png","duration":2} 0.1000
          | video lipsync-s {"audio_url":"https://cdn.example.com/a.wav","image_url":"https://cdn.example.com/a.png","duration":60} 3.0000
          open estimate {"model": "<model>", "input": <fields>} => 200 price_usd=<price>
          open /v1/<router>-router/generate {"model": "<model>"} <fields> => 202 job.id=<id>
          open /v1/jobs/<id> => 200 price_usd=<price>
          ledger <id> = reservation <price>
          advance 8
          ledger <id> = reservation <price>, capture <price>
    "#
    the_balance_is_compared_to_four_decimal_places [balance_usd("0.1249")] r#"
        open video => 402 insufficient_funds details.required_usd=0.1250 details.available_usd=0.1249
    "#
}

on_every_frontend! {
    concurrent_submits_do_not_overspend: balance_usd("0.0120"),
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
