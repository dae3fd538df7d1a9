//! Deliveries of webhooks, genuine and forged.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Map, Value};
use svc_webhook_verify::{KeySet, Signer, header};

use crate::test_env::{CommandOutput, now};

/// Sends a body, signed with `whsec_newest` at this time. The output has the headers, and the exit code is
/// the status of the response, or `None` without one. The options are other secrets (`secrets=A,B`) or none
/// (`unsigned`), the age of the signature in seconds (`age=-400`), another body that is signed (`of=BODY`), no
/// name of the secret (`unnamed`), another header (`header=NAME: VALUE`), `chunked`, and `method=GET`.
pub(crate) fn deliver(url: &str, body: &[u8], options: &[String]) -> CommandOutput {
    let (mut secrets, mut age, mut signed, mut method) = (vec!["whsec_newest"], 0, body, "POST");
    let (mut is_named, mut is_chunked) = (true, false);
    let mut head = String::from("content-type: application/json\r\n");
    for option in options {
        match option.split_once('=').unwrap_or((option, "")) {
            ("secrets", names) => secrets = names.split(',').collect(),
            ("unsigned", _) => secrets.clear(),
            ("age", seconds) => age = seconds.parse().unwrap(),
            ("of", other) => signed = other.as_bytes(),
            ("unnamed", _) => is_named = false,
            ("header", line) => head += &format!("{line}\r\n"),
            ("chunked", _) => is_chunked = true,
            ("method", name) => method = name,
            _ => panic!("no option of a delivery: {option}"),
        }
    }
    let mut sent = Map::new();
    if !secrets.is_empty() {
        let at = now().as_secs().checked_add_signed(-age).unwrap();
        let headers = Signer::new(KeySet::new(&secrets).unwrap()).sign(at, signed);
        for (name, value) in headers.pairs() {
            if is_named || name != header::FINGERPRINT {
                sent.insert(name.to_owned(), value.into());
                head += &format!("{name}: {value}\r\n");
            }
        }
    }
    let address = url.strip_prefix("http://").unwrap();
    let (host, path) = address.split_once('/').unwrap_or((address, "svc"));
    let length = body.len();
    let (framing, end) = match is_chunked {
        true => (format!("transfer-encoding: chunked\r\n\r\n{length:x}\r\n"), "\r\n0\r\n\r\n"),
        false => (format!("content-length: {length}\r\n\r\n"), ""),
    };
    let head = format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{head}");
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(host) {
        stream.write_all((head + &framing).as_bytes()).unwrap();
        stream.write_all(&[body, end.as_bytes()].concat()).unwrap();
        stream.read_to_string(&mut answer).unwrap();
    }
    let code = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    CommandOutput { code, out: Value::from(sent).to_string(), err: answer }
}
