//! The document of both surfaces, which anybody may read.

use serde_json::Value;
use svc_tests::{Host, Mock, on_every_face};

on_every_face! {
    anybody_may_read_the_document,
    the_live_schema_is_the_same_document,
    hidden_routes_are_left_out,
    what_the_specification_shows_is_in_it,
    a_key_of_the_other_host_does_not_keep_anybody_from_it,
}

async fn document(mock: &Mock) -> Value {
    let answer = mock.caller(Host::Developer).get("/v1/openapi.json").await;
    answer.expect(200).json()
}

async fn anybody_may_read_the_document(mock: Mock) {
    let document = document(&mock).await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let servers = document["servers"].as_array().unwrap();
    for host in [Host::Open, Host::Developer] {
        let is_there = servers.iter().any(|it| it["url"] == mock.base_url(host));
        assert!(is_there, "no {} in {servers:?}", mock.base_url(host));
    }
}

async fn the_live_schema_is_the_same_document(mock: Mock) {
    let reference = mock.caller(Host::Developer).get("/reference/json").await;
    assert_eq!(reference.expect(200).json(), document(&mock).await);
}

async fn hidden_routes_are_left_out(mock: Mock) {
    let document = document(&mock).await;
    let paths = document["paths"].as_object().unwrap();
    for hidden in ["/health", "/v1/generation/admission-preview", "/v1/assets"] {
        assert!(!paths.contains_key(hidden), "{hidden}");
    }
}

async fn what_the_specification_shows_is_in_it(mock: Mock) {
    let document = document(&mock).await;
    let submit = &document["paths"]["/v1/video-router/generate"]["post"];
    for status in [
        "200", "202", "400", "401", "402", "409", "413", "415", "429", "503",
    ] {
        assert!(submit["responses"].get(status).is_some(), "{status}");
    }
    let security = submit["security"].as_array().unwrap();
    assert_eq!(security.len(), 2, "Bearer or x-api-key: {security:?}");
    let headers: Vec<&str> = submit["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert!(headers.contains(&"Idempotency-Key"), "{headers:?}");
    let schemas = &document["components"]["schemas"];
    let video = &schemas["VideoGenerate"];
    assert_eq!(video["required"], serde_json::json!(["model"]));
    assert_eq!(video["properties"]["reference_image_urls"]["maxItems"], 10);
    assert_eq!(schemas["Job"]["properties"]["model"]["x-assumed"], true);
    assert!(
        schemas["Job"]["properties"]["status"]
            .get("x-assumed")
            .is_none()
    );
    let alias = &document["paths"]["/v1/models/{first_party_owner}/image-1.0/runs"]["post"];
    assert_eq!(alias["deprecated"], true);
    let rotate = &document["paths"]["/v1/webhooks/signing-secret/rotate"]["post"];
    assert_eq!(rotate["x-scope"], "account:write");
}

async fn a_key_of_the_other_host_does_not_keep_anybody_from_it(mock: Mock) {
    let caller = mock.caller(Host::Developer).bearer("svc_open_demo");
    caller.get("/v1/openapi.json").await.expect(200);
    let both = caller.api_key("svc_dev_demo");
    both.get("/v1/openapi.json")
        .await
        .refused(401, "unauthorized");
}
