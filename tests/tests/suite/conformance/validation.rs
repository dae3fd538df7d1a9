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
}

on_every_frontend! {
    only_durations_within_the_range_are_accepted: plan("scale").balance_usd("100000"),
    only_listed_resolutions_and_aspect_ratios_are_accepted: plan("scale").balance_usd("100000"),
    metadata_is_returned_unchanged,
    only_application_json_is_accepted,
}

const RATIOS: [&str; 12] = [
    "auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16", "3:2", "2:3", "16:10", "9:21",
];
const RESOLUTIONS: [&str; 8] = ["480p", "720p", "1080p", "2K", "4K", "360p", "8K", ""];

/// The parameters of a model in the specification.
struct Profile {
    model: &'static str,
    duration: Option<(u64, u64)>,
    resolutions: &'static [&'static str],
    ratios: &'static [&'static str],
}

const PROFILES: [Profile; 5] = [
    Profile {
        model: "video-f",
        duration: Some((4, 15)),
        resolutions: &["480p", "720p"],
        ratios: &["auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"],
    },
    Profile {
        model: "video-l",
        duration: Some((2, 30)),
        resolutions: &["480p", "720p", "1080p"],
        ratios: &["auto", "adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"],
    },
    Profile {
        model: "video-h",
        duration: Some((5, 5)),
        resolutions: &["720p", "1080p", "2K", "4K"],
        ratios: &["16:9", "9:16"],
    },
    Profile {
        model: "video-r",
        duration: Some((3, 16)),
        resolutions: &["720p", "1080p"],
        ratios: &["16:9", "9:16", "4:3", "3:4", "1:1"],
    },
    Profile {
        model: "image-i",
        duration: None,
        resolutions: &["720p", "1080p"],
        ratios: &["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"],
    },
];

impl Profile {
    fn path(&self) -> &'static str {
        if self.model == "image-i" { IMAGE } else { VIDEO }
    }

    fn body(&self) -> Value {
        json!({"model": self.model, "prompt": "a red fox"})
    }
}

/// Asserts that the body is accepted, and completes the job to free its concurrency slot.
async fn assert_accepted(mock: &Mock, path: &str, body: Value) {
    mock.open().post(path, body).await.expect(202);
    mock.advance(8).await;
}

async fn assert_rejected(client: &Client, path: &str, body: Value) {
    client.post_error(path, body, 400, "invalid_request").await;
}

async fn only_durations_within_the_range_are_accepted(mock: Mock) {
    let open = mock.open();
    let profiles = PROFILES.iter();
    for (profile, (min, max)) in profiles.filter_map(|profile| Some((profile, profile.duration?))) {
        let body = |duration: Value| with(profile.body(), json!({"duration": duration}));
        for duration in min..=max {
            assert_accepted(&mock, VIDEO, body(json!(duration))).await;
        }
        for duration in [json!(min - 1), json!(max + 1), json!(u64::MAX)] {
            assert_rejected(&open, VIDEO, body(duration)).await;
        }
        for duration in [0, -5, 9_999] {
            assert_rejected(&open, VIDEO, body(json!(duration))).await;
        }
    }
    assert_rejected(&open, IMAGE, with(image(), json!({"duration": 5}))).await;
}

async fn only_listed_resolutions_and_aspect_ratios_are_accepted(mock: Mock) {
    for profile in PROFILES {
        for (field, values, listed) in [
            ("resolution", &RESOLUTIONS[..], profile.resolutions),
            ("aspect_ratio", &RATIOS, profile.ratios),
        ] {
            for value in values {
                let body = with(profile.body(), json!({field: value}));
                if listed.contains(value) {
                    assert_accepted(&mock, profile.path(), body).await;
                } else {
                    assert_rejected(&mock.open(), profile.path(), body).await;
                }
            }
        }
    }
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
