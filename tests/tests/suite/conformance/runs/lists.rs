//! Lists of runs, Formats and Actions.

use super::*;

scripts! {
    runs_are_listed_newest_first_in_pages r#"
        for <kind> <path> in action /v1/actions/act_daily/runs, format /v1/formats/fmt_demo/runs, agent /v1/agent-runs
          developer run:<kind> => 202 run_id=<a>
          advance 1
          developer run:<kind> => 202 run_id=<b>
          advance 5
          developer run:<kind> => 202 run_id=<c>
          # In the same moment.
          developer run:<kind> => 202 run_id=<d>
          developer GET <path> => 200 *.run_id=["<d>","<c>","<b>","<a>"] /next_cursor=null
          developer GET <path>?limit=3 => 200 *.run_id=["<d>","<c>","<b>"] /next_cursor=<cursor>
          developer GET <path>?limit=3&cursor=<cursor> => 200 *.run_id=["<a>"] /next_cursor=null
    "#
    run_lists_are_limited_to_their_format_or_action r#"
        developer run => 202 run_id=<demo>
        developer media-run => 202 run_id=<media>
        for <path> <ids> in
          | /v1/formats/fmt_demo/runs ["<demo>"]
          | /v1/formats/demo/teaser/runs ["<demo>"]
          | /v1/formats/fmt_media/runs ["<media>"]
          | /v1/formats/fmt_capped/runs []
          | /v1/actions/act_daily/runs []
          | /v1/agent-runs []
          developer GET <path> => 200 *.run_id=<ids>
        developer /v1/formats/fmt_media/runs?cursor=<demo> => 400 invalid_request
        developer run:agent => 202
        developer:svc_dev_other /v1/agent-runs => 200 #=0
    "#
    a_format_is_the_same_by_id_and_by_slug r#"
        for <id> <slug> in fmt_demo demo/teaser, fmt_media demo/product-shot, fmt_storyboard studio/storyboard
          developer /v1/formats/<id> => 200 id=<id> .=<format>
          developer /v1/formats/<slug> => 200 .=<format>
    "#
    a_format_has_its_output_kind_and_spend_cap r#"
        for <id> <cap> in fmt_demo 400000000, fmt_media 400000000, fmt_capped 2000000
          developer /v1/formats/<id> => 200 generation_spend_cap_usd_micros=<cap>
        developer /v1/formats/fmt_demo => 200 io.output_kind=null
        developer /v1/formats/fmt_media => 200 io.output_kind=image
    "#
}

on_every_frontend! { a_format_does_not_expose_its_recipe }

async fn a_format_does_not_expose_its_recipe(mock: Mock) {
    for path in ["", "/fmt_demo", "/studio/storyboard"] {
        let response = mock.developer().get(&format!("/v1/formats{path}")).await;
        let text = response.expect(200).text().to_lowercase();
        assert!(!text.contains("skill") && !text.contains("recipe"), "{text}");
    }
}
