//! What the frontend that cannot wait responds to submits that wait for their job.

use serde_json::json;

use super::{IMAGE, Mock};

#[test]
fn the_predicted_reply_is_the_one_that_comes() {
    let mut mock = Mock::new();
    let body = json!({"model": "image-i", "prompt": "x", "mode": "sync"});
    let pending = mock.open().post(IMAGE, body).0.pending.expect("a pending reply");
    let predicted = mock.simulator.predict(&pending);
    mock.advance_millis(1_999);
    let early = mock.simulator.resume(mock.now, &pending);
    assert_eq!(early.pending.as_ref(), Some(&pending));
    mock.advance_millis(1);
    let reply = mock.simulator.resume(mock.now, &pending);
    assert_eq!(reply.pending, None);
    assert_eq!(format!("{:?}", predicted.response), format!("{:?}", reply.response));
}
