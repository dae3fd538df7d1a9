//! Parameters: what each model takes, between which bounds, and what it refuses.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Caller, Mock, on_every_face};

use super::{IMAGE, VIDEO, image, video, with, without};

on_every_face! {
    durations_within_the_range_are_accepted: plan("scale").balance_usd("100000"),
    durations_outside_of_the_range_are_refused,
    resolutions_that_the_model_lists_are_accepted_and_no_others: plan("scale").balance_usd("100000"),
    aspect_ratios_that_the_model_lists_are_accepted_and_no_others: plan("scale").balance_usd("100000"),
    optional_inputs_of_the_model_are_accepted: plan("scale").balance_usd("100000"),
    inputs_unknown_for_the_model_are_refused: plan("scale"),
    one_to_four_images_are_made_at_a_time,
    required_fields_are_required,
    a_model_that_is_not_in_the_routers_list_is_refused,
    a_prompt_is_optional_where_the_profile_says_so,
    the_last_frame_needs_the_first,
    references_are_1_to_10_images_and_1_to_5_videos,
    lip_sync_needs_speech_and_a_picture_or_a_clip,
    a_lip_sync_lasts_2_to_60_seconds: balance_usd("100000"),
    fields_of_the_wrong_type_are_refused: plan("scale"),
    metadata_is_an_object_on_videos_and_images,
    a_body_must_not_say_whose_it_is,
    a_body_is_a_json_object,
    only_application_json_is_read,
}

const RATIOS: [&str; 12] = [
    "auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16", "3:2", "2:3", "16:10", "9:21",
];
const RESOLUTIONS: [&str; 8] = ["480p", "720p", "1080p", "2K", "4K", "360p", "8K", ""];
const PICTURE: &str = "https://cdn.example.com/a.png";
const CLIP: &str = "https://cdn.example.com/a.mp4";
const SPEECH: &str = "https://cdn.example.com/a.wav";

/// A model of the specification's profiles: its id, the range of its duration, its resolutions,
/// its aspect ratios.
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
        ratios: &[
            "auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16",
        ],
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
        if self.model == "image-i" {
            IMAGE
        } else {
            VIDEO
        }
    }

    fn body(&self) -> Value {
        json!({"model": self.model, "prompt": "a red fox"})
    }
}

/// Accepts the body, and lets the job end so that it is not in the way.
async fn accepted(mock: &Mock, path: &str, body: Value) {
    let answer = mock.open().post(path, body.clone()).await;
    assert_eq!(answer.status(), 202, "{body} got\n{answer:?}");
    mock.advance(8).await;
}

async fn refused(caller: &Caller, path: &str, body: Value) {
    let answer = caller.post(path, body.clone()).await;
    assert_eq!(
        (answer.status(), answer.code().as_str()),
        (400, "invalid_request"),
        "{body} got\n{answer:?}"
    );
}

async fn durations_within_the_range_are_accepted(mock: Mock) {
    for profile in PROFILES {
        let Some((min, max)) = profile.duration else {
            continue;
        };
        for duration in min..=max {
            accepted(
                &mock,
                VIDEO,
                with(profile.body(), json!({"duration": duration})),
            )
            .await;
        }
    }
}

async fn durations_outside_of_the_range_are_refused(mock: Mock) {
    let open = mock.open();
    for profile in PROFILES {
        let Some((min, max)) = profile.duration else {
            continue;
        };
        for duration in [
            json!(min - 1),
            json!(max + 1),
            json!(0),
            json!(-5),
            json!(9_999),
            json!(u64::MAX),
        ] {
            refused(
                &open,
                VIDEO,
                with(profile.body(), json!({"duration": duration})),
            )
            .await;
        }
    }
    refused(&open, IMAGE, with(image(), json!({"duration": 5}))).await;
}

