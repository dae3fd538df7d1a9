//! Avatars, talking videos, face swaps, previews and captions. Each mock starts at 2027-01-15T08:00:00Z.

use super::*;

scripts! {
    first_party_avatars r#"
        developer /v1/avatar-1.0/avatars => 200 *.avatar_handle=["ada","lin"]
        developer /v1/avatars => 200 #=12
        for <path> in /v1/avatars/ava_ada /v1/avatar-1.0/avatars/ava_ada
          developer GET <path> => 200 ={"id":"ava_ada","avatar_handle":"ada","name":"Ada","status":"completed","first_party":true,"tags":["presenter","business","studio","calm"],"image_url":"<MEDIA>/artifacts/ava_ada.png","created_at":"2025-06-02T09:00:00Z"}
        developer /v1/avatars/ava_kofi => 200 name=Kofi image_url=<url>
        media <url> => 200 @content-type=image/png
        for <path> in /v1/avatar-1.0/avatars/ava_kofi /v1/avatars/ava_none
          developer GET <path> => 404 not_found
    "#
    a_new_avatar r#"
        developer avatar => 202 job.model=avatar-1.0 job.id=<job> avatar.id=<id> avatar.id^=ava_ avatar={"id":"<id>","avatar_handle":"mia","name":"Mia","status":"queued","first_party":false,"tags":[],"image_url":null,"job_id":"<job>","created_at":"2027-01-15T08:00:00Z"}
        ledger <job> = reservation 0.5000
        developer /v1/avatars/<id> => 200 status=queued
        advance 5.999
        developer /v1/avatars/<id> => 200 ={"id":"<id>","avatar_handle":"mia","name":"Mia","status":"processing","first_party":false,"tags":[],"image_url":null,"job_id":"<job>","created_at":"2027-01-15T08:00:00Z"}
        for <list> in /v1/avatar-1.0/avatars /v1/avatars
          developer GET <list> => 200 0.avatar_handle=ada
        advance 0.001
        for <list> in /v1/avatar-1.0/avatars /v1/avatars
          developer GET <list> => 200 0.avatar_handle=mia
        developer /v1/avatars/<id> => 200 status=completed image_url=<url>
        media <url> => 200
    "#
    a_handle_is_free_again_after_a_failure r#"
        developer avatar {"input": {"prompt": "[mock:fail]"}} => 202
        developer avatar => 400 invalid_request
        advance 6
        developer avatar => 202 avatar.id=<id>
        advance 6
        developer /v1/avatars/<id> => 200 status=completed
        developer /v1/avatar-1.0/avatars => 200 #=3
    "#
    a_failed_avatar_has_an_error r#"
        developer avatar {"input": {"props": {"like": "[mock:fail]"}}} => 202 avatar.id=<id>
        advance 6
        developer /v1/avatars/<id> => 200 status=failed error.code=generation_failed
    "#
    a_sync_submit_returns_the_finished_avatar r#"
        developer avatar {"input": {"prompt": "[mock:seconds=0]"}, "mode": "sync"} => 200 avatar.status=completed avatar.image_url=<string>
    "#
    an_avatar_is_made_from_a_prompt_props_or_an_image r#"
        for <handle> <input> in
          | mia {"prompt":"a calm presenter"}
          | leo {"props":{"age":30,"hair":"red"}}
          | eve {"image_url":"https://cdn.example.com/frontend.png"}
          | a {"prompt":"x"}
          | news-anchor_2 {"prompt":"x"}
          | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx {"prompt":"x"}
          | zoe {"photo":"https://cdn.example.com/frontend.png"}
          developer avatar {"avatar_handle": "<handle>", "input": <input>} => 202 job.type=avatar_generation avatar.id^=ava_
    "#
    avatars_are_private_to_their_workspace r#"
        developer avatar => 202 avatar.id=<id>
        advance 6
        for <list> in /v1/avatar-1.0/avatars /v1/avatars
          developer:svc_dev_other GET <list>/<id> => 404
          developer:svc_dev_other GET <list> => 200 0.id=ava_ada
        developer:svc_dev_other avatar => 202
    "#
    a_talking_video r#"
        developer talking-video {"script": "Good morning. Here is what is new this week, and why it matters."} => 202 job.type=avatar_video_generation job.id=<job> avatar_video.id=<id> avatar_video.id^=avv_
        ledger <job> = reservation 0.5000
        developer /v1/avatar-videos/<id> => 200 ={"id":"<id>","status":"queued","avatar_handle":"ada","script":"Good morning. Here is what is new this week, and why it matters.","quality":"plus","duration_seconds":5,"preview_id":null,"job_id":"<job>","artifacts":[],"created_at":"2027-01-15T08:00:00Z"}
        advance 8
        developer /v1/avatar-videos/<id> => 200 artifacts.0.id=<artifact> artifacts.0.url=<url>
        developer /v1/avatar-videos => 200 =[{"id":"<id>","status":"completed","avatar_handle":"ada","script":"Good morning. Here is what is new this week, and why it matters.","quality":"plus","duration_seconds":5,"preview_id":null,"job_id":"<job>","artifacts":[{"id":"<artifact>","url":"<url>","media_type":"video","content_type":"video/mp4"}],"created_at":"2027-01-15T08:00:00Z"}]
        media <url> => 200 @content-type=video/mp4
    "#
    quality_sets_the_price r#"
        for <handle> <quality> <price> in lin standard 0.1000, ada plus 0.2000, kofi max 0.4000
          developer talking-video {"avatar_handle": "<handle>", "quality": "<quality>"} => 202 job.id=<id>
          ledger <id> = reservation <price>
    "#
    scenes_are_joined_to_one_script r#"
        developer /v1/avatar-1.0/talking-video {"avatar_handle": "ada", "video_inputs": [{"script": "One."}, {"text": "Two.", "camera": "close"}, {}], "product_image": "https://cdn.example.com/shoe.png", "scene": {"image_url": "https://cdn.example.com/beach.jpg", "light": "evening"}, "metadata": {"campaign": "[mock:fail]"}} => 202 avatar_video.script="One. Two."
        advance 8
        # A directive in the metadata has no effect.
        developer /v1/avatar-videos => 200 0.status=completed
    "#
    an_avatar_cannot_speak_before_it_is_completed r#"
        developer /v1/models/studio/avatar/v1.0/runs {"avatar_handle": "mia", "input": {"prompt": "x"}} => 202
        developer talking-video {"avatar_handle": "mia"} => 400 invalid_request
        advance 6
        developer talking-video {"avatar_handle": "mia"} => 202
    "#
    a_canceled_avatar_video_is_refunded r#"
        developer talking-video => 202 job.id=<job> avatar_video.id=<id> cancel_url=<url>
        developer POST <url> => 200
        ledger <job> = reservation 0.2000, refund 0.2000
        developer /v1/avatar-videos/<id> => 200 status=canceled
    "#
    a_face_swap_keeps_the_media_type r#"
        for <field> <url> <type> in
          | video_url https://cdn.example.com/a.mp4 video/mp4
          | image_url https://cdn.example.com/a.png image/png
          developer /v1/models/studio/avatar-face-swap/v1.0/runs {"avatar_handle": "ada", "<field>": "<url>"} => 202 job.id=<id>
          ledger <id> = reservation 0.6000
          advance 8
          developer /v1/jobs/<id>/result => 200 artifacts.0.content_type=<type>
    "#
    a_preview r#"
        developer preview {"script": "Good morning. Good morning. Good morning. Good morning. Good morning. Good morning. Good morning. Good morning. Good morning. Good morning. "} => 202 job.type=avatar_video_preview job.id=<job> preview.id=<id> preview.id^=pre_ preview.script=<script>
        advance 3
        developer /v1/avatar-video-previews/<id> => 200 artifacts.0.id=<artifact> artifacts.0.url=<url>
        developer /v1/avatar-video-previews/<id> => 200 ={"id":"<id>","status":"completed","avatar_handle":"ada","quality":"max","script":"<script>","duration_seconds":3,"job_id":"<job>","created_at":"2027-01-15T08:00:00Z","artifacts":[{"id":"<artifact>","url":"<url>","media_type":"video","content_type":"video/mp4"}]}
        # A preview is free.
        ledger <job> =
        # A preview cannot be read as captions.
        for <path> in /v1/video-captions/<id> /v1/avatar-video-previews/pre_none /v1/avatar-videos/avv_none
          developer GET <path> => 404 not_found
        developer:svc_dev_other GET /v1/avatar-video-previews/<id> => 404
        for <action> in regenerate generate-video
          developer:svc_dev_other POST /v1/avatar-video-previews/<id>/<action> => 404
    "#
    a_regenerated_preview_has_new_artifacts r#"
        developer preview => 202 preview.id=<id>
        developer POST /v1/avatar-video-previews/<id>/regenerate => 409 job_not_completed details.status=queued
        advance 3
        developer /v1/avatar-video-previews/<id> => 200 artifacts=<artifacts>
        developer POST /v1/avatar-video-previews/<id>/regenerate => 202 preview.status=queued job.id=<job> preview.job_id=<job>
        developer /v1/avatar-video-previews/<id> => 200 job_id=<job>
        advance 3
        developer /v1/avatar-video-previews/<id> => 200 artifacts.#=1 artifacts!=<artifacts>
    "#
    a_video_of_a_preview_takes_its_script_and_quality r#"
        developer preview => 202 preview.id=<id>
        developer /v1/avatar-video-previews/<id>/generate-video {} => 409 job_not_completed
        advance 3
        developer /v1/avatar-video-previews/<id>/generate-video {"metadata": {"x": 1}} => 202 job.id=<job> avatar_video.preview_id=<id> avatar_video.quality=max
        ledger <job> = reservation 0.4000
        developer /v1/avatar-video-previews/<id>/generate-video {"script": "Other."} => 400 invalid_request script
    "#
    a_failed_preview_can_be_regenerated r#"
        developer preview {"script": "[mock:fail]"} => 202 preview.id=<id>
        advance 3
        developer /v1/avatar-video-previews/<id>/generate-video {} => 409 job_not_completed details.status=failed
        developer /v1/avatar-video-previews/<id>/regenerate {} => 202
    "#
    an_idempotency_key_belongs_to_one_preview [honors_undocumented_keys(true)] r#"
        developer preview {"script": "One."} => 202 preview.id=<one>
        developer preview {"script": "Two."} => 202 preview.id=<other>
        advance 3
        developer key=order-1 /v1/avatar-video-previews/<one>/regenerate {} => 202 .=<receipt>
        developer key=order-1 /v1/avatar-video-previews/<one>/regenerate {} => 200 .=<receipt>
        developer key=order-1 /v1/avatar-video-previews/<other>/regenerate {} => 409 idempotency_conflict
    "#
    captions r#"
        developer /v1/video-captions {"video_url": "https://cdn.example.com/a.mp4", "language": "de-AT"} => 202 job.type=video_captions job.id=<job> caption.id=<id>
        ledger <job> = reservation 0.0500
        advance 3
        developer /v1/video-captions/<id> => 200 artifacts.0.id=<artifact> artifacts.0.url=<url>
        developer /v1/video-captions/<id> => 200 ={"id":"<id>","status":"completed","video_url":"https://cdn.example.com/a.mp4","language":"de-AT","job_id":"<job>","created_at":"2027-01-15T08:00:00Z","artifacts":[{"id":"<artifact>","url":"<url>","media_type":"text","content_type":"text/vtt; charset=utf-8"}]}
        media <url> => 200 @content-type="text/vtt; charset=utf-8" %^=WEBVTT %*=Willkommen
        for <language> in en pt-BR zh-Hant-TW deu nl
          developer /v1/video-captions {"video_url": "https://cdn.example.com/a.mp4", "language": "<language>"} => 202 caption.id=<caption>
        advance 3
        developer /v1/video-captions {"video_url": "https://cdn.example.com/a.mp4", "language": "nl"} => 202 caption.id=<english>
        advance 3
        developer /v1/video-captions/<english> => 200 artifacts.0.url=<file>
        media <file> => 200 %*=Welcome
    "#
    a_directive_in_a_caption_url_is_decoded r#"
        developer /v1/video-captions {"video_url": "https://cdn.example.com/%5Bmock:fail%5D.mp4"} => 202 caption.id=<id>
        advance 3
        developer /v1/video-captions/<id> => 200 status=failed
    "#
    model_aliases_accept_the_same_bodies r#"
        for <alias> <body> <type> in
          | avatar/v1.0 {"avatar_handle":"mia","input":{"prompt":"x"}} avatar_generation
          | avatar-1.0/generate {"avatar_handle":"zoe","input":{"prompt":"x"}} avatar_generation
          | avatar-1.0/talking-video {"avatar_handle":"ada","script":"Hi."} avatar_video_generation
          | avatar-video/v1.0 {"avatar_handle":"ada","script":"Hi."} avatar_video_generation
          | avatar-face-swap/v1.0 {"avatar_handle":"ada","video_url":"https://cdn.example.com/a.mp4"} avatar_face_swap
          | image-1.0 {"prompt":"a red fox"} image_generation
          | video-1.0 {"prompt":"a red fox"} video_generation
          | music-1.0 {"prompt":"a red fox"} music_generation
          developer /v1/models/studio/<alias>/runs <body> => 202 job.type=<type>
          developer /v1/models/other/<alias>/runs <body> => 404
    "#
}

on_every_frontend! { a_talking_video_has_audio_and_the_reported_duration }

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
