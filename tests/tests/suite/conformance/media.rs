//! The media host: real files, with what a downloader needs to resume them.

use bytes::Bytes;
use serde_json::{Value, json};
use svc_tests::{Answer, Host, Mock, mp4, on_every_face, png_size};

use super::{IMAGE, VIDEO, image, submit, video, with};

on_every_face! {
    an_artifact_is_a_file_that_anyone_may_fetch,
    the_same_url_gives_the_same_bytes,
    images_have_the_pixel_size_of_their_resolution_and_aspect_ratio,
    videos_play_for_their_duration_at_their_aspect_ratio,
    a_video_has_a_soundtrack_where_it_was_asked_for,
    a_range_gets_its_bytes,
    ranges_put_together_are_the_file,
    a_range_outside_of_the_file_is_refused,
    if_range_with_another_tag_gets_all_of_it,
    who_has_the_file_is_told_so,
    a_head_request_gets_the_headers_alone,
    what_does_not_exist_is_not_found,
    nothing_is_there_before_the_job_is_completed,
}

/// Runs a job to its end and gives its artifacts.
async fn artifacts(mock: &Mock, path: &str, body: Value) -> Vec<Value> {
    let open = mock.open();
    let id = submit(&open, path, body).await;
    mock.advance(8).await;
    let result = open
        .get(&format!("/v1/jobs/{id}/result"))
        .await
        .expect(200)
        .data();
    result["artifacts"].as_array().unwrap().clone()
}

/// The path of a small image on the media host.
async fn small_file(mock: &Mock) -> String {
    let made = artifacts(mock, IMAGE, image()).await;
    mock.path_of(Host::Media, &made[0]["url"])
}

async fn fetch(mock: &Mock, artifact: &Value) -> Answer {
    let path = mock.path_of(Host::Media, &artifact["url"]);
    mock.caller(Host::Media).get(&path).await.expect(200)
}

async fn an_artifact_is_a_file_that_anyone_may_fetch(mock: Mock) {
    for (path, body) in [(IMAGE, image()), (VIDEO, video())] {
        let made = artifacts(&mock, path, body).await;
        let file = fetch(&mock, &made[0]).await;
        assert_eq!(
            file.header("content-type"),
            made[0]["content_type"].as_str()
        );
        assert_eq!(file.number("content-length"), file.body().len() as u64);
        let tag = file.header("etag").expect("an entity tag");
        assert!(
            tag.starts_with('"') && tag.ends_with('"') && tag.len() > 2,
            "a strong tag: {tag}"
        );
    }
}

async fn the_same_url_gives_the_same_bytes(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let first = media.get(&path).await.expect(200);
    mock.advance(100_000).await;
    let second = media.get(&path).await.expect(200);
    assert_eq!(first.body(), second.body());
    assert_eq!(first.header("etag"), second.header("etag"));
}

async fn images_have_the_pixel_size_of_their_resolution_and_aspect_ratio(mock: Mock) {
    for (fields, size) in [
        (json!({}), (720, 720)),
        (json!({"aspect_ratio": "16:9"}), (1280, 720)),
        (json!({"aspect_ratio": "9:16"}), (720, 1280)),
        (json!({"aspect_ratio": "4:3"}), (960, 720)),
        (json!({"aspect_ratio": "2:3"}), (720, 1080)),
        (
            json!({"aspect_ratio": "16:9", "resolution": "1080p"}),
            (1920, 1080),
        ),
    ] {
        let made = artifacts(&mock, IMAGE, with(image(), fields.clone())).await;
        let file = fetch(&mock, &made[0]).await;
        assert_eq!(file.header("content-type"), Some("image/png"));
        assert_eq!(png_size(file.body()), size, "{fields}");
    }
}

async fn videos_play_for_their_duration_at_their_aspect_ratio(mock: Mock) {
    for (fields, seconds, ratio) in [
        (json!({}), 2.0, 16.0 / 9.0),
        (
            json!({"duration": 5, "aspect_ratio": "9:16"}),
            5.0,
            9.0 / 16.0,
        ),
        (json!({"duration": 3, "aspect_ratio": "1:1"}), 3.0, 1.0),
        (
            json!({"model": "video-f", "duration": 4, "aspect_ratio": "21:9"}),
            4.0,
            21.0 / 9.0,
        ),
    ] {
        let made = artifacts(&mock, VIDEO, with(video(), fields.clone())).await;
        let file = fetch(&mock, &made[0]).await;
        assert_eq!(file.header("content-type"), Some("video/mp4"));
        let movie = mp4(file.body());
        assert!((movie.seconds - seconds).abs() < 0.1, "{fields}: {movie:?}");
        let picture = movie.video();
        let found = f64::from(picture.width) / f64::from(picture.height);
        assert!((found / ratio - 1.0).abs() < 0.02, "{fields}: {movie:?}");
        assert!(movie.media_bytes > 0, "{movie:?}");
    }
}

