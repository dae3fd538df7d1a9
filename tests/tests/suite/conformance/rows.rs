//! Requests that need no more than themselves to be judged: one row each, with what it is answered.
//!
//! A section starts with `=`, the host, the method, the path and, after `+`, the fields that each
//! body of the section has besides its own. A row is a body, or in a section without a path a path.

use super::*;

on_every_frontend! {
    requests_to_the_open_surface: plan("scale").balance_usd("100000"),
    requests_to_the_developer_surface: plan("scale"),
    requests_to_start_runs: plan("scale"),
    requests_to_the_control_api,
}

const OPEN: &str = r#"
= open POST /v1/video-router/generate
{} => 400 invalid_request model
{"prompt": "p", "duration": 2} => 400 invalid_request model
{"model": "video-f"} => 400 invalid_request prompt
{"model": "video-l"} => 400 invalid_request prompt
{"model": "video-h"} => 400 invalid_request prompt
{"model": "video-x", "prompt": "p"} => 400 invalid_request model
{"model": "", "prompt": "p"} => 400 invalid_request model
{"model": "VIDEO-F", "prompt": "p"} => 400 invalid_request model
{"model": "image-i", "prompt": "p"} => 400 invalid_request model
{"model": "video-f ", "prompt": "p"} => 400 invalid_request model
{"model": "video-r", "reference_image_urls": ["https://cdn.example.com/a.png"]} => 202
{"model": "auto", "reference_image_urls": ["https://cdn.example.com/a.png"]} => 202
{"model": "lipsync-s", "prompt": "p"} => 400 invalid_request
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.wav"} => 400 invalid_request
{"model": "lipsync-s", "image_url": "https://cdn.example.com/a.png"} => 400 invalid_request
{"model": "lipsync-s", "video_url": "https://cdn.example.com/a.mp4"} => 400 invalid_request
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.wav", "video_url": "https://cdn.example.com/a.mp4"} => 202
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.mp3", "video_url": "https://cdn.example.com/a.png"} => 400 invalid_request video_url
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.mp3", "video_url": "https://cdn.example.com/a.wav"} => 400 invalid_request video_url
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.mp3", "video_url": "https://cdn.example.com/a.pdf"} => 400 invalid_request video_url
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.jpeg", "video_url": "https://cdn.example.com/a.mp4"} => 400 invalid_request audio_url
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.ZIP", "video_url": "https://cdn.example.com/a.mp4"} => 400 invalid_request audio_url
{"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.mp4", "video_url": "https://cdn.example.com/a.mp4"} => 202

= open POST /v1/video-router/generate + {"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.wav", "image_url": "https://cdn.example.com/a.png"}
{} => 202
{"prompt": "smile"} => 202
{"resolution": "720p"} => 400 invalid_request resolution
{"reference_image_urls": ["https://cdn.example.com/a.png"]} => 400 invalid_request reference_image_urls
{"num_images": 1} => 400 invalid_request num_images
{"duration": 0} => 400 invalid_request duration
{"duration": 1} => 400 invalid_request duration
{"duration": 2} => 202
{"duration": 60} => 202
{"duration": 61} => 400 invalid_request duration