async fn resolutions_that_the_model_lists_are_accepted_and_no_others(mock: Mock) {
    for profile in PROFILES {
        for resolution in RESOLUTIONS {
            let body = with(profile.body(), json!({"resolution": resolution}));
            if profile.resolutions.contains(&resolution) {
                accepted(&mock, profile.path(), body).await;
            } else {
                refused(&mock.open(), profile.path(), body).await;
            }
        }
    }
}

async fn aspect_ratios_that_the_model_lists_are_accepted_and_no_others(mock: Mock) {
    for profile in PROFILES {
        for ratio in RATIOS {
            let body = with(profile.body(), json!({"aspect_ratio": ratio}));
            if profile.ratios.contains(&ratio) {
                accepted(&mock, profile.path(), body).await;
            } else {
                refused(&mock.open(), profile.path(), body).await;
            }
        }
    }
}

async fn optional_inputs_of_the_model_are_accepted(mock: Mock) {
    for model in ["video-f", "video-l"] {
        for inputs in [
            json!({"image_url": PICTURE}),
            json!({"image_url": PICTURE, "end_image_url": PICTURE}),
            json!({"reference_image_urls": [PICTURE]}),
            json!({"reference_video_urls": [CLIP]}),
            json!({"generate_audio": true}),
            json!({"generate_audio": false}),
            json!({"metadata": {"order": 4711}}),
            json!({"mode": "async"}),
        ] {
            let body = with(json!({"model": model, "prompt": "p"}), inputs);
            accepted(&mock, VIDEO, body).await;
        }
    }
    for inputs in [
        json!({"reference_image_urls": [PICTURE]}),
        json!({"generate_audio": true}),
        json!({"generate_audio": false}),
    ] {
        accepted(
            &mock,
            VIDEO,
            with(json!({"model": "video-r", "prompt": "p"}), inputs),
        )
        .await;
    }
}

async fn inputs_unknown_for_the_model_are_refused(mock: Mock) {
    let open = mock.open();
    let every = [
        ("image_url", json!(PICTURE)),
        ("video_url", json!(CLIP)),
        ("audio_url", json!(SPEECH)),
        ("reference_image_urls", json!([PICTURE])),
        ("reference_video_urls", json!([CLIP])),
        ("generate_audio", json!(true)),
        ("num_images", json!(1)),
        ("duration", json!(5)),
        ("seed", json!(7)),
        ("Prompt", json!("p")),
        ("durationSeconds", json!(5)),
    ];
    let taken: [(&str, &[&str]); 5] = [
        (
            "video-f",
            &[
                "image_url",
                "reference_image_urls",
                "reference_video_urls",
                "generate_audio",
                "duration",
            ],
        ),
        (
            "video-l",
            &[
                "image_url",
                "reference_image_urls",
                "reference_video_urls",
                "generate_audio",
                "duration",
            ],
        ),
        ("video-h", &["duration"]),
        (
            "video-r",
            &["reference_image_urls", "generate_audio", "duration"],
        ),
        ("image-i", &["num_images"]),
    ];
    for (model, known) in taken {
        let path = if model == "image-i" { IMAGE } else { VIDEO };
        for (field, value) in every.iter().filter(|(field, _)| !known.contains(field)) {
            let mut body = json!({"model": model, "prompt": "p"});
            body[*field] = value.clone();
            refused(&open, path, body).await;
        }
    }
    assert!(mock.jobs().await.is_empty(), "a refused submit made a job");
}

async fn one_to_four_images_are_made_at_a_time(mock: Mock) {
    for count in 1..=4 {
        accepted(&mock, IMAGE, with(image(), json!({"num_images": count}))).await;
    }
    for count in [
        json!(0),
        json!(5),
        json!(-1),
        json!(1.5),
        json!("2"),
        json!(true),
    ] {
        refused(
            &mock.open(),
            IMAGE,
            with(image(), json!({"num_images": count})),
        )
        .await;
    }
}

async fn required_fields_are_required(mock: Mock) {
    let open = mock.open();
    refused(&open, VIDEO, json!({})).await;
    refused(&open, IMAGE, json!({})).await;
    refused(&open, VIDEO, without(video(), "model")).await;
    refused(&open, IMAGE, without(image(), "model")).await;
    refused(&open, IMAGE, without(image(), "prompt")).await;
    for model in ["video-f", "video-l", "video-h"] {
        refused(&open, VIDEO, json!({"model": model})).await;
    }
}

