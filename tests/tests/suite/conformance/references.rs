//! What requests refer to: artifacts of earlier jobs, assets, and hosts that are or are not public.

use super::*;

scripts! {
    an_artifact_can_be_the_input_of_the_next_job r#"
        open image => 202 job.id=<image>
        advance 10
        open /v1/jobs/<image>/result => 200 artifacts.0.url=<picture>
        open video {"image_url": "<picture>"} => 202 job.id=<video>
        advance 10
        open /v1/jobs/<video>/result => 200 artifacts.0.url=<clip>
        developer music {"duration": 5} => 202 job.id=<music>
        advance 10
        developer /v1/jobs/<music>/result => 200 artifacts.0.url=<tune>
        open video {"reference_image_urls": ["<picture>", "https://cdn.example.com/a.png"], "reference_video_urls": ["<clip>"]} => 202
        open estimate {"model": "video-l", "input": {"prompt": "p", "image_url": "<picture>"}} => 200
        open /v1/video-router/generate {"model": "lipsync-s", "audio_url": "<tune>", "image_url": "<picture>"} => 202
        developer /v1/video-captions {"video_url": "<clip>"} => 202
        developer avatar {"input": {"image_url": "<picture>"}} => 202
        developer /v1/formats/fmt_demo/runs {"attachments": [{"url": "<picture>"}]} => 202
        developer /v1/formats/fmt_demo/runs {"attachments": [{"url": "<picture>x"}]} => 502 attachment_fetch_failed
    "#
    the_content_of_an_artifact_is_judged r#"
        open image => 202 job.id=<image>
        open video => 202 job.id=<silent>
        open video {"generate_audio": true} => 202 job.id=<sound>
        advance 10
        open /v1/jobs/<image>/result => 200 artifacts.0.url=<picture>
        open /v1/jobs/<silent>/result => 200 artifacts.0.url=<silent_clip>
        open /v1/jobs/<sound>/result => 200 artifacts.0.url=<clip>
        open video {"image_url": "<silent_clip>"} => 400 invalid_request image_url
        open video {"reference_video_urls": ["<picture>"]} => 400 invalid_request details.field^=reference_video_urls
        open /v1/video-router/generate {"model": "lipsync-s", "audio_url": "<silent_clip>", "image_url": "<picture>"} => 400 invalid_request
        open /v1/video-router/generate {"model": "lipsync-s", "audio_url": "<clip>", "image_url": "<picture>"} => 202
        developer /v1/video-captions {"video_url": "<picture>"} => 400 invalid_request
    "#
    unknown_artifacts_and_hosts_below_invalid_cannot_be_fetched r#"
        open image => 202 job.id=<image>
        advance 10
        open /v1/jobs/<image>/result => 200 artifacts.0.url=<url>
        # Another host on the same machine is not public.
        for <url> in <MEDIA>/artifacts/none.png <MEDIA>/checkout/none <MEDIA>/ <url>.mp4 <OPEN>/a.png
          open video {"image_url": "<url>"} => 400 invalid_request image_url
        for <url> in https://cdn.invalid/a.png https://CDN.INVALID./a.png
          open video {"image_url": "<url>"} => 400 invalid_request image_url
          developer /v1/formats/fmt_demo/runs {"attachments": [{"url": "https://cdn.example.com/a.png"}, {"url": "<url>"}]} => 502 attachment_fetch_failed details.index=1
    "#
    assets_belong_to_their_workspace_and_their_sizes_are_limited r#"
        control /assets {"workspace": "ws_demo", "content_type": "image/png", "bytes": 1000} => 201 asset_id=<id> workspace=ws_demo content_type=image/png bytes=1000
        developer /v1/formats/fmt_demo/runs {"attachments": [{"asset_id": "<id>"}, {"asset_id": "asset_logo"}]} => 202
        developer:svc_dev_other /v1/formats/studio/storyboard/runs {"attachments": [{"asset_id": "asset_logo"}, {"asset_id": "<id>"}]} => 400 attachment_not_found details.index=1
        control /assets {"workspace": "ws_demo", "content_type": "image/jpeg", "bytes": 30000000} => 201 asset_id=<largest>
        developer /v1/formats/fmt_demo/runs {"attachments": [{"asset_id": "<largest>"}]} => 202
        control /assets {"workspace": "ws_demo", "content_type": "image/webp", "bytes": 30000001} => 201 asset_id=<too_large>
        developer /v1/formats/fmt_demo/runs {"attachments": [{"asset_id": "<too_large>"}]} => 413 attachment_too_large details.limit_bytes=30000000
        control /assets {"workspace": "ws_demo", "content_type": "video/mp4", "bytes": 470000000} => 201 asset_id=<film>
        developer /v1/formats/fmt_demo/runs {"attachments": [{"asset_id": "<film>"}, {"asset_id": "<largest>"}]} => 202
        control /assets {"workspace": "ws_demo", "content_type": "text/plain", "bytes": 1} => 201 asset_id=<one>
        developer /v1/formats/fmt_demo/runs {"attachments": [{"asset_id": "<film>"}, {"asset_id": "<largest>"}, {"asset_id": "<one>"}]} => 413 attachment_too_large details.limit_bytes=500000000
    "#
    a_host_with_a_private_address_is_not_public r#"
        open image {"mode": "webhook", "webhook_url": "https://hooks.example.com/in"} => 202
        for <address> in 127.0.0.1 10.0.0.8 169.254.169.254 ::1 fd00::1
          control /dns {"host": "Hooks.Example.com", "address": "<address>"} => 200
          open image {"mode": "webhook", "webhook_url": "https://hooks.example.com/in"} => 400 invalid_request webhook_url
          open video {"image_url": "https://hooks.example.com/a.png"} => 400 invalid_request image_url
          developer /v1/formats/fmt_demo/runs {"attachments": [{"url": "https://hooks.example.com/a.png"}]} => 400 invalid_attachment
          developer /v1/webhooks/test-deliveries {"url": "https://hooks.example.com/in"} => 400 invalid_request url
        control /dns => 200 =[{"host":"hooks.example.com","address":"fd00::1"}]
        control /dns {"host": "Hooks.Example.com", "address": "93.184.215.14"} => 200
        open image {"mode": "webhook", "webhook_url": "https://hooks.example.com/in"} => 202
        control /dns {"host": "Hooks.Example.com", "address": "10.0.0.8"} => 200
        control DELETE /dns => 200 =[]
        open image {"mode": "webhook", "webhook_url": "https://hooks.example.com/in"} => 202
    "#
}