= open POST /v1/video-router/generate + {"model": "video-l", "prompt": "p", "duration": 2}
{"end_image_url": "https://cdn.example.com/a.png"} => 400 invalid_request
{"model": 7} => 400 invalid_request model
{"model": ["video-l"]} => 400 invalid_request model
{"prompt": 7} => 400 invalid_request prompt
{"prompt": ["a", "b"]} => 400 invalid_request prompt
{"prompt": {"text": "a"}} => 400 invalid_request prompt
{"duration": "5"} => 400 invalid_request duration
{"duration": 5.5} => 400 invalid_request duration
{"duration": true} => 400 invalid_request duration
{"duration": [5]} => 400 invalid_request duration
{"resolution": 480} => 400 invalid_request resolution
{"resolution": ["480p"]} => 400 invalid_request resolution
{"aspect_ratio": 1.78} => 400 invalid_request aspect_ratio
{"aspect_ratio": {"w": 16, "h": 9}} => 400 invalid_request aspect_ratio
{"generate_audio": "true"} => 400 invalid_request generate_audio
{"generate_audio": 1} => 400 invalid_request generate_audio
{"image_url": 7} => 400 invalid_request image_url
{"image_url": ["https://cdn.example.com/a.png"]} => 400 invalid_request image_url
{"reference_image_urls": []} => 400 invalid_request
{"reference_image_urls": "https://cdn.example.com/a.png"} => 400 invalid_request
{"reference_image_urls": [7]} => 400 invalid_request
{"reference_image_urls": ["https://cdn.example.com/a.png", null]} => 400 invalid_request
{"reference_video_urls": []} => 400 invalid_request
{"reference_video_urls": {"0": "https://cdn.example.com/a.mp4"}} => 400 invalid_request
{"mode": 1} => 400 invalid_request mode
{"mode": "later"} => 400 invalid_request mode
{"mode": "ASYNC"} => 400 invalid_request mode
{"mode": "sync", "wait_timeout_seconds": "5"} => 400 invalid_request wait_timeout_seconds
{"mode": "sync", "wait_timeout_seconds": 1.5} => 400 invalid_request wait_timeout_seconds
{"mode": "sync", "wait_timeout_seconds": -1} => 400 invalid_request wait_timeout_seconds
{"mode": "sync", "wait_timeout_seconds": 31} => 400 invalid_request wait_timeout_seconds
{"mode": "subscribe", "wait_timeout_seconds": 1e9} => 400 invalid_request wait_timeout_seconds
{"mode": "webhook"} => 400 invalid_request webhook_url
{"mode": "webhook", "webhook_url": 7} => 400 invalid_request webhook_url
{"webhook_url": "https://hooks.example.com/svc"} => 400 invalid_request
{"mode": "async", "webhook_url": "https://hooks.example.com/svc"} => 400 invalid_request
{"mode": "sync", "webhook_url": "https://hooks.example.com/svc", "wait_timeout_seconds": 0} => 400 invalid_request
{"mode": "subscribe", "webhook_url": "https://hooks.example.com/svc", "wait_timeout_seconds": 0} => 400 invalid_request
{"mode": "webhook", "webhook_url": "https://hooks.example.com/svc"} => 202
{"prompt": null} => 400 invalid_request prompt
{"generate_audio": null} => 400 invalid_request generate_audio
{"metadata": null} => 400 invalid_request metadata
{"image_url": "https://cdn.example.com/cat.PNG"} => 202
{"image_url": "https://cdn.example.com/cat"} => 202
{"image_url": "https://cdn.example.com/v1.2/cat"} => 202
{"image_url": "https://cdn.example.com/cat.php"} => 202
{"image_url": "https://cdn.example.com/page.html/cat.jpg"} => 202
{"image_url": "https://cdn.example.com/cat.html"} => 400 invalid_request image_url
{"image_url": "https://cdn.example.com/cat.mp4"} => 400 invalid_request image_url
{"image_url": "https://cdn.example.com/cat.mp3"} => 400 invalid_request image_url
{"metadata": "x"} => 400 invalid_request metadata
{"metadata": [1]} => 400 invalid_request metadata
{"metadata": 1} => 400 invalid_request metadata

= open POST /v1/image-router/generate
{} => 400 invalid_request model
{"prompt": "p"} => 400 invalid_request model
{"model": "image-i"} => 400 invalid_request prompt
{"model": "image-x", "prompt": "p"} => 400 invalid_request model
{"model": "video-f", "prompt": "p"} => 400 invalid_request model