async fn a_model_that_is_not_in_the_routers_list_is_refused(mock: Mock) {
    let open = mock.open();
    for model in ["video-x", "", "VIDEO-F", "image-i", "video-f "] {
        refused(&open, VIDEO, with(video(), json!({"model": model}))).await;
    }
    for model in ["image-x", "", "video-f"] {
        refused(&open, IMAGE, with(image(), json!({"model": model}))).await;
    }
}

async fn a_prompt_is_optional_where_the_profile_says_so(mock: Mock) {
    accepted(
        &mock,
        VIDEO,
        json!({"model": "video-r", "reference_image_urls": [PICTURE]}),
    )
    .await;
    accepted(
        &mock,
        VIDEO,
        json!({"model": "auto", "reference_image_urls": [PICTURE]}),
    )
    .await;
    let lip_sync = json!({"model": "lipsync-s", "audio_url": SPEECH, "image_url": PICTURE});
    accepted(&mock, VIDEO, lip_sync.clone()).await;
    accepted(&mock, VIDEO, with(lip_sync, json!({"prompt": "smile"}))).await;
}

async fn the_last_frame_needs_the_first(mock: Mock) {
    for model in ["video-f", "video-l"] {
        let body = json!({"model": model, "prompt": "p", "end_image_url": PICTURE});
        refused(&mock.open(), VIDEO, body).await;
    }
}

async fn references_are_1_to_10_images_and_1_to_5_videos(mock: Mock) {
    let rows = [
        ("reference_image_urls", 10, PICTURE),
        ("reference_video_urls", 5, CLIP),
    ];
    for (field, most, url) in rows {
        for count in [1, most] {
            accepted(
                &mock,
                VIDEO,
                with(video(), json!({field: vec![url; count]})),
            )
            .await;
        }
        for count in [0, most + 1] {
            refused(
                &mock.open(),
                VIDEO,
                with(video(), json!({field: vec![url; count]})),
            )
            .await;
        }
    }
}

async fn lip_sync_needs_speech_and_a_picture_or_a_clip(mock: Mock) {
    let open = mock.open();
    accepted(
        &mock,
        VIDEO,
        json!({"model": "lipsync-s", "audio_url": SPEECH, "image_url": PICTURE}),
    )
    .await;
    accepted(
        &mock,
        VIDEO,
        json!({"model": "lipsync-s", "audio_url": SPEECH, "video_url": CLIP}),
    )
    .await;
    for body in [
        json!({"model": "lipsync-s"}),
        json!({"model": "lipsync-s", "prompt": "p"}),
        json!({"model": "lipsync-s", "audio_url": SPEECH}),
        json!({"model": "lipsync-s", "image_url": PICTURE}),
        json!({"model": "lipsync-s", "video_url": CLIP}),
        json!({"model": "lipsync-s", "audio_url": SPEECH, "image_url": PICTURE, "resolution": "720p"}),
        json!({"model": "lipsync-s", "audio_url": SPEECH, "image_url": PICTURE, "reference_image_urls": [PICTURE]}),
        json!({"model": "lipsync-s", "audio_url": SPEECH, "image_url": PICTURE, "num_images": 1}),
    ] {
        refused(&open, VIDEO, body).await;
    }
}

async fn a_lip_sync_lasts_2_to_60_seconds(mock: Mock) {
    let body = json!({"model": "lipsync-s", "audio_url": SPEECH, "image_url": PICTURE});
    for duration in [2, 3, 59, 60] {
        accepted(
            &mock,
            VIDEO,
            with(body.clone(), json!({"duration": duration})),
        )
        .await;
    }
    for duration in [0, 1, 61, 600] {
        refused(
            &mock.open(),
            VIDEO,
            with(body.clone(), json!({"duration": duration})),
        )
        .await;
    }
}