webhook_scripts! {
    the_destination_is_checked_again_at_each_delivery r#"
        replies 500
        open hooked-image => 202 job.id=<id>
        advance 2
        outcomes 1
        open /v1/jobs/<id> => 200 webhook_delivery.status=retrying
        control /dns {"host": "Hooks.Example.com", "address": "192.168.1.1"} => 200
        advance 30
        outcomes 2
        open /v1/jobs/<id> => 200 status=completed webhook_delivery.status=failed webhook_delivery.last_error=url_not_public webhook_delivery.next_attempt_at=null
        received 1
    "#
    a_redelivery_is_checked_against_the_current_address r#"
        developer run {"webhook_url": "https://hooks.example.com/in"} => 202 run_id=<id>
        control /dns {"host": "hooks.example.com", "address": "10.1.2.3"} => 200
        advance 10
        outcomes 1
        developer /v1/format-runs/<id> => 200 webhook_delivery.status=failed webhook_delivery.last_error=url_not_public
        developer POST /v1/format-runs/<id>/webhook/redeliver => 202
        advance 0
        outcomes 2
        received 0
        control /dns {"host": "hooks.example.com", "address": "93.184.215.14"} => 200
        developer POST /v1/format-runs/<id>/webhook/redeliver => 202
        advance 0
        received 1
        outcomes 3
        developer /v1/format-runs/<id> => 200 webhook_delivery.status=delivered
    "#
}