= open POST /v1/image-router/generate + {"model": "image-i", "prompt": "p"}
{"model": 7} => 400 invalid_request model
{"prompt": 7} => 400 invalid_request prompt
{"resolution": 720} => 400 invalid_request resolution
{"aspect_ratio": 1} => 400 invalid_request aspect_ratio
{"metadata": "x"} => 400 invalid_request metadata
{"mode": "webhook"} => 400 invalid_request webhook_url
{"num_images": 0} => 400 invalid_request num_images
{"num_images": 1} => 202
{"num_images": 4} => 202
{"num_images": 5} => 400 invalid_request num_images
{"num_images": -1} => 400 invalid_request num_images
{"num_images": 1.5} => 400 invalid_request num_images
{"num_images": "2"} => 400 invalid_request num_images
{"num_images": true} => 400 invalid_request num_images

= open POST /v1/open/estimate
{} => 400 invalid_request model
{"input": {}} => 400 invalid_request model
{"model": 7, "input": {"prompt": "p"}} => 400 invalid_request model
{"model": "video-f"} => 400 invalid_request input
{"model": "video-f", "input": null} => 400 invalid_request input
{"model": "video-f", "input": "p"} => 400 invalid_request input
{"model": "video-x", "input": {}} => 400 invalid_request model
{"model": "video-f", "input": {}} => 400 invalid_request input.prompt
{"model": "video-f", "input": {"prompt": "x", "duration": 3}} => 400 invalid_request input.duration
{"model": "video-f", "input": {"prompt": "x", "duration": 16}} => 400 invalid_request input.duration
{"model": "video-f", "input": {"prompt": "x", "resolution": "4K"}} => 400 invalid_request input.resolution
{"model": "video-h", "input": {"prompt": "x", "generate_audio": true}} => 400 invalid_request input.generate_audio
{"model": "video-f", "input": {"prompt": "x", "model": "video-f"}} => 400 invalid_request input.model
{"model": "video-f", "input": {"prompt": "x", "mode": "webhook"}} => 400 invalid_request input.webhook_url
{"model": "video-f", "input": {"prompt": "x"}, "colour": 1} => 400 invalid_request colour

= open POST /v1/open/top-ups
{} => 400 invalid_amount
{"amount_usd_cents": 499} => 400 invalid_amount
{"amount_usd_cents": 0} => 400 invalid_amount
{"amount_usd_cents": -500} => 400 invalid_amount
{"amount_usd_cents": 1000001} => 400 invalid_amount
{"amount_usd_cents": 18446744073709551615} => 400 invalid_amount
{"amount_usd_cents": 500.0} => 400 invalid_amount
{"amount_usd_cents": 500.5} => 400 invalid_amount
{"amount_usd_cents": 1e300} => 400 invalid_amount
{"amount_usd_cents": "500"} => 400 invalid_amount
{"amount_usd_cents": null} => 400 invalid_amount
{"amount_usd_cents": [500]} => 400 invalid_amount
{"amount_usd_cents": true} => 400 invalid_amount
{"amount_usd_cents": 500} => 201
{"amount_usd_cents": 1000000} => 201

= open POST /v1/open/top-ups + {"amount_usd_cents": 500}
{"currency": "EUR"} => 400 invalid_request currency
{"success_url": "http://shop.example.com/ok"} => 400 invalid_request success_url
{"success_url": "ftp://shop.example.com"} => 400 invalid_request success_url
{"success_url": "javascript:alert(1)"} => 400 invalid_request success_url
{"success_url": ""} => 400 invalid_request success_url
{"success_url": 7} => 400 invalid_request success_url
{"success_url": "https://shop.example.com/a?b=c#d"} => 201
{"cancel_url": "http://shop.example.com/ok"} => 400 invalid_request cancel_url
{"cancel_url": "shop.example.com"} => 400 invalid_request cancel_url
{"cancel_url": "https://shop.example.com/a?b=c#d"} => 201

