//! Validation of the parameters of each model.

use super::*;

scripts! {
    optional_inputs_of_the_model_are_accepted [plan("scale").balance_usd("100000")] r#"
        for <images> <videos> in ["https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png"] ["https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4"]
          for <models> <fields> in
            | "video-f video-l" {"image_url":"https://cdn.example.com/a.png"}
            | "video-f video-l" {"image_url":"https://cdn.example.com/a.png","end_image_url":"https://cdn.example.com/a.png"}
            | "video-f video-l" {"reference_image_urls":<images>}
            | "video-f video-l" {"reference_video_urls":<videos>}
            | "video-r" {"reference_image_urls":["https://cdn.example.com/a.png"]}
            | "video-f video-l video-r" {"generate_audio":true}
            | "video-f video-l video-r" {"generate_audio":false}
            | "video-f video-l" {"metadata":{"order":4711}}
            | "video-f video-l" {"mode":"async"}
            for <model> in <models>
              open /v1/video-router/generate {"model": "<model>", "prompt": "p"} <fields> => 202
              advance 8
    "#
    inputs_that_the_model_does_not_have_are_rejected [plan("scale")] r#"
        for <models> <fields> in
          | "video-h video-r" {"image_url":"https://cdn.example.com/a.png"}
          | "video-f video-l video-h video-r" {"video_url":"https://cdn.example.com/a.mp4"}
          | "video-f video-l video-h video-r" {"audio_url":"https://cdn.example.com/a.wav"}
          | "video-h" {"reference_image_urls":["https://cdn.example.com/a.png"]}
          | "video-h video-r" {"reference_video_urls":["https://cdn.example.com/a.mp4"]}
          | "video-h" {"generate_audio":true}
          | "video-f video-l video-h video-r" {"num_images":1}
          | "video-f video-l video-h video-r" {"seed":7}
          | "video-f video-l video-h video-r" {"Prompt":"p"}
          | "video-f video-l video-h video-r" {"workspace_id":"ws_demo"}
          | "video-f video-l video-h video-r" {"owner_user_id":"usr_demo"}
          | "video-f video-l video-h video-r" {"user_id":"usr_demo"}
          | "video-f video-l video-h video-r" {"durationSeconds":5}
          for <model> in <models>
            open /v1/video-router/generate {"model": "<model>", "prompt": "p"} <fields> => 400 invalid_request
        for <fields> in {"image_url":"https://cdn.example.com/a.png"} {"video_url":"https://cdn.example.com/a.mp4"} {"audio_url":"https://cdn.example.com/a.wav"} {"generate_audio":true} {"duration":5} {"seed":7} {"Prompt":"p"} {"workspace_id":"ws_demo"} {"owner_user_id":"usr_demo"} {"user_id":"usr_demo"} {"durationSeconds":5}
          open image <fields> => 400 invalid_request
        for <field> in reference_image_urls reference_video_urls
          open image {"<field>": ["https://cdn.example.com/a"]} => 400 invalid_request <field>
        control /jobs => 200 #=0
    "#
    the_number_of_references_is_bounded r#"
        for <images> <videos> in ["https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png","https://cdn.example.com/a.png"] ["https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4","https://cdn.example.com/a.mp4"]
          open video {"reference_image_urls": <images>} => 400 invalid_request
          open video {"reference_video_urls": <videos>} => 400 invalid_request
    "#
    only_durations_within_the_range_are_accepted [plan("scale").balance_usd("100000")] r#"
        for <model> <accepted> <rejected> in
          | video-f "4 5 6 7 8 9 10 11 12 13 14 15" "3 16 18446744073709551615 0 -5 9999"
          | video-l "2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30" "1 31 18446744073709551615 0 -5 9999"
          | video-h "5" "4 6 18446744073709551615 0 -5 9999"
          | video-r "3 4 5 6 7 8 9 10 11 12 13 14 15 16" "2 17 18446744073709551615 0 -5 9999"
          for <seconds> in <accepted>
            open /v1/video-router/generate {"model": "<model>", "prompt": "p", "duration": <seconds>} => 202
            advance 8
          for <seconds> in <rejected>
            open /v1/video-router/generate {"model": "<model>", "prompt": "p", "duration": <seconds>} => 400 invalid_request
    "#
    only_listed_resolutions_and_aspect_ratios_are_accepted [plan("scale").balance_usd("100000")] r#"
        for <router> <model> <field> <accepted> <rejected> in
          | video video-f resolution "480p 720p" "1080p 2K 4K 360p 8K"
          | video video-f aspect_ratio "auto adaptive 21:9 16:9 4:3 1:1 3:4 9:16" "3:2 2:3 16:10 9:21"
          | video video-l resolution "480p 720p 1080p" "2K 4K 360p 8K"
          | video video-l aspect_ratio "auto adaptive 16:9 4:3 1:1 3:4 9:16" "21:9 3:2 2:3 16:10 9:21"
          | video video-h resolution "720p 1080p 2K 4K" "480p 360p 8K"
          | video video-h aspect_ratio "16:9 9:16" "auto adaptive 21:9 4:3 1:1 3:4 3:2 2:3 16:10 9:21"
          | video video-r resolution "720p 1080p" "480p 2K 4K 360p 8K"
          | video video-r aspect_ratio "16:9 4:3 1:1 3:4 9:16" "auto adaptive 21:9 3:2 2:3 16:10 9:21"
          | image image-i resolution "720p 1080p" "480p 2K 4K 360p 8K"
          | image image-i aspect_ratio "16:9 4:3 1:1 3:4 9:16 3:2 2:3" "auto adaptive 21:9 16:10 9:21"
          for <value> in <accepted>
            open /v1/<router>-router/generate {"model": "<model>", "prompt": "p", "<field>": "<value>"} => 202
            advance 8
          for <value> in <rejected>
            open /v1/<router>-router/generate {"model": "<model>", "prompt": "p", "<field>": "<value>"} => 400 invalid_request
          open /v1/<router>-router/generate {"model": "<model>", "prompt": "p", "resolution": ""} => 400 invalid_request
    "#
}

