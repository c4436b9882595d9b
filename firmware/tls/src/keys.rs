//! The key schedule of TLS 1.3 (RFC 8446, section 7), all of it from HMAC with SHA-256.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use zeroize::{Zeroize, Zeroizing};

/// A hash, or a key to authenticate with.
pub(crate) type Hash = [u8; 32];

/// A secret, which is wiped when it is dropped.
pub(crate) type Secret = Zeroizing<Hash>;

/// The HMAC of `parts`, one after the other.
fn mac(key: &Hash, parts: &[&[u8]]) -> Hmac<Sha256> {
    // Shorter keys than a block are filled up with zeros.
    let mut block = [0; 64];
    block.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
    let mut mac = Hmac::new(&block.into());
    block.zeroize();
    for part in parts {
        mac.update(part);
    }
    mac
}

/// HKDF-Extract.
fn extract(salt: &Hash, input: &Hash) -> Secret {
    Zeroizing::new(mac(salt, &[input]).finalize().into_bytes().into())
}

/// HKDF-Expand-Label, to the length of a hash or less: one round is enough.
fn expand<const N: usize>(secret: &Hash, label: &str, context: &[u8]) -> Zeroizing<[u8; N]> {
    const { assert!(N <= 32) };
    let whole = Zeroizing::new(expand_round(secret, label, context, N as u8));
    Zeroizing::new(core::array::from_fn(|index| whole.get(index).copied().unwrap_or_default()))
}

fn expand_round(secret: &Hash, label: &str, context: &[u8], length: u8) -> Hash {
    let head = [0, length, 6 + label.len() as u8];
    let parts: [&[u8]; 6] = [&head, b"tls13 ", label.as_bytes(), &[context.len() as u8], context, &[1]];
    mac(secret, &parts).finalize().into_bytes().into()
}

/// The secret that both sides share once keys are exchanged.
pub(crate) struct HandshakeSecret(Secret);

impl HandshakeSecret {
    /// From the result of the key exchange, with no key that was shared before.
    pub(crate) fn new(shared: &Hash) -> Self {
        let early = extract(&[0; 32], &[0; 32]);
        Self(extract(&derived(&early), shared))
    }

    /// The secrets of client and server for the handshake. `transcript` ends with the server's hello.
    pub(crate) fn traffic(&self, transcript: &Hash) -> (Secret, Secret) {
        (expand(&self.0, "c hs traffic", transcript), expand(&self.0, "s hs traffic", transcript))
    }

    /// The secrets of client and server for what follows. `transcript` ends with the server's finish.
    pub(crate) fn application_traffic(&self, transcript: &Hash) -> (Secret, Secret) {
        let master = extract(&derived(&self.0), &[0; 32]);
        (expand(&master, "c ap traffic", transcript), expand(&master, "s ap traffic", transcript))
    }
}

fn derived(secret: &Hash) -> Secret {
    expand(secret, "derived", &Sha256::digest([]))
}

/// What a finish has to contain, by whoever has this secret for the handshake.
pub(crate) fn finish(secret: &Hash, transcript: &Hash) -> Hash {
    mac(&expand(secret, "finished", &[]), &[transcript]).finalize().into_bytes().into()
}

/// Whether `finish` is what the owner of `secret` writes there. Takes the same time for each answer.
pub(crate) fn is_finish(secret: &Hash, transcript: &Hash, finish: &[u8]) -> bool {
    mac(&expand(secret, "finished", &[]), &[transcript]).verify_slice(finish).is_ok()
}

/// The keys of one direction, wiped when they are replaced or dropped.
pub(crate) struct TrafficKeys {
    secret: Secret,
    pub(crate) key: Zeroizing<[u8; 16]>,
    iv: Zeroizing<[u8; 12]>,
    /// Records that these keys have protected.
    pub(crate) records: u64,
}

impl TrafficKeys {
    pub(crate) fn new(secret: &Hash) -> Self {
        Self {
            secret: Zeroizing::new(*secret),
            key: expand(secret, "key", &[]),
            iv: expand(secret, "iv", &[]),
            records: 0,
        }
    }

    /// The keys that follow these.
    pub(crate) fn next(&self) -> Self {
        Self::new(&expand(&self.secret, "traffic upd", &[]))
    }

    /// The nonce of the next record, once.
    pub(crate) fn nonce(&mut self) -> [u8; 12] {
        let mut nonce = *self.iv;
        let number = self.records.to_be_bytes();
        nonce.iter_mut().rev().zip(number.iter().rev()).for_each(|(byte, digit)| *byte ^= digit);
        self.records = self.records.wrapping_add(1);
        nonce
    }
}

#[cfg(test)]
mod tests {
    use zeroize::ZeroizeOnDrop;

    use super::{HandshakeSecret, TrafficKeys};

    fn is_wiped(_: &impl ZeroizeOnDrop) {}

    #[test]
    fn secrets_and_keys_are_wiped() {
        let HandshakeSecret(secret) = HandshakeSecret::new(&[7; 32]);
        is_wiped(&secret);
        let TrafficKeys { secret, key, iv, records: _ } = TrafficKeys::new(&secret);
        is_wiped(&secret);
        is_wiped(&key);
        is_wiped(&iv);
        is_wiped(&super::expand::<32>(&secret, "traffic upd", &[]));
    }
}