= open GET
/v1 => 404 not_found
/v1/nothing => 404 not_found
/v2/jobs => 404 not_found
/v1/jobs/a/b/c => 404 not_found
/v1/jobs/job_x/events/x => 404 not_found
/V1/JOBS => 404 not_found
/v1/jobsx => 404 not_found
/v1/me => 404 not_found
/v1/video-router/models/image-i => 404 model_not_found
/v1/video-router/models/video-x => 404 model_not_found
/v1/image-router/models/video-f => 404 model_not_found
/v1/open/catalog/auto => 404 model_not_found
/v1/open/catalog/video-x => 404 model_not_found
/v1/open/top-ups/top_x => 404 top_up_not_found
/v1/open/top-ups/%00 => 404 top_up_not_found
"#;

const DEVELOPER: &str = r#"
= developer POST /v1/image-1.0/generate
{} => 400 invalid_request prompt
{"prompt": " "} => 400 invalid_request prompt
{"prompt": "x", "model": "image-i"} => 400 invalid_request model
{"prompt": "x", "num_images": 5} => 400 invalid_request num_images

= developer POST /v1/video-1.0/generate + {"prompt": "x"}
{"duration": 31} => 400 invalid_request duration
{"owner_user_id": "u"} => 400 invalid_request owner_user_id
{"mode": "webhook"} => 400 invalid_request webhook_url

= developer POST /v1/music-1.0/generate + {"prompt": "x"}
{"duration": 4} => 400 invalid_request duration
{"resolution": "720p"} => 400 invalid_request resolution

= developer POST /v1/models/studio/image-1.0/runs
{} => 400 invalid_request prompt
= developer POST /v1/models/studio/video-1.0/runs
{} => 400 invalid_request prompt
= developer POST /v1/models/studio/music-1.0/runs
{} => 400 invalid_request prompt
= developer POST /v1/models/unknown/image-1.0/runs
{} => 404 model_not_found
= developer POST /v1/models/unknown/music-1.0/runs
{} => 404 model_not_found

= developer POST /v1/generation/admission-preview
{"model": "video-1.0", "input": {"prompt": "x", "duration": 1}} => 400 invalid_request input.duration
{"model": "video-9"} => 400 invalid_request model

= developer POST /v1/avatar-1.0/generate
{"avatar_handle": "mia"} => 400 invalid_request input
{"avatar_handle": "mia", "input": {}} => 400 invalid_request input
{"avatar_handle": "mia", "input": "x"} => 400 invalid_request input
{"avatar_handle": "mia", "input": {"prompt": "x", "props": {"a": 1}}} => 400 invalid_request input
{"avatar_handle": "mia", "input": {"prompt": " "}} => 400 invalid_request input.prompt
{"avatar_handle": "mia", "input": {"props": {}}} => 400 invalid_request input.props
{"avatar_handle": "mia", "input": {"props": "x"}} => 400 invalid_request input.props
{"avatar_handle": "mia", "input": {"image_url": "http://cdn.example.com/a.png"}} => 400 invalid_request input.image_url
{"avatar_handle": "mia", "input": {"image_url": "https://cdn.example.com/a.mp4"}} => 400 invalid_request input.image_url
{"avatar_handle": "mia", "input": {"voice": "low"}} => 400 invalid_request input.voice
{"input": {"prompt": "x"}} => 400 invalid_request avatar_handle

