//! Checks RSA signatures with SHA-256, of keys of 2048 to 4096 bits.
//!
//! The `rsa` crate needs a heap. The arithmetic here is `crypto-bigint`'s, which the same people review; ours are the two
//! paddings of RFC 8017, which are compared with what they have to be. Nothing here is secret.

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, U4096};
use sha2::{Digest, Sha256};

use crate::reader::Reader;

const MIN_BYTES: usize = 2048 / 8;
const MAX_BYTES: usize = 4096 / 8;
/// The length of a hash, and of the salt of a PSS signature.
const HASH: usize = 32;
/// 65537, as all keys have it.
const EXPONENT: [u8; 3] = [1, 0, 1];

/// In front of the hash: ASN.1 for "a hash by SHA-256".
const SHA256_INFO: [u8; 19] =
    [0x30, 0x31, 0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4, 0x20];

/// How the hash is padded before it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// PKCS #1 v1.5: of certificates.
    Pkcs1,
    /// PSS with MGF1 and a salt of 32 bytes: of TLS 1.3.
    Pss,
}

/// Whether `signature` of `message` is by the owner of `key`, an `RSAPublicKey` in DER.
pub fn is_signed(padding: Padding, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let mut block = [0; MAX_BYTES];
    match (padding, open(key, signature, &mut block)) {
        (Padding::Pkcs1, Some(block)) => is_pkcs1(block, message),
        (Padding::Pss, Some(block)) => is_pss(block, message).is_some(),
        (_, None) => false,
    }
}

/// The modulus of a key that is supported.
pub(crate) fn modulus(key: &[u8]) -> Option<&[u8]> {
    let mut key = Reader(key);
    let mut numbers = key.der(0x30)?;
    let modulus = numbers.der(2)?.0.strip_prefix(&[0])?;
    let is_whole = numbers.der(2)?.0 == EXPONENT && numbers.is_empty() && key.is_empty();
    // Of whole bytes, as all are: the padding of other lengths is another.
    let is_full = *modulus.first()? & 0x80 != 0 && (MIN_BYTES..=MAX_BYTES).contains(&modulus.len());
    (is_whole && is_full).then_some(modulus)
}

/// The padded hash: the signature to the power of the exponent, as long as the modulus.
fn open<'a>(key: &[u8], signature: &[u8], block: &'a mut [u8; MAX_BYTES]) -> Option<&'a mut [u8]> {
    let modulus = modulus(key)?;
    if signature.len() != modulus.len() {
        return None;
    }
    let length = modulus.len();
    let modulus = Option::from(Odd::new(number(modulus)?))?;
    let signature = number(signature)?;
    if signature >= *Odd::as_ref(&modulus) {
        return None;
    }
    let params = FixedMontyParams::new_vartime(modulus);
    let signature = FixedMontyForm::new(&signature, &params);
    let opened = signature.square_repeat_vartime(16).mul(&signature).retrieve();
    *block = opened.to_be_bytes().into();
    block.get_mut(MAX_BYTES - length..)
}

fn number(bytes: &[u8]) -> Option<U4096> {
    let mut wide = [0; MAX_BYTES];
    wide.get_mut(MAX_BYTES.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(U4096::from_be_slice(&wide))
}

/// EMSA-PKCS1-v1_5: `00 01 ff … ff 00`, what follows is a hash by SHA-256, and the hash.
fn is_pkcs1(block: &[u8], message: &[u8]) -> bool {
    let hash = Sha256::digest(message);
    let filling = block.len().saturating_sub(3 + SHA256_INFO.len() + HASH);
    let wanted = [0, 1]
        .into_iter()
        .chain(core::iter::repeat_n(0xff, filling))
        .chain([0])
        .chain(SHA256_INFO)
        .chain(hash);
    wanted.eq(block.iter().copied())
}

/// EMSA-PSS: a mask over `00 … 00 01` and the salt, then the hash of hash and salt, which the mask comes from, and `bc`.
fn is_pss(block: &mut [u8], message: &[u8]) -> Option<()> {
    let (&mut 0xbc, rest) = block.split_last_mut()? else { return None };
    let (masked, seed) = rest.split_last_chunk_mut::<HASH>()?;
    // The block has one bit less than the modulus.
    (*masked.first()? & 0x80 == 0).then_some(())?;
    for (counter, chunk) in (0u32..).zip(masked.chunks_mut(HASH)) {
        let mask = Sha256::new().chain_update(&seed).chain_update(counter.to_be_bytes()).finalize();
        chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
    *masked.first_mut()? &= 0x7f;
    let (zeros, salt) = masked.split_last_chunk::<HASH>()?;
    let (1, zeros) = zeros.split_last()? else { return None };
    let hash = Sha256::new()
        .chain_update([0; 8])
        .chain_update(Sha256::digest(message))
        .chain_update(salt)
        .finalize();
    (zeros.iter().all(|byte| *byte == 0) && hash[..] == seed[..]).then_some(())
}