on_every_frontend! {
    metadata_is_returned_unchanged,
    only_application_json_is_accepted,
}

async fn metadata_is_returned_unchanged(mock: Mock) {
    let metadata = json!({
        "order": 4711,
        "tags": ["a", "\u{1f98a}"],
        "deep": {"x": null, "y": 1.5},
        "escape": "\u{1b}[31mred\u{7}",
        "bidi": "\u{202e}txt.exe",
        "zero": "a\u{0}b",
        "html": "<script>alert('x')</script>",
        "quote": "\"\\/",
        "": "empty name",
        "big": 9_007_199_254_740_993_i64,
        "emoji": "\u{1f469}\u{200d}\u{1f680}",
    });
    let prompt = "\u{1b}]0;x\u{7} \u{202e} \u{0}";
    for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
        let body = with(body, json!({"metadata": metadata, "prompt": prompt}));
        let id = submit(&mock.open(), path, body).await;
        assert_eq!(job(&mock.open(), &id).await["metadata"], metadata);
    }
}

async fn only_application_json_is_accepted(mock: Mock) {
    let body = || Bytes::from(image().to_string());
    let open = mock.open();
    for good in ["application/json", "application/json; charset=utf-8", "Application/JSON"] {
        open.send("POST", IMAGE, Some(good), body()).await.expect(202);
    }
    mock.advance(2).await;
    for bad in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json-patch+json",
        "text/json",
        "json",
        "",
    ] {
        open.send("POST", IMAGE, Some(bad), body())
            .await
            .expect_error(415, "unsupported_media_type");
    }
    open.send("POST", IMAGE, None, body()).await.expect_error(415, "unsupported_media_type");
}
