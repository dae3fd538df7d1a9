//! Files of the media host: what is in them, and requests for parts of them.

use super::*;

on_every_frontend! {
    image_size_follows_resolution_and_aspect_ratio,
    videos_have_the_requested_duration_and_aspect_ratio,
    generate_audio_adds_an_audio_track,
    a_range_request_returns_its_bytes,
    consecutive_ranges_form_the_file,
    a_talking_video_has_audio_and_the_reported_duration,
}

/// Runs a job to completion and returns its artifacts.
async fn generate(mock: &Mock, path: &str, body: Value) -> Vec<Value> {
    let open = mock.open();
    let id = submit(&open, path, body).await;
    mock.advance(8).await;
    let result = job_result(&open, &id).await;
    result["artifacts"].as_array().unwrap().clone()
}

/// Generates a small image and returns its path on the media host.
async fn small_image_path(mock: &Mock) -> String {
    let artifacts = generate(mock, IMAGE, image()).await;
    mock.path_of(Host::Media, &artifacts[0]["url"])
}

/// Requests a file with additional headers.
async fn get_with(mock: &Mock, path: &str, headers: &[(&str, &str)]) -> Response {
    let client = mock.client(Host::Media);
    let add = |client: Client, (name, value): &(&str, &str)| client.header(name, value);
    headers.iter().fold(client, add).get(path).await
}

async fn image_size_follows_resolution_and_aspect_ratio(mock: Mock) {
    for (fields, size) in [
        (json!({}), (720, 720)),
        (json!({"aspect_ratio": "16:9"}), (1280, 720)),
        (json!({"aspect_ratio": "9:16"}), (720, 1280)),
        (json!({"aspect_ratio": "4:3"}), (960, 720)),
        (json!({"aspect_ratio": "2:3"}), (720, 1080)),
        (json!({"aspect_ratio": "16:9", "resolution": "1080p"}), (1920, 1080)),
    ] {
        let artifacts = generate(&mock, IMAGE, with(image(), fields.clone())).await;
        let file = mock.download(&artifacts[0]["url"]).await;
        assert_eq!(file.header("content-type"), Some("image/png"));
        assert_eq!(png_size(file.body()), size, "{fields}");
    }
}

async fn videos_have_the_requested_duration_and_aspect_ratio(mock: Mock) {
    for (fields, seconds, ratio) in [
        (json!({}), 2.0, 16.0 / 9.0),
        (json!({"duration": 5, "aspect_ratio": "9:16"}), 5.0, 9.0 / 16.0),
        (json!({"duration": 3, "aspect_ratio": "1:1"}), 3.0, 1.0),
        (json!({"model": "video-f", "duration": 4, "aspect_ratio": "21:9"}), 4.0, 21.0 / 9.0),
    ] {
        let artifacts = generate(&mock, VIDEO, with(video(), fields.clone())).await;
        let file = mock.download(&artifacts[0]["url"]).await;
        assert_eq!(file.header("content-type"), Some("video/mp4"));
        let movie = mp4(file.body());
        assert!((movie.seconds - seconds).abs() < 0.1, "{fields}: {movie:?}");
        let track = movie.video();
        let actual_ratio = f64::from(track.width) / f64::from(track.height);
        assert!((actual_ratio / ratio - 1.0).abs() < 0.02, "{fields}: {movie:?}");
        assert!(movie.media_bytes > 0, "{movie:?}");
    }
}

async fn generate_audio_adds_an_audio_track(mock: Mock) {
    for (fields, sound) in [(json!({"generate_audio": true}), true), (json!({}), false)] {
        let artifacts = generate(&mock, VIDEO, with(video(), fields)).await;
        let movie = mp4(mock.download(&artifacts[0]["url"]).await.body());
        assert_eq!(movie.has_audio(), sound, "{movie:?}");
    }
}

async fn a_range_request_returns_its_bytes(mock: Mock) {
    let path = small_image_path(&mock).await;
    let media = mock.client(Host::Media);
    let whole = media.get(&path).await.expect(200);
    let total = whole.body().len();
    let last = total - 1;
    for (range, from, to) in [
        ("bytes=0-0".to_owned(), 0, 0),
        ("bytes=4-11".to_owned(), 4, 11),
        (format!("bytes={}-", total - 5), total - 5, last),
        ("bytes=-7".to_owned(), total - 7, last),
        ("bytes=-99999999".to_owned(), 0, last),
        ("bytes=10-99999999".to_owned(), 10, last),
        ("bytes=0-99999999999999999999999".to_owned(), 0, last),
        ("Bytes = 5-6 ".to_owned(), 5, 6),
    ] {
        let part = get_with(&mock, &path, &[("range", &range)]).await.expect(206);
        assert_eq!(
            part.header("content-range"),
            Some(format!("bytes {from}-{to}/{total}").as_str())
        );
        assert_eq!(part.int_header("content-length"), (to - from + 1) as u64);
        assert_eq!(part.body()[..], whole.body()[from..=to], "{range}");
        assert_eq!(part.header("etag"), whole.header("etag"));
        assert_eq!(part.header("content-type"), whole.header("content-type"));
    }
}

async fn consecutive_ranges_form_the_file(mock: Mock) {
    let path = small_image_path(&mock).await;
    let media = mock.client(Host::Media);
    let whole = media.get(&path).await.expect(200);
    let step = whole.body().len() / 5 + 1;
    let mut joined = Vec::new();
    while joined.len() < whole.body().len() {
        let range = format!("bytes={}-{}", joined.len(), joined.len() + step - 1);
        let tag = whole.header("etag").unwrap();
        let part = get_with(&mock, &path, &[("range", &range), ("if-range", tag)]).await;
        joined.extend_from_slice(part.expect(206).body());
    }
    assert_eq!(joined, whole.body()[..]);
}

async fn a_talking_video_has_audio_and_the_reported_duration(mock: Mock) {
    let developer = mock.developer();
    let body =
        json!({"avatar_handle": "ada", "script": "Good morning. Here is what is new this week."});
    let receipt = developer.post_data("/v1/avatar-1.0/talking-video", body, 202).await;
    mock.advance(8).await;
    let path = format!("/v1/avatar-videos/{}", text(&receipt["avatar_video"]["id"]));
    let video = developer.get_data(&path).await;
    let movie = mp4(mock.download(&video["artifacts"][0]["url"]).await.body());
    assert!(movie.has_audio());
    let reported = video["duration_seconds"].as_f64().unwrap();
    assert!((movie.seconds - reported).abs() < 0.1, "{movie:?}");
}