async fn fields_of_the_wrong_type_are_refused(mock: Mock) {
    let open = mock.open();
    let wrong = [
        json!({"model": 7}),
        json!({"model": ["video-l"]}),
        json!({"prompt": 7}),
        json!({"prompt": ["a", "b"]}),
        json!({"prompt": {"text": "a"}}),
        json!({"duration": "5"}),
        json!({"duration": 5.5}),
        json!({"duration": true}),
        json!({"duration": [5]}),
        json!({"resolution": 480}),
        json!({"resolution": ["480p"]}),
        json!({"aspect_ratio": 1.78}),
        json!({"aspect_ratio": {"w": 16, "h": 9}}),
        json!({"generate_audio": "true"}),
        json!({"generate_audio": 1}),
        json!({"image_url": 7}),
        json!({"image_url": [PICTURE]}),
        json!({"reference_image_urls": PICTURE}),
        json!({"reference_image_urls": [7]}),
        json!({"reference_image_urls": [PICTURE, null]}),
        json!({"reference_video_urls": {"0": CLIP}}),
        json!({"mode": 1}),
        json!({"mode": "later"}),
        json!({"mode": "ASYNC"}),
        json!({"wait_timeout_seconds": "5", "mode": "sync"}),
        json!({"wait_timeout_seconds": 1.5, "mode": "sync"}),
        json!({"webhook_url": 7, "mode": "webhook"}),
        json!({"metadata": "x"}),
        json!({"metadata": [1]}),
        json!({"metadata": 1}),
    ];
    for fields in wrong {
        refused(&open, VIDEO, with(video(), fields)).await;
    }
    for fields in [
        json!({"model": 7}),
        json!({"prompt": 7}),
        json!({"resolution": 720}),
        json!({"aspect_ratio": 1}),
        json!({"metadata": "x"}),
    ] {
        refused(&open, IMAGE, with(image(), fields)).await;
    }
    assert!(mock.jobs().await.is_empty(), "a refused submit made a job");
}

async fn metadata_is_an_object_on_videos_and_images(mock: Mock) {
    let metadata =
        json!({"order": 4711, "tags": ["a", "\u{1f98a}"], "deep": {"x": null, "y": 1.5}});
    for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
        let body = with(body, json!({"metadata": metadata}));
        let receipt = mock.open().post(path, body).await.expect(202).data();
        let id = receipt["job"]["id"].as_str().unwrap();
        let job = mock
            .open()
            .get(&format!("/v1/jobs/{id}"))
            .await
            .expect(200)
            .data();
        assert_eq!(job["metadata"], metadata);
    }
}

async fn a_body_must_not_say_whose_it_is(mock: Mock) {
    for field in ["workspace_id", "owner_user_id", "user_id"] {
        for (path, body) in [(VIDEO, video()), (IMAGE, image())] {
            refused(&mock.open(), path, with(body, json!({field: "ws_demo"}))).await;
        }
    }
}

async fn a_body_is_a_json_object(mock: Mock) {
    for body in [
        "",
        "null",
        "[]",
        "7",
        "\"x\"",
        "{",
        "{}}",
        "{'model': 1}",
        "{\"a\":1,}",
        "NaN",
    ] {
        for path in [VIDEO, IMAGE, super::ESTIMATE] {
            let body = Bytes::from(body);
            let answer = mock
                .open()
                .send("POST", path, Some("application/json"), body)
                .await;
            answer.refused(400, "invalid_request");
        }
    }
}

async fn only_application_json_is_read(mock: Mock) {
    let body = || Bytes::from(image().to_string());
    let open = mock.open();
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
    ] {
        open.send("POST", IMAGE, Some(good), body())
            .await
            .expect(202);
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
        let answer = open.send("POST", IMAGE, Some(bad), body()).await;
        answer.refused(415, "unsupported_media_type");
    }
    open.send("POST", IMAGE, None, body())
        .await
        .refused(415, "unsupported_media_type");
}
