//! The errors of the specification's table "Read errors" for runs, queues and Formats.

use super::*;

on_every_frontend! { runs_of_other_workspaces_look_unknown }

async fn runs_of_other_workspaces_look_unknown(mock: Mock) {
    let other = mock.developer_as("svc_dev_other");
    let mut paths = Vec::new();
    for kind in Kind::ALL {
        let id = start_run(&mock, kind, "x").await;
        let code = format!("{}_run_not_found", kind.name());
        let ends = ["", "/status", "/result", "/events"];
        let count = if kind == Kind::Format { 4 } else { 3 };
        for end in &ends[..count] {
            paths.push((kind.run("{}") + end, id.clone(), "run_none", code.clone()));
        }
    }
    let items = json!({"items": [instruction("x")]});
    let queue = mock.developer().post_data(BULK, items, 202).await;
    let (path, code) = ("/v1/format-run-queues/{}", "format_run_queue_not_found");
    paths.push((path.to_owned(), text(&queue["queue_id"]), "frq_none", code.to_owned()));
    for (path, id, unknown, code) in paths {
        mock.developer().get(&path.replace("{}", &id)).await.expect_no_server_error();
        let mut errors = Vec::new();
        for id in [&id, unknown] {
            let mut error = other.get_error(&path.replace("{}", id), 404, &code).await;
            error["request_id"].take();
            errors.push(error.to_string().replace(id, "ID"));
        }
        assert_eq!(errors[0], errors[1]);
    }
}