= developer POST /v1/avatar-1.0/generate + {"avatar_handle": "mia", "input": {"prompt": "x"}}
{"avatar_handle": "M a"} => 400 invalid_request avatar_handle
{"avatar_handle": ""} => 400 invalid_request avatar_handle
{"avatar_handle": "Ada"} => 400 invalid_request avatar_handle
{"avatar_handle": "ä"} => 400 invalid_request avatar_handle
{"avatar_handle": "a/b"} => 400 invalid_request avatar_handle
{"avatar_handle": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"} => 400 invalid_request avatar_handle
{"avatar_handle": "kofi"} => 400 invalid_request avatar_handle
{"name": "Mia"} => 400 invalid_request name
{"user_id": "u"} => 400 invalid_request user_id

= developer POST /v1/avatar-1.0/talking-video
{"avatar_handle": "ada"} => 400 invalid_request script
{"script": "Hi."} => 400 invalid_request avatar_handle
{"avatar_handle": "ada", "video_inputs": []} => 400 invalid_request video_inputs
{"avatar_handle": "ada", "video_inputs": ["Hi."]} => 400 invalid_request video_inputs[0]

= developer POST /v1/avatar-1.0/talking-video + {"avatar_handle": "ada", "script": "Hi."}
{"avatar_handle": "unknown"} => 400 invalid_request avatar_handle
{"script": "  "} => 400 invalid_request script
{"video_inputs": [{"script": "Hi."}]} => 400 invalid_request video_inputs
{"quality": "ultra"} => 400 invalid_request quality
{"product_image": "ftp://x"} => 400 invalid_request product_image
{"product_image": 7} => 400 invalid_request product_image
{"scene": {"image_url": "https://localhost/a.png"}} => 400 invalid_request scene.image_url
{"prompt": "x"} => 400 invalid_request prompt
{"workspace_id": "ws_other"} => 400 invalid_request workspace_id

= developer POST /v1/models/studio/avatar-face-swap/v1.0/runs
{"avatar_handle": "ada"} => 400 invalid_request video_url
{"avatar_handle": "ada", "video_url": "https://cdn.example.com/a.mp4", "image_url": "https://cdn.example.com/a.png"} => 400 invalid_request image_url
{"avatar_handle": "zoe", "video_url": "https://cdn.example.com/a.mp4"} => 400 invalid_request avatar_handle

= developer POST /v1/avatar-catalog/search
{} => 400 invalid_request query
{"query": " "} => 400 invalid_request query
{"query": "x", "limit": 0} => 400 invalid_request limit
{"query": "x", "limit": 51} => 400 invalid_request limit
{"query": "x", "sort": "views"} => 400 invalid_request sort

= developer POST /v1/trending-videos/search
{} => 400 invalid_request query
{"query": " "} => 400 invalid_request query
{"query": "x", "limit": 0} => 400 invalid_request limit
{"query": "x", "limit": 51} => 400 invalid_request limit
{"query": "x", "sort": "views"} => 400 invalid_request sort

= developer POST /v1/video-captions
{} => 400 invalid_request video_url
{"video_url": "https://cdn.example.com/a.png"} => 400 invalid_request video_url
{"video_url": "http://cdn.example.com/a.mp4"} => 400 invalid_request video_url
{"video_url": "https://127.0.0.1/a.mp4"} => 400 invalid_request video_url
{"video_url": "https://cdn.example.com/a.mp4", "language": "english"} => 400 invalid_request language
{"video_url": "https://cdn.example.com/a.mp4", "language": ""} => 400 invalid_request language
{"video_url": "https://cdn.example.com/a.mp4", "language": "e"} => 400 invalid_request language
{"video_url": "https://cdn.example.com/a.mp4", "language": "en_US"} => 400 invalid_request language
{"video_url": "https://cdn.example.com/a.mp4", "language": "en-"} => 400 invalid_request language
{"video_url": "https://cdn.example.com/a.mp4", "language": "12"} => 400 invalid_request language
{"video_url": "https://cdn.example.com/a.mp4", "format": "srt"} => 400 invalid_request format

= developer POST /v1/bgm/pick
{"tempo": 120} => 400 invalid_request tempo
{"mood": 7} => 400 invalid_request mood
{"user_id": "u"} => 400 invalid_request user_id

= developer POST /v1/webhooks/test-deliveries
{} => 400 invalid_request url
{"url": null} => 400 invalid_request url
{"url": 7} => 400 invalid_request url
{"url": ""} => 400 invalid_request url
{"url": "https://localhost/"} => 400 invalid_request url
{"url": "http://hooks.example/"} => 400 invalid_request url
{"url": "https://[::ffff:10.0.0.1]/"} => 400 invalid_request url
{"url": "https://hooks.example.com/", "event": "x"} => 400 invalid_request event

= developer GET
/v1/jobs?status=done => 400 invalid_request status
/v1/jobs?status= => 400 invalid_request status
/v1/jobs?type=hologram => 400 invalid_request type
/v1/jobs?limit=0 => 400 invalid_request limit
/v1/jobs?limit=1001 => 400 invalid_request limit
/v1/jobs?limit=-1 => 400 invalid_request limit
/v1/jobs?limit=99999999999999999999999 => 400 invalid_request limit
/v1/jobs?cursor=job_x => 400 invalid_request cursor
/v1/jobs?status=queued&status=failed => 400 invalid_request status
/v1/usage?limit=0 => 400 invalid_request limit
/v1/usage?limit=x => 400 invalid_request limit
/v1/usage?cursor= => 400 invalid_request cursor
/v1/usage?cursor=x => 400 invalid_request cursor
/v1/usage?cursor=99 => 400 invalid_request cursor
/v1/usage?limit=1&limit=1 => 400 invalid_request limit
/v1/avatar-1.0/avatars?cursor=ava_kofi => 400 invalid_request cursor
/v1/formats?cursor=fmt_team => 400 invalid_request cursor
/v1/formats?limit=0 => 400 invalid_request limit
/v1/formats?limit=1.5 => 400 invalid_request limit
/v1/formats?limit= => 400 invalid_request limit
/v1/actions?status=odd => 400 invalid_request status
/v1/actions?trigger_type=odd => 400 invalid_request trigger_type
/v1/actions/act_none => 404 action_not_found
/v1/actions/act_none/runs => 404 action_not_found
/v1/jobs/job_none/events => 404 job_not_found
/v1/nothing => 404 not_found
/v1/jobsx => 404 not_found
/v1/open/catalog => 404 not_found
"#;

const RUNS_TO_START: &str = r#"
= developer POST /v1/formats/fmt_demo/runs
{} => 400 invalid_request instruction
{"attachments": []} => 400 invalid_request instruction
{"model": "video-f"} => 400 invalid_request instruction
{"generation_spend_cap_usd": 5} => 400 invalid_request instruction
{"output_schema": {"type": "object"}} => 400 invalid_request instruction
{"instruction": null, "input": null, "previous_run_id": null, "attachments": null} => 400 invalid_request
{"instruction": " "} => 400 invalid_request instruction
{"instruction": 7} => 400 invalid_request instruction
{"instruction": ["x"]} => 400 invalid_request instruction
{"input": "x"} => 400 invalid_request input
{"input": [1]} => 400 invalid_request input

= developer POST /v1/formats/fmt_demo/runs + {"instruction": "x"}
{"input": 7} => 400 invalid_request input
{"output_schema": {"type": "object"}, "response_format": {"type": "text"}} => 400 invalid_request response_format
{"response_format": {}} => 400 invalid_request response_format.type
{"response_format": {"type": "json_schema"}} => 400 invalid_request response_format.json_schema
{"model": "video-x"} => 400 invalid_request model
{"model": "VIDEO-F"} => 400 invalid_request model
{"model": ""} => 400 invalid_request model
{"model": 7} => 400 invalid_request model
{"on_active_run": "queue"} => 400 invalid_request on_active_run
{"previous_run_id": 7} => 400 invalid_request previous_run_id
{"webhook_url": 7} => 400 invalid_request webhook_url
{"webhook_url": "http://hooks.example/"} => 400 invalid_request webhook_url
{"webhook_url": "https://10.0.0.1/"} => 400 invalid_request webhook_url
{"communication": "webhook"} => 400 invalid_request communication
{"communication": {"mode": "webhook"}} => 400 invalid_request
{"communication": {"webhook_url": "http://hooks.example.com/"}} => 400 invalid_request
{"webhook_url": "https://a.example/", "communication": {"webhook_url": "https://b.example/"}} => 400 invalid_request communication.webhook_url
{"generation_spend_cap_usd": 0} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": -1} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": 500.01} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": 500.0000001} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": 1e300} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": 1e-9} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": "5"} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": true} => 400 invalid_request generation_spend_cap_usd
{"generation_spend_cap_usd": []} => 400 invalid_request generation_spend_cap_usd
{"attachments": "x"} => 400 invalid_attachment
{"attachments": [null]} => 400 invalid_attachment
{"attachments": ["https://cdn.example.com/a.png"]} => 400 invalid_attachment
{"attachments": [{}]} => 400 invalid_attachment
{"attachments": [{"asset_id": 7}]} => 400 invalid_attachment
{"attachments": [{"url": 7}]} => 400 invalid_attachment
{"attachments": [{"url": ""}]} => 400 invalid_attachment
{"attachments": [{"url": "https://localhost/a.png"}]} => 400 invalid_attachment
{"attachments": [{"url": "https://169.254.169.254/a.png"}]} => 400 invalid_attachment

