//! The OpenAPI document of both surfaces.

use super::*;

scripts! {
    the_document_is_public_and_describes_the_specification r#"
        developer: /v1/openapi.json => 200 .=<document> openapi^=3.1 servers.*.url*=<OPEN> servers.*.url*=<DEVELOPER>
        developer:svc_open_demo /v1/openapi.json => 200
        developer:svc_open_demo x-api-key=svc_dev_demo /v1/openapi.json => 401 unauthorized
        developer: /reference/json => 200 .=<document>
        developer: /v1/openapi.json => 200 components.schemas.VideoGenerate.required=["model"] components.schemas.VideoGenerate.properties.reference_image_urls.maxItems=10 components.schemas.Job.properties.model.x-assumed=true !components.schemas.Job.properties.status.x-assumed
        developer: /v1/openapi.json => 200 paths./v1/video-router/generate.post.security.#=2 paths./v1/video-router/generate.post.parameters.*.name*=Idempotency-Key
        developer: /v1/openapi.json => 200 paths./v1/webhooks/signing-secret/rotate.post.x-scope=account:write
        for <status> in 200 202 400 401 402 409 413 415 429 503
          developer: /v1/openapi.json => 200 paths./v1/video-router/generate.post.responses.<status>=<object>
        for <hidden> in /health /v1/generation/admission-preview /v1/assets
          developer: /v1/openapi.json => 200 !paths.<hidden>
    "#
}

on_every_frontend! { aliases_are_deprecated }

async fn aliases_are_deprecated(mock: Mock) {
    let document = mock.client(Host::Developer).get_json("/v1/openapi.json").await;
    let alias = &document["paths"]["/v1/models/{first_party_owner}/image-1.0/runs"]["post"];
    assert_eq!(alias["deprecated"], true);
}
