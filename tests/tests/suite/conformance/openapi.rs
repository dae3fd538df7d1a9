//! The OpenAPI document of both surfaces.

use super::*;

on_every_frontend! {
    the_document_is_public,
    both_urls_return_the_same_document,
    hidden_routes_are_omitted,
    the_document_describes_the_specification,
}

async fn read_document(mock: &Mock) -> Value {
    let response = mock.client(Host::Developer).get("/v1/openapi.json").await;
    response.expect(200).json()
}

async fn the_document_is_public(mock: Mock) {
    let read_document = read_document(&mock).await;
    assert!(
        read_document["openapi"]
            .as_str()
            .unwrap()
            .starts_with("3.1")
    );
    let servers = read_document["servers"].as_array().unwrap();
    for host in [Host::Open, Host::Developer] {
        let is_there = servers.iter().any(|it| it["url"] == mock.base_url(host));
        assert!(is_there, "{host:?} in {servers:?}");
    }
    let other_key = mock.developer_as("svc_open_demo");
    other_key.get("/v1/openapi.json").await.expect(200);
    other_key
        .api_key("svc_dev_demo")
        .get_error("/v1/openapi.json", 401, "unauthorized")
        .await;
}

async fn both_urls_return_the_same_document(mock: Mock) {
    let reference = mock.client(Host::Developer).get("/reference/json").await;
    assert_eq!(reference.expect(200).json(), read_document(&mock).await);
}

async fn hidden_routes_are_omitted(mock: Mock) {
    let read_document = read_document(&mock).await;
    let paths = read_document["paths"].as_object().unwrap();
    for hidden in ["/health", "/v1/generation/admission-preview", "/v1/assets"] {
        assert!(!paths.contains_key(hidden), "{hidden}");
    }
}

async fn the_document_describes_the_specification(mock: Mock) {
    let read_document = read_document(&mock).await;
    let submit = &read_document["paths"]["/v1/video-router/generate"]["post"];
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
    let schemas = &read_document["components"]["schemas"];
    let video = &schemas["VideoGenerate"];
    assert_eq!(video["required"], json!(["model"]));
    assert_eq!(video["properties"]["reference_image_urls"]["maxItems"], 10);
    assert_eq!(schemas["Job"]["properties"]["model"]["x-assumed"], true);
    assert!(
        schemas["Job"]["properties"]["status"]
            .get("x-assumed")
            .is_none()
    );
    let alias = &read_document["paths"]["/v1/models/{first_party_owner}/image-1.0/runs"]["post"];
    assert_eq!(alias["deprecated"], true);
    let rotate = &read_document["paths"]["/v1/webhooks/signing-secret/rotate"]["post"];
    assert_eq!(rotate["x-scope"], "account:write");
}