= developer POST /v1/formats/fmt_demo/bulk-runs
{} => 400 invalid_request items
{"items": []} => 400 invalid_request items
{"items": null} => 400 invalid_request items
{"items": "x"} => 400 invalid_request items
{"items": {"0": {"instruction": "x"}}} => 400 invalid_request items
{"items": [{"instruction": "x"}, 7]} => 400 invalid_request items[1]

= developer POST /v1/formats/fmt_demo/bulk-runs + {"items": [{"instruction": "x"}]}
{"concurrency": 0} => 400 invalid_request concurrency
{"concurrency": 17} => 400 invalid_request concurrency
{"concurrency": -1} => 400 invalid_request concurrency
{"concurrency": 1.5} => 400 invalid_request concurrency
{"concurrency": "4"} => 400 invalid_request concurrency
{"webhook_url": "http://hooks.example/"} => 400 invalid_request webhook_url

= developer POST /v1/agent/completions
{} => 400
{"instruction": "x"} => 400
{"generation_spend_cap_usd": 5} => 400
{"instruction": "x", "generation_spend_cap_usd": null} => 400
{"instruction": "x", "generation_spend_cap_usd": 0} => 400
{"instruction": "x", "generation_spend_cap_usd": 500.01} => 400
{"instruction": "x", "generation_spend_cap_usd": "5"} => 400
{"instruction": 7, "generation_spend_cap_usd": 5} => 400

