//! Whole response bodies, field by field. Each mock starts at 2027-01-15T08:00:00Z.

use super::*;

scripts! {
    the_account_of_each_kind_of_key r#"
        open image => 202
        advance 1.5
        developer:svc_dev_noscope /v1/me => 200 ={"key":{"id":"key_dev_noscope","name":"dev noscope","prefix":"svc_dev","scopes":[],"last_used_at":"2027-01-15T08:00:01.5Z"},"owner":{"type":"user","id":"usr_demo","name":"demo"},"workspace":{"id":"ws_demo","name":"demo","kind":"personal","plan":"free"},"generation_limits":{"concurrent_jobs":100,"in_flight":1}}
        developer:svc_team_demo /v1/me => 200 owner.type=team workspace.kind=team
        developer:svc_sa_demo /v1/me => 200 owner.type=service_account key.prefix=svc_sa key.scopes.#=9
    "#
    usage_lists_each_kind_of_entry r#"
        developer /v1/usage => 200 =[]
        open image => 202 job.id=<completed>
        open image {"prompt": "[mock:fail]"} => 202 job.id=<failed>
        advance 2
        open top-up {"amount_usd_cents": 700} => 201 id=<top_up>
        control /top-ups/<top_up> {"status": "paid"} => 200
        developer /v1/usage => 200 *.kind=["top_up","refund","capture","reservation","reservation"] *.amount_usd=["7.0000","0.0050","0.0050","0.0050","0.0050"] *.job_id=[null,"<failed>","<completed>","<failed>","<completed>"]
        developer /v1/usage => 200 0.top_up_id=<top_up> 2.created_at=2027-01-15T08:00:02Z 3.created_at=2027-01-15T08:00:00Z 3.id=<entry>
        developer /v1/usage => 200 3.id^=ent_ 3={"id":"<entry>","kind":"reservation","amount_usd":"0.0050","job_id":"<failed>","created_at":"2027-01-15T08:00:00Z"}
    "#
    jobs_of_both_surfaces r#"
        for <client> <path> <fields> <model> in
          | open /v1/video-router/generate {"model":"video-f"} video-f
          | developer /v1/video-1.0/generate {} video-1.0
          <client> <path> {"prompt": "x", "metadata": {"order": [1, null]}} <fields> => 202 job.id=<id> job.id^=job_ job=<job>
          <client> /v1/jobs/<id> => 200 .=<job> status=queued type=video_generation model=<model> created_at=2027-01-15T08:00:00Z updated_at=2027-01-15T08:00:00Z metadata={"order":[1,null]}
          developer:svc_team_demo /v1/jobs/<id> => 404 job_not_found
          # Only the open surface shows a price.
          open /v1/jobs/<id> => 200 price_usd=<string>
          developer /v1/jobs/<id> => 200 !price_usd
        open /v1/video-router/generate {"model": "video-f", "prompt": "x"} => 202 job.price_usd=0.7035
    "#
    the_developer_catalog r#"
        developer: /v1/catalog => 200 endpoints*={"operation":"jobs_webhook_redeliver","method":"POST","path":"/v1/jobs/{job_id}/webhook/redeliver","auth":"key","scope":"jobs:write"} endpoints*={"operation":"health","method":"GET","path":"/v1/health","auth":"public","scope":null}
        developer: /v1/catalog => 200 capabilities.#=8 pricing.unit=credit pricing.currency=USD pricing.usd_per_credit=0.0100 pricing.charged=<some>
        developer: /v1/catalog => 200 models.*.id=["image-1.0","video-1.0","music-1.0","avatar-1.0","avatar-face-swap","video-captions"]
        developer: /v1/catalog => 200 models.0={"id":"image-1.0","name":"Image 1.0","type":"image","capabilities":{"inputs":["prompt","num_images"],"resolutions":["720p","1080p"],"aspect_ratios":["1:1","16:9","9:16","4:3","3:4","3:2","2:3"]},"pricing":{"currency":"credits","usd_per_credit":"0.0100","rates":[{"makes":"image_generation","unit":"image","resolution":"720p","unit_price_credits":"1.00","unit_price_usd":"0.0100"},{"makes":"image_generation","unit":"image","resolution":"1080p","unit_price_credits":"2.00","unit_price_usd":"0.0200"}]}}
    "#
    background_music r#"
        developer: /v1/bgm/catalog => 200 #=12 0={"id":"bgm_porch_light","title":"Porch Light","category":"acoustic","mood":"calm","url":"<MEDIA>/artifacts/bgm_porch_light.wav","content_type":"audio/wav","duration_seconds":62}
        media /artifacts/bgm_porch_light.wav => 200 %^=RIFF
        developer: /v1/bgm/categories => 200 0={"id":"acoustic","name":"Acoustic","track_count":2}
        for <file> in bgm_porch_light.mp4 bgm_none.wav
          media /artifacts/<file> => 404
        developer: /v1/bgm/pick {"category": "electronic", "mood": "focused"} => 200 id=bgm_soft_reset
        repeat 20
          developer: /v1/bgm/pick {"category": "ambient"} => 200 category=ambient
        for <body> in {"category":"polka"} {"category":"ambient","mood":"happy"}
          developer: /v1/bgm/pick <body> => 404 not_found
        developer: POST /v1/bgm/pick => 200
    "#
    searches r#"
        for <query> <names> in
          | presenter ["Ada","Lin","Emil","Kofi"]
          | "Presenter STUDIO" ["Ada","Emil"]
          | kofi ["Kofi"]
          | unknown []
          developer /v1/avatar-catalog/search {"query": "<query>"} => 200 *.name=<names>
        developer /v1/trending-videos/search {"query": "animals"} => 200 #=2 0={"id":"trend_fox_door","title":"This fox knocks every morning","tags":["animals","fox","morning"],"views":18402113,"duration_seconds":14,"url":"<MEDIA>/artifacts/trend_fox_door.mp4","published_at":"2025-11-28T07:12:00Z"}
        media /artifacts/trend_fox_door.mp4 => 200 @content-type=video/mp4
        for <list> <body> <count> in
          | trending-videos {"query":"e"} 10
          | trending-videos {"query":"e","limit":50} 12
          | avatar-catalog {"query":"a","limit":1} 1
          developer /v1/<list>/search <body> => 200 #=<count>
    "#
    an_admission_preview r#"
        # It is a read: it counts as one, and creates no job.
        developer /v1/generation/admission-preview {"model": "video-1.0", "input": {"prompt": "x", "duration": 10}} => 200 @ratelimit-limit=4800 ={"allowed":true,"reason":null,"model":"video-1.0","estimated_usd":"0.5000","available_usd":"100.0000","generation_limits":{"concurrent_jobs":100,"in_flight":0}}
        control /jobs => 200 #=0
    "#
    a_new_top_up r#"
        open top-up => 201 id=<id> id^=top_ checkout_url=<url> .=<top_up>
        open /v1/open/top-ups/<id> => 200 .=<top_up> ={"id":"<id>","status":"pending","checkout_url":"<url>","amount_usd_cents":500,"created_at":"2027-01-15T08:00:00Z"}
    "#
    a_receipt_has_the_urls_of_its_surface r#"
        for <client> <request> <fields> <base> in
          | open video {} <OPEN>
          | developer /v1/video-1.0/generate {"prompt":"x"} <DEVELOPER>
          <client> <request> <fields> => 202 @x-svc-request-id=<request_id> job=<job> job.id=<id> ={"request_id":"<request_id>","job":<job>,"status_url":"<base>/v1/jobs/<id>/status","result_url":"<base>/v1/jobs/<id>/result","cancel_url":"<base>/v1/jobs/<id>/cancel","next_poll_after_seconds":4}
    "#
}

on_every_frontend! {
    only_operations_of_the_developer_surface_are_in_its_catalog,
}

async fn only_operations_of_the_developer_surface_are_in_its_catalog(mock: Mock) {
    let catalog = mock.client(Host::Developer).get_data("/v1/catalog").await;
    let endpoints = catalog["endpoints"].as_array().unwrap();
    for hidden in ["hidden_health", "video_generate"] {
        assert!(endpoints.iter().all(|it| it["operation"] != hidden), "{hidden}");
    }
    assert_eq!(catalog["runtime"]["models"]["video-1.0"], "ready");
}
