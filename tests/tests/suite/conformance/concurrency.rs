//! The limit of concurrent jobs per workspace, which is 100 on the plan of the demo workspace.

use super::*;

scripts! {
    jobs_above_the_limit_are_rejected [balance_usd("1.0000")] r#"
        repeat 100
          open image {"prompt": "[mock:stuck]"} => 202
        # The limit comes before a directive, and after the funds.
        open video {"prompt": "[mock:refuse=stripe_error]"} => 400 concurrency_limit_reached details={"limit":100}
        open video {"duration": 30, "resolution": "1080p"} => 402 insufficient_funds
        control /jobs => 200 #=100
        # All keys of a workspace share the limit.
        control /keys {"kind": "open", "workspace": "ws_demo"} => 201 key=<same>
        open:<same> image => 400 concurrency_limit_reached
        control /keys {"kind": "open", "workspace": "ws_elsewhere"} => 201 key=<other>
        open:<other> image => 202
    "#
    a_job_that_ends_frees_a_slot r#"
        open video {"prompt": "[mock:seconds=100]"} => 202 job.id=<canceled>
        open video => 202
        repeat 98
          open image {"prompt": "[mock:stuck]"} => 202
        open key=order-1 video => 400 concurrency_limit_reached
        open POST /v1/jobs/<canceled>/cancel => 200
        open key=order-1 video => 202
        open key=order-1 video => 200
        open video => 400 concurrency_limit_reached
        advance 8
        # Both videos have ended.
        open video => 202
        open video => 202
        open video => 400 concurrency_limit_reached
    "#
}