= developer POST /v1/actions/act_none/runs
{} => 404 action_not_found
= developer POST /v1/actions/act_no_trigger/runs
{} => 409 action_api_trigger_disabled
"#;

const CONTROL: &str = r#"
= control POST /keys
{} => 400
{"kind": "golden"} => 400
{"kind": 7} => 400
{"kind": "developer", "scopes": "all"} => 400
{"kind": "developer", "scopes": ["no:such"]} => 400
{"kind": "open", "scopes": ["formats:read"]} => 400
{"kind": "open", "plan": "gold"} => 400
{"kind": "open", "workspace": ""} => 400
{"kind": "open", "plan": "scale"} => 409

= control POST /faults
{} => 400
{"kind": "earthquake"} => 400
{"kind": 7} => 400
{"kind": "status_503", "times": -1} => 400
{"kind": "status_503", "times": "often"} => 400
{"kind": "status_503", "probability": "x"} => 400
{"kind": "status_503", "surface": "moon"} => 400
{"kind": "status_503", "operation": "no_such_operation"} => 400
{"kind": "status_503", "code": "database_busy"} => 400
{"kind": "error"} => 400
{"kind": "error", "surface": "media", "code": "not_found"} => 400
{"kind": "error", "operation": "artifact", "code": "not_found"} => 400
{"kind": "status_403", "operation": "jobs_get"} => 400
{"kind": "status_404", "operation": "checkout"} => 400
{"kind": "status_416", "surface": "open"} => 400
{"kind": "wrong_length", "operation": "jobs_get"} => 400
{"kind": "changed_etag", "surface": "open"} => 400
{"kind": "status_503", "workspace": 7} => 400
{"kind": "status_503", "match": {}} => 400
{"kind": "status_503", "times": 0} => 400
{"kind": "status_503", "probability": 1.5} => 400