async fn a_video_has_a_soundtrack_where_it_was_asked_for(mock: Mock) {
    for (fields, sound) in [(json!({"generate_audio": true}), true), (json!({}), false)] {
        let made = artifacts(&mock, VIDEO, with(video(), fields)).await;
        let movie = mp4(fetch(&mock, &made[0]).await.body());
        assert_eq!(movie.has_sound(), sound, "{movie:?}");
    }
}

async fn a_range_gets_its_bytes(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let whole = media.get(&path).await.expect(200);
    let total = whole.body().len();
    let last = total - 1;
    for (range, from, to) in [
        ("bytes=0-0".to_owned(), 0, 0),
        ("bytes=4-11".to_owned(), 4, 11),
        (format!("bytes={}-", total - 5), total - 5, last),
        ("bytes=-7".to_owned(), total - 7, last),
        ("bytes=10-99999999".to_owned(), 10, last),
    ] {
        let part = media
            .clone()
            .with("range", &range)
            .get(&path)
            .await
            .expect(206);
        assert_eq!(
            part.header("content-range"),
            Some(format!("bytes {from}-{to}/{total}").as_str())
        );
        assert_eq!(part.number("content-length"), (to - from + 1) as u64);
        assert_eq!(part.body()[..], whole.body()[from..=to], "{range}");
        assert_eq!(part.header("etag"), whole.header("etag"));
        assert_eq!(part.header("content-type"), whole.header("content-type"));
    }
}

async fn ranges_put_together_are_the_file(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let whole = media.get(&path).await.expect(200);
    let step = whole.body().len() / 5 + 1;
    let mut joined = Vec::new();
    while joined.len() < whole.body().len() {
        let range = format!("bytes={}-{}", joined.len(), joined.len() + step - 1);
        let tag = whole.header("etag").unwrap();
        let part = media
            .clone()
            .with("range", &range)
            .with("if-range", tag)
            .get(&path)
            .await;
        joined.extend_from_slice(part.expect(206).body());
    }
    assert_eq!(joined, whole.body()[..]);
}

async fn a_range_outside_of_the_file_is_refused(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let total = media.get(&path).await.expect(200).body().len();
    for range in [format!("bytes={total}-"), "bytes=99999999-".to_owned()] {
        let answer = media
            .clone()
            .with("range", &range)
            .get(&path)
            .await
            .expect(416);
        assert_eq!(
            answer.header("content-range"),
            Some(format!("bytes */{total}").as_str())
        );
    }
}

async fn if_range_with_another_tag_gets_all_of_it(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let whole = media.get(&path).await.expect(200);
    let stale = media
        .clone()
        .with("range", "bytes=4-11")
        .with("if-range", "\"stale\"");
    assert_eq!(stale.get(&path).await.expect(200).body(), whole.body());
}

async fn who_has_the_file_is_told_so(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let tag = media
        .get(&path)
        .await
        .expect(200)
        .header("etag")
        .unwrap()
        .to_owned();
    let again = media
        .clone()
        .with("if-none-match", &tag)
        .get(&path)
        .await
        .expect(304);
    assert!(again.body().is_empty());
    media
        .clone()
        .with("if-none-match", "\"stale\"")
        .get(&path)
        .await
        .expect(200);
}

async fn a_head_request_gets_the_headers_alone(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    let whole = media.get(&path).await.expect(200);
    let head = media
        .send("HEAD", &path, None, Bytes::new())
        .await
        .expect(200);
    assert!(head.body().is_empty());
    for name in ["content-type", "content-length", "etag"] {
        assert_eq!(head.header(name), whole.header(name), "{name}");
    }
}

async fn what_does_not_exist_is_not_found(mock: Mock) {
    let path = small_file(&mock).await;
    let media = mock.caller(Host::Media);
    for path in [
        "/",
        "/nothing",
        "/..%2f..%2fetc%2fpasswd",
        &format!("{path}x"),
        &format!("{path}/x"),
    ] {
        let answer = media.get(path).await;
        assert!(
            (400..500).contains(&answer.status()),
            "{path} got\n{answer:?}"
        );
    }
}

async fn nothing_is_there_before_the_job_is_completed(mock: Mock) {
    let open = mock.open();
    let id = submit(&open, IMAGE, image()).await;
    let job = open.get(&format!("/v1/jobs/{id}")).await.expect(200).data();
    assert!(
        !job.to_string().contains(mock.base_url(Host::Media)),
        "{job}"
    );
}
