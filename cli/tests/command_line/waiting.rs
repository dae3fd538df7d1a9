//! Taking up again: from any machine, many at once.

use crate::place::{Place, Run};

fn submit(place: &Place, prompt: &str) -> String {
    let run = place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            prompt,
            "--no-wait",
            "--new",
        ])
        .ends(0);
    run.json()["job"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn many_jobs_are_waited_for_at_once_in_the_order_given() {
    let place = Place::new();
    let ids = [
        "[mock:seconds=0.5]",
        "[mock:seconds=0.2]",
        "[mock:seconds=0.1]",
    ]
    .map(|prompt| submit(&place, prompt));
    let run = Run::of(place.svc(["job", "wait"]).args(&ids)).ends(0);
    let finished = run.json();
    let got: Vec<_> = finished
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["job_id"].as_str().unwrap())
        .collect();
    assert_eq!(got, ids);
}

#[test]
fn the_first_that_has_no_result_says_how_it_ends() {
    let place = Place::new();
    let ids = [
        "[mock:seconds=0.1]",
        "[mock:seconds=0.1][mock:fail]",
        "[mock:stuck]",
    ]
    .map(|prompt| submit(&place, prompt));
    let run = Run::of(place.svc(["job", "wait", "--timeout", "1"]).args(&ids)).ends(7);
    assert_eq!(run.json().as_array().unwrap().len(), 1);
    assert!(
        run.err.contains(&ids[1]) && run.err.contains(&format!("svc job wait {}", ids[2])),
        "{}",
        run.err
    );
    Run::of(
        place
            .svc(["job", "wait", "--timeout", "1"])
            .args([&ids[2], &ids[1]]),
    )
    .ends(9);
}

#[test]
fn a_job_is_read_in_every_way() {
    let place = Place::new();
    let id = submit(&place, "[mock:seconds=0.1]");
    place.run(["job", "wait", &id]).ends(0);
    assert_eq!(
        place.run(["job", "get", &id]).ends(0).json()["status"],
        "completed"
    );
    assert_eq!(
        place.run(["job", "status", &id]).ends(0).json()["terminal"],
        true
    );
    assert!(place.run(["job", "result", &id]).ends(0).json()["artifacts"][0]["url"].is_string());
    let list = place
        .run([
            "job",
            "list",
            "--status",
            "completed",
            "--type",
            "image_generation",
        ])
        .ends(0)
        .json();
    assert_eq!(list[0]["id"], id.as_str());
    assert_eq!(
        place
            .run(["job", "list", "--status", "failed"])
            .ends(0)
            .json(),
        serde_json::json!([])
    );
    place
        .run(["job", "cancel", &id])
        .ends(1)
        .says("job_generation_already_started");
    let stuck = submit(&place, "[mock:seconds=9000]");
    assert_eq!(
        place.run(["job", "cancel", &stuck]).ends(0).json()["status"],
        "canceled"
    );
}

#[test]
fn both_surfaces_show_the_same_jobs() {
    let place = Place::new();
    let id = submit(&place, "[mock:seconds=0.1]");
    let developer = |words: &[&str]| {
        Run::of(
            place
                .bare(["job"])
                .args(words)
                .env("SVC_DEVELOPER_BASE_URL", place.mock.developer_base_url())
                .env("SVC_DEVELOPER_API_KEY", svc_mock_server::DEVELOPER_API_KEY),
        )
    };
    // Only the developer surface is configured, so it is that one.
    assert_eq!(
        developer(&["wait", &id]).ends(0).json()["job_id"],
        id.as_str()
    );
    developer(&["get", &id, "--surface", "open"]).ends(2);
    let run = developer(&["wait", "job_none"]).ends(4);
    assert!(
        !run.err.contains("take it up again"),
        "there is nothing to take up: {}",
        run.err
    );
}

#[test]
fn a_wait_survives_a_service_that_is_away_for_a_moment() {
    let place = Place::new();
    let id = submit(&place, "[mock:seconds=30]");
    place.fault("jobs_status", "drop_before", 2);
    let run = place.run(["job", "wait", &id]).ends(0);
    assert!(
        run.err.contains("trying again") && run.err.contains("answers again"),
        "{}",
        run.err
    );
}

#[test]
fn quiet_leaves_only_data_and_errors() {
    let place = Place::new();
    let run = place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1]",
            "--quiet",
        ])
        .ends(0);
    assert_eq!(run.err, "");
    place
        .run([
            "image",
            "generate",
            "--model",
            "image-i",
            "--prompt",
            "[mock:seconds=0.1][mock:fail]",
            "--quiet",
        ])
        .ends(7)
        .says("error:");
}