= control POST /workspaces
{"id": ""} => 400
{"id": "ws a"} => 400
{"id": 7} => 400
{"plan": "gold"} => 400
{"balance_usd": -1} => 400
{"name": "a"} => 400
{"id": "ws_other"} => 409

= control POST /webhook-routes + {"origin": "https://a.example", "to": "http://127.0.0.1:9000"}
{"origin": "a.example"} => 400
{"origin": "http://a.example"} => 400
{"origin": "https://a.example/path"} => 400
{"to": "http://a.example"} => 400
{"to": "nowhere"} => 400
{"workspace": "ws_none"} => 404
{"tenant": "a"} => 400

= control POST /actions/act_daily
{} => 400
{"schedule_active": "yes"} => 400
{"active": true} => 400

= control POST /verify
{"operations": "jobs_list"} => 400
{"operation": "no_such_operation"} => 400
{"count": "many"} => 400
{"count": {"more_than": 1}} => 400
{"path": ["/"]} => 400
{"status": 7} => 400
{"count": 0} => 200
{} => 422 verification_failed
{"count": {"at_least": 1}} => 422 verification_failed

= control POST /workspaces/ws_new
{"plan": "gold"} => 400
{"balance_usd": -1} => 400
{"balance_usd": "much"} => 400
{"balance_usd": null} => 400
{"organization_wallet": "full"} => 400
{"organization_balance_usd": 5} => 400
{"organization_wallet": "missing", "organization_balance_usd": 5} => 400
{"team": "yes"} => 400
{"owner": "me"} => 400

= control POST /grants
{"format": "fmt_demo", "workspace": "ws_new"} => 404
{"format": "fmt_none", "workspace": "ws_other"} => 404
{"format": "demo/none", "workspace": "ws_other"} => 404
{"format": "fmt_demo"} => 400
{"format": "fmt_demo", "workspace": "ws_other", "until": 1} => 400

= control POST /assets + {"workspace": "ws_demo", "content_type": "image/png", "bytes": 1}
{"workspace": "ws_none"} => 404
{"content_type": "png"} => 400
{"content_type": "image/"} => 400
{"bytes": -1} => 400
{"bytes": "aGVsbG8="} => 400
{"name": "a.png"} => 400

= control POST /dns
{"host": "a.example"} => 400
{"host": "a.example", "address": "here"} => 400
{"host": "10.0.0.1", "address": "10.0.0.1"} => 400
{"host": "https://a.example", "address": "10.0.0.1"} => 400
"#;

async fn requests_to_the_open_surface(mock: Mock) {
    run_script(&mock, None, OPEN).await;
    assert_eq!(mock.jobs().await.len(), OPEN.matches("=> 202").count());
}

async fn requests_to_the_developer_surface(mock: Mock) {
    run_script(&mock, None, DEVELOPER).await;
    assert!(mock.jobs().await.is_empty());
    assert!(mock.deliveries().await.is_empty());
}

async fn requests_to_start_runs(mock: Mock) {
    run_script(&mock, None, RUNS_TO_START).await;
    super::runs::assert_no_runs(&mock).await;
}

async fn requests_to_the_control_api(mock: Mock) {
    run_script(&mock, None, CONTROL).await;
    mock.open().get("/v1/jobs").await.expect(200);
}
