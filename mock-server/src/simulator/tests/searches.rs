//! Searches in the avatar catalog and among trending videos.

use serde_json::{Value, json};

use super::Mock;

const AVATARS: &str = "/v1/avatar-catalog/search";
const TRENDING: &str = "/v1/trending-videos/search";

fn found(mock: &mut Mock, path: &str, body: Value) -> Vec<Value> {
    let found = mock.developer().post(path, body).data(200);
    found.as_array().unwrap().clone()
}

#[test]
fn avatars_are_found_by_name_and_tag() {
    let mut mock = Mock::new();
    let mut names = |query: &str| -> Vec<_> {
        let found = found(&mut mock, AVATARS, json!({"query": query}));
        found.iter().map(|avatar| avatar["name"].clone()).collect()
    };
    assert_eq!(names("presenter"), ["Ada", "Lin", "Emil", "Kofi"]);
    assert_eq!(names("Presenter STUDIO"), ["Ada", "Emil"]);
    assert_eq!(names("kofi"), ["Kofi"]);
    assert!(names("nobody").is_empty());
}

#[test]
fn trending_videos_are_found_by_title_and_topic() {
    let mut mock = Mock::new();
    let videos = found(&mut mock, TRENDING, json!({"query": "animals"}));
    let expected = json!({
        "id": "trend_fox_door", "title": "This fox knocks every morning",
        "tags": ["animals", "fox", "morning"], "views": 18_402_113, "duration_seconds": 14,
        "url": "http://127.0.0.1:4012/artifacts/trend_fox_door.mp4",
        "published_at": "2025-11-28T07:12:00Z"
    });
    assert_eq!((videos.len(), &videos[0]), (2, &expected));
    let file = mock.file(&expected["url"]);
    assert_eq!(file.header("content-type"), "video/mp4");
}

#[test]
fn a_search_gives_at_most_ten_unless_it_says_otherwise() {
    let mut mock = Mock::new();
    let mut count = |path: &str, body: Value| found(&mut mock, path, body).len();
    assert_eq!(count(TRENDING, json!({"query": "e"})), 10);
    assert_eq!(count(TRENDING, json!({"query": "e", "limit": 50})), 12);
    assert_eq!(count(AVATARS, json!({"query": "a", "limit": 1})), 1);
    for (body, field) in [
        (json!({}), "query"),
        (json!({"query": " "}), "query"),
        (json!({"query": "x", "limit": 0}), "limit"),
        (json!({"query": "x", "limit": 51}), "limit"),
        (json!({"query": "x", "sort": "views"}), "sort"),
    ] {
        let error = mock
            .developer()
            .post(AVATARS, body)
            .refused(400, "invalid_request");
        assert_eq!(error["details"]["field"], field);
    }
}
