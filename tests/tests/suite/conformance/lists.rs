//! Lists: their order, their filters and their pages, and the models and prices.

use super::*;

scripts! {
    jobs_are_listed_newest_first_and_filtered r#"
        open video {"prompt": "[mock:fail]"} => 202 job.id=<failed>
        open video => 202 job.id=<completed>
        open video => 202 job.id=<canceled>
        open POST /v1/jobs/<canceled>/cancel => 200
        open video {"prompt": "[mock:seconds=20]"} => 202 job.id=<processing>
        advance 8
        open image => 202 job.id=<queued>
        for <query> <ids> in
          | "" ["<queued>","<processing>","<canceled>","<completed>","<failed>"]
          | ?limit=1000&unknown=x ["<queued>","<processing>","<canceled>","<completed>","<failed>"]
          | ?status=failed ["<failed>"]
          | ?status=completed ["<completed>"]
          | ?status=canceled ["<canceled>"]
          | ?status=processing ["<processing>"]
          | ?status=queued ["<queued>"]
          | ?type=image_generation ["<queued>"]
          | ?type=image_generation&status=queued ["<queued>"]
          | ?type=image_generation&status=completed []
          open /v1/jobs<query> => 200 *.id=<ids> /next_cursor=null
          developer /v1/jobs<query> => 200 *.id=<ids> /next_cursor=null
        open /v1/jobs?limit=2 => 200 *.id=["<queued>","<processing>"] /next_cursor=<cursor>
        open /v1/jobs?limit=2&cursor=<cursor> => 200 *.id=["<canceled>","<completed>"] /next_cursor=<next>
        open /v1/jobs?limit=2&cursor=<next> => 200 *.id=["<failed>"] /next_cursor=null
        developer:svc_dev_other /v1/jobs => 200 #=0
    "#
    models_match_the_profiles r#"
        open /v1/video-router/models => 200 *.id=["video-f","video-l","video-h","video-r","lipsync-s"]
        for <index> <resolutions> in
          | 0 ["480p","720p"]
          | 1 ["480p","720p","1080p"]
          | 2 ["720p","1080p","2K","4K"]
          | 3 ["720p","1080p"]
          | 4 []
          open /v1/video-router/models => 200 <index>.capabilities.resolutions=<resolutions> <index>.capabilities.duration_seconds=<some> <index>.pricing=<some>
        open /v1/image-router/models => 200 *.id=["image-i"] 0.pricing=<some>
    "#
    usage_pages_do_not_shift_when_entries_are_added r#"
        open image => 202
        open image => 202
        open image => 202
        developer /v1/usage => 200 0.id=<c> 1.id=<b> 2.id=<a>
        developer /v1/usage?limit=2 => 200 *.id=["<c>","<b>"] /next_cursor=<cursor>
        open image => 202
        developer /v1/usage?limit=2&cursor=<cursor> => 200 *.id=["<a>"] /next_cursor=null
    "#
    avatar_pages_continue_with_the_first_party_avatars r#"
        for <handle> in one two three
          developer avatar {"avatar_handle": "<handle>"} => 202
        advance 6
        developer /v1/avatar-1.0/avatars?limit=2 => 200 *.avatar_handle=["three","two"] /next_cursor=<cursor>
        developer /v1/avatar-1.0/avatars?limit=2&cursor=<cursor> => 200 *.avatar_handle=["one","ada"] /next_cursor=<next>
        developer /v1/avatar-1.0/avatars?limit=2&cursor=<next> => 200 *.avatar_handle=["lin"] /next_cursor=null
    "#
    formats_and_actions_are_listed_for_their_owner_in_pages r#"
        for <key> <path> <ids> in
          | svc_dev_demo /v1/formats ["fmt_demo","fmt_media","fmt_capped","fmt_inactive","fmt_no_trigger","fmt_storyboard"]
          | svc_team_demo /v1/formats ["fmt_team","fmt_storyboard"]
          | svc_dev_other /v1/formats ["fmt_storyboard"]
          | svc_dev_demo /v1/actions ["act_daily","act_no_trigger"]
          | svc_dev_demo /v1/actions?trigger_type=schedule&status=active ["act_daily"]
          | svc_dev_demo /v1/actions?trigger_type=api_call ["act_daily"]
          | svc_dev_demo /v1/actions?status=inactive []
          | svc_dev_other /v1/actions []
          developer:<key> GET <path> => 200 *.id=<ids>
        developer:svc_dev_other /v1/actions/act_daily => 404 action_not_found
        developer /v1/formats?limit=4 => 200 #=4 /next_cursor=fmt_inactive
        developer /v1/formats?limit=4&cursor=fmt_inactive => 200 #=2 /next_cursor=null
        developer /v1/actions?limit=1 => 200 #=1 /next_cursor=act_daily
        developer /v1/formats/fmt_inactive => 200 status=inactive
        developer /v1/formats/studio/storyboard => 200 first_party=true
        developer /v1/actions/act_daily => 200 triggers=[{"type":"schedule","schedule":"0 9 * * *"},{"type":"api_call"}]
    "#
    catalog_prices_match_the_specification r#"
        open /v1/open/catalog => 200 #=6
        for <model> <prices> in
          | video-f "0.1407 0.3024"
          | video-l "0.0625 0.1250 0.2500"
          | video-h "0.0578 0.0963 0.1444 0.2157"
          | video-r "0.0838 0.1050"
          | image-i "0.0050 0.0075"
          | lipsync-s 0.0500
          for <price> in <prices>
            open /v1/open/catalog/<model> => 200 %*="<price>"
    "#
}

on_every_frontend! {
    models_can_be_read_by_id,
}

async fn models_can_be_read_by_id(mock: Mock) {
    let open = mock.open();
    for list in ["/v1/video-router/models", "/v1/image-router/models", "/v1/open/catalog"] {
        for listed in open.get_items(list).await {
            let path = format!("{list}/{}", text(&listed["id"]));
            assert_eq!(open.get_data(&path).await, listed, "{path}");
        }
    }
}
