//! The signatures of a chain of certificates, checked one at a time.
//!
//! `webpki` checks a whole chain in one call: on a board, up to half a second in which nobody empties the ring of the serial
//! line, and with a hostile chain many times that. So the call is repeated: each time it may check one signature more, and
//! what it asked before is known.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rustls_pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm};

use crate::signature::Algorithm;

/// As many signatures as are checked for one chain; further ones count as bad. Honest chains have one for each certificate.
const MOST: u32 = 16;

/// What is known about the signatures of one chain, in the order in which they are asked for. Atomics, since algorithms have
/// to be `Sync`; they are used from one place.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    known: AtomicU32,
    /// A bit for each that is known: whether it is good.
    good: AtomicU32,
    /// In this attempt.
    asked: AtomicU32,
    /// Whether this attempt has checked its signature.
    is_spent: AtomicBool,
}

impl Checks {
    /// Calls `judge`, which always has to ask the same; `None` if it has to be called again.
    pub(crate) fn attempt<T>(
        &self,
        judge: impl FnOnce(&[&dyn SignatureVerificationAlgorithm]) -> T,
    ) -> Option<T> {
        self.asked.store(0, Ordering::Relaxed);
        self.is_spent.store(false, Ordering::Relaxed);
        let [ecdsa, rsa] =
            [Algorithm::EcdsaP256, Algorithm::Rsa].map(|algorithm| OneMore { algorithm, checks: self });
        let verdict = judge(&[&ecdsa, &rsa]);
        (self.asked.load(Ordering::Relaxed) <= self.known.load(Ordering::Relaxed)).then_some(verdict)
    }

    /// Whether the signature that is asked for now is good; `is_good` finds out.
    fn ask(&self, is_good: impl FnOnce() -> bool) -> bool {
        let place = self.asked.load(Ordering::Relaxed);
        if place == MOST {
            return false;
        }
        self.asked.store(place + 1, Ordering::Relaxed);
        let good = self.good.load(Ordering::Relaxed);
        if place < self.known.load(Ordering::Relaxed) {
            return good >> place & 1 == 1;
        }
        if self.is_spent.load(Ordering::Relaxed) {
            return false;
        }
        let is_good = is_good();
        self.is_spent.store(true, Ordering::Relaxed);
        self.good.store(good | u32::from(is_good) << place, Ordering::Relaxed);
        self.known.store(place + 1, Ordering::Relaxed);
        is_good
    }
}

/// An algorithm that checks at most one signature.
#[derive(Debug)]
struct OneMore<'a> {
    algorithm: Algorithm,
    checks: &'a Checks,
}

impl SignatureVerificationAlgorithm for OneMore<'_> {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let is_good = || self.algorithm.verify_signature(key, message, signature).is_ok();
        if self.checks.ask(is_good) { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.algorithm.signature_alg_id()
    }
}

#[cfg(test)]
mod tests {
    use super::{Checks, MOST};
    use std::vec::Vec;

    /// Asks for these until all are known. Returns what was found, and how many were found out in each attempt.
    fn asks(signatures: &[bool]) -> (Vec<bool>, Vec<usize>) {
        let checks = Checks::default();
        let mut counts = Vec::new();
        loop {
            let mut count = 0;
            let verdict = checks.attempt(|_| {
                let find_out = |is_good: &bool| {
                    checks.ask(|| {
                        count += 1;
                        *is_good
                    })
                };
                signatures.iter().map(find_out).collect()
            });
            counts.push(count);
            if let Some(verdict) = verdict {
                return (verdict, counts);
            }
        }
    }

    #[test]
    fn each_attempt_checks_one_signature_and_the_last_knows_all() {
        for signatures in [&[][..], &[true], &[false], &[true, false, true, true], &[false, true]] {
            let (found, counts) = asks(signatures);
            assert_eq!(found, signatures);
            assert!(
                counts.iter().all(|count| *count <= 1) && counts.iter().sum::<usize>() == signatures.len()
            );
        }
    }

    #[test]
    fn a_chain_with_no_end_of_signatures_is_refused() {
        let (found, counts) = asks(&[true; 100]);
        assert_eq!(found.iter().filter(|is_good| **is_good).count(), MOST as usize);
        assert_eq!(counts.len(), MOST as usize);
    }
}
