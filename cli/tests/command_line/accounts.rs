//! Keys and configuration: where they come from, and where they never go.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::place::{Fake, Place, Run, start};

fn login(place: &Place, words: &[&str], key: &str) -> Run {
    let mut child = start(
        place
            .bare(["auth", "login"])
            .args(words)
            .stdin(Stdio::piped()),
    );
    child
        .0
        .stdin
        .take()
        .unwrap()
        .write_all(key.as_bytes())
        .unwrap();
    child.end()
}

/// A place without a keyring, whatever is installed here.
fn without_keyring(place: &Place) -> String {
    let empty = place.path("no-programs");
    fs::create_dir_all(&empty).unwrap();
    empty.display().to_string()
}

#[test]
fn a_key_is_verified_stored_privately_used_and_removed() {
    let place = Place::new();
    let url = place.mock.base_url().to_owned();
    let path = without_keyring(&place);
    let mut child = start(
        place
            .bare(["auth", "login", "--base-url", &url])
            .env("PATH", &path)
            .stdin(Stdio::piped()),
    );
    child
        .0
        .stdin
        .take()
        .unwrap()
        .write_all(b"svc_open_demo\n")
        .unwrap();
    let run = child
        .end()
        .ends(0)
        .says("accepts the key")
        .says("the keyring was not used");
    assert!(!run.err.contains("svc_open_demo") && run.out.is_empty());

    let file = place.path("config/credentials.toml");
    assert!(fs::read_to_string(&file).unwrap().contains("svc_open_demo"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    Run::of(&mut place.bare(["job", "list"])).ends(0);
    let status = Run::of(&mut place.bare(["auth", "status"])).ends(0);
    assert!(!status.out.contains("svc_open_demo") && status.out.contains("credentials.toml"));

    // A stored key is not sent to another host.
    let other = Place::new();
    let run =
        Run::of(&mut place.bare(["job", "list", "--base-url", other.mock.base_url()])).ends(3);
    run.says("is not sent to");
    assert!(other.mock.requests(0).is_empty());

    Run::of(&mut place.bare(["auth", "logout"])).ends(0);
    assert!(!fs::read_to_string(&file).unwrap().contains("svc_open_demo"));
    Run::of(&mut place.bare(["auth", "status"])).ends(3);
    Run::of(&mut place.bare(["job", "list"])).ends(3);
}

#[test]
fn a_key_that_the_service_does_not_know_is_not_stored() {
    let place = Place::new();
    let url = place.mock.base_url().to_owned();
    login(&place, &["--base-url", &url], "svc_wrong")
        .ends(3)
        .says("nothing was stored");
    login(&place, &["--base-url", &url], "").ends(2);
    assert!(!place.path("config").exists());
}

#[test]
fn a_developer_key_is_verified_at_its_own_host() {
    let place = Place::new();
    let service = Fake::answering("200 OK", r#"{"data":{"key":{"id":"key_1"}}}"#);
    let key = place.path("key");
    fs::write(&key, "svc_dev_demo\n").unwrap();
    let words = [
        "auth",
        "login",
        "--surface",
        "developer",
        "--profile",
        "work",
        "--key-file",
        "key",
        "--base-url",
    ];
    let path = without_keyring(&place);
    Run::of(place.bare(words).arg(&service.url).env("PATH", path)).ends(0);
    assert!(service.heads.lock().unwrap()[0].starts_with("GET /v1/me HTTP/1.1"));
    let run =
        Run::of(&mut place.bare(["config", "get", "developer_base_url", "--profile", "work"]));
    assert_eq!(run.ends(0).out.trim_end(), service.url);
    Run::of(&mut place.bare(["auth", "status", "--profile", "work"])).ends(0);

    let url = place.mock.developer_base_url();
    login(
        &place,
        &["--surface", "developer", "--base-url", url],
        "svc_open_demo",
    )
    .ends(3);
}

#[cfg(target_os = "linux")]
#[test]
fn the_keyring_is_used_where_it_gives_back_what_was_stored() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let url = place.mock.base_url().to_owned();
    let tool = |script: &str| {
        let folder = place.path("tools");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret-tool");
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        format!("{}:/usr/bin:/bin", folder.display())
    };
    let login_with = |path: &str| {
        let mut child = start(
            place
                .bare(["auth", "login", "--base-url", &url])
                .env("PATH", path)
                .stdin(Stdio::piped()),
        );
        child
            .0
            .stdin
            .take()
            .unwrap()
            .write_all(b"svc_open_demo")
            .unwrap();
        child.end()
    };
    let ring = place.path("ring").display().to_string();
    let good = tool(&format!(
        "echo \"$@\" >> {ring}.words\ncase $1 in store) cat > {ring};; lookup) cat {ring};; clear) rm {ring};; esac"
    ));
    login_with(&good).ends(0).says("in the keyring");
    assert!(
        !fs::read_to_string(place.path("config/credentials.toml"))
            .unwrap()
            .contains("svc_open_demo")
    );
    assert!(
        !fs::read_to_string(format!("{ring}.words"))
            .unwrap()
            .contains("svc_open_demo"),
        "never an argument"
    );
    Run::of(place.bare(["job", "list"]).env("PATH", &good)).ends(0);
    Run::of(place.bare(["auth", "logout"]).env("PATH", &good)).ends(0);
    assert!(!place.path("ring").exists());

    for (script, why) in [
        (
            "case $1 in store) cat > /dev/null;; lookup) echo other;; esac",
            "something else",
        ),
        ("exit 1", "refused"),
        ("sleep 30", "3 seconds"),
    ] {
        login_with(&tool(script))
            .ends(0)
            .says(why)
            .says("credentials.toml");
    }
}

#[test]
fn a_value_says_where_it_comes_from() {
    let place = Place::new();
    Run::of(&mut place.bare(["config", "set", "base_url", "https://profile.example"])).ends(0);
    Run::of(&mut place.bare(["config", "set", "first_party_owner", "studio"])).ends(0);
    let shown = Run::of(
        place
            .bare(["config", "show", "--origin"])
            .env("SVC_BASE_URL", "https://variable.example"),
    );
    let shown = shown.ends(0).json();
    let row = |name: &str| {
        shown
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(row("base_url")["origin"], "environment SVC_BASE_URL");
    assert_eq!(row("first_party_owner")["origin"], "profile default");
    assert!(row("mcp_url")["value"].is_null());
    assert_eq!(row("config_file")["origin"], "environment SVC_CONFIG");

    let run = Run::of(&mut place.bare(["config", "get", "base_url"])).ends(0);
    assert_eq!(run.out, "https://profile.example\n");
    Run::of(&mut place.bare(["config", "unset", "base_url"])).ends(0);
    Run::of(&mut place.bare(["config", "get", "base_url"])).ends(2);
    for url in [
        "no url",
        "ftp://files.example",
        "http://plain.example",
        "https://me:canary@a.example",
    ] {
        let run = Run::of(&mut place.bare(["config", "set", "base_url", url])).ends(2);
        assert!(!run.err.contains("canary"), "{}", run.err);
    }
    Run::of(&mut place.bare(["config", "get", "base_url"])).ends(2);
    Run::of(&mut place.bare(["config", "set", "colour", "red"])).ends(2);
    let run = Run::of(&mut place.bare(["config", "path"])).ends(0);
    assert_eq!(
        run.out.trim_end(),
        place.path("config/config.toml").display().to_string()
    );
}

#[test]
fn a_top_up_is_started_and_waited_for() {
    let place = Place::new();
    let run = place
        .run([
            "top-up",
            "create",
            "--amount-usd-cents",
            "2000",
            "--idempotency-key",
            "t-1",
        ])
        .ends(0);
    let top_up = run.json();
    assert!(top_up["checkout_url"].as_str().unwrap().starts_with("http"));
    let id = top_up["id"].as_str().unwrap();
    run.says(&format!("svc top-up wait {id}"));
    let again = place
        .run([
            "top-up",
            "create",
            "--amount-usd-cents",
            "2000",
            "--idempotency-key",
            "t-1",
        ])
        .ends(0);
    assert_eq!(again.json()["id"], id);
    place
        .run(["top-up", "wait", id, "--timeout", "1"])
        .ends(9)
        .says(&format!("svc top-up wait {id}"));
    place.mock.pay_top_up(id).unwrap();
    assert_eq!(
        place.run(["top-up", "wait", id]).ends(0).json()["status"],
        "paid"
    );
    assert_eq!(
        place.run(["top-up", "get", id]).ends(0).json()["status"],
        "paid"
    );
    for (status, code) in [("failed", 7), ("expired", 8)] {
        let run = place
            .run(["top-up", "create", "--amount-usd-cents", "500"])
            .ends(0);
        let id = run.json()["id"].as_str().unwrap().to_owned();
        place.mock.settle_top_up(&id, status.into()).unwrap();
        place.run(["top-up", "wait", &id]).ends(code);
    }
    place
        .run(["top-up", "create", "--amount-usd-cents", "1", "-o", "json"])
        .ends(1)
        .says("invalid_amount");
    place
        .run(["top-up", "create", "--amount-usd-cents", "1.5"])
        .ends(2);
}
