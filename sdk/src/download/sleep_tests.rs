//! Downloads while the computer sleeps, and connections that are dead.

use std::time::Duration;

use super::tests::{BODY, download, image, image_result, rest};
use crate::call::clock;
use crate::transport::scripted::Script;

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn a_stalled_download_is_resumed_on_a_new_connection() {
    for (sleeps, at_least, at_most) in [(true, 7, 15), (false, 30, 35)] {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new([image_result(), image(200, BODY).stalled_after(5), rest(5)]);
        if sleeps {
            tokio::spawn(async {
                clock::sleep(Duration::from_secs(7)).await;
                clock::sleep_computer(HOUR);
            });
        }
        let files = download(&script, folder.path()).await.unwrap();
        assert_eq!(std::fs::read(&files[0].path).unwrap(), BODY);
        let resumed = &script.requests()[2];
        assert_eq!(resumed.header("range"), Some("bytes=5-"));
        assert_eq!(resumed.reconnects, 1);
        let at = resumed.at.as_secs();
        assert!((at_least..=at_most).contains(&at), "{at} s");
    }
}
