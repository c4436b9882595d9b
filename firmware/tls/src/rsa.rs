//! Checks RSA signatures with SHA-256, of keys of 2048 to 4096 bits.
//!
//! By hand: the `rsa` crate needs a heap, and with the numbers of `crypto-bigint` this is 15 KB larger, which the flash does
//! not have. Nothing here is secret, so it may take as long as it takes. Project Wycheproof's vectors hold it to RFC 8017.

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
    // Of whole words, as all are: the padding of other lengths is another.
    let is_full = *modulus.first()? & 0x80 != 0
        && modulus.len() % 4 == 0
        && (MIN_BYTES..=MAX_BYTES).contains(&modulus.len());
    (is_whole && is_full).then_some(modulus)
}

/// The padded hash: the signature to the power of the exponent, as long as the modulus.
fn open<'a>(key: &[u8], signature: &[u8], block: &'a mut [u8; MAX_BYTES]) -> Option<&'a mut [u8]> {
    let bytes = modulus(key)?;
    let (mut modulus, mut base) = ([0; WORDS], [0; WORDS]);
    let modulus = Modulus::new(load(bytes, &mut modulus)?)?;
    let base = load(signature, &mut base)?;
    if signature.len() != bytes.len() || !is_less(base, modulus.words) {
        return None;
    }
    let base = modulus.times(base, &modulus.square_of_r());
    let mut power = base;
    for _ in 0..16 {
        power = modulus.times(&power, &power);
    }
    power = modulus.times(&power, &base);
    let mut one = [0; WORDS];
    *one.first_mut()? = 1;
    power = modulus.times(&power, &one);
    let block = block.get_mut(..bytes.len())?;
    for (to, word) in block.rchunks_exact_mut(4).zip(power) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    Some(block)
}

const WORDS: usize = MAX_BYTES / 4;
/// The lowest word first. Only as many count as the modulus has.
type Number = [u32; WORDS];

fn load<'a>(bytes: &[u8], words: &'a mut Number) -> Option<&'a [u32]> {
    for (word, bytes) in words.iter_mut().zip(bytes.rchunks_exact(4)) {
        *word = u32::from_be_bytes(bytes.try_into().ok()?);
    }
    words.get(..bytes.len() / 4)
}

fn is_less(a: &[u32], b: &[u32]) -> bool {
    a.iter().rev().lt(b.iter().rev())
}

/// Takes `b` from `a`, whatever lies above them.
fn subtract(a: &mut [u32], b: &[u32]) {
    let mut borrow = false;
    for (a, b) in a.iter_mut().zip(b) {
        (*a, borrow) = a.borrowing_sub(*b, borrow);
    }
}

/// A modulus, with Montgomery's products: `a` times `b` over `R`, where `R` is 2 to the power of its bits.
struct Modulus<'a> {
    words: &'a [u32],
    /// -1 over the lowest word, modulo 2^32.
    inverse: u32,
}

impl<'a> Modulus<'a> {
    /// It has to be odd, with its highest bit set.
    fn new(words: &'a [u32]) -> Option<Self> {
        let lowest = *words.first()?;
        (lowest & 1 == 1).then_some(())?;
        // Newton's steps double the bits that are right, beginning with three.
        let mut inverse = lowest;
        for _ in 0..4 {
            inverse = inverse.wrapping_mul(2u32.wrapping_sub(lowest.wrapping_mul(inverse)));
        }
        Some(Self { words, inverse: inverse.wrapping_neg() })
    }

    fn times(&self, a: &[u32], b: &[u32]) -> Number {
        let mut product = [0; WORDS];
        let mut above = 0;
        if let Some(sum) = product.get_mut(..self.words.len()) {
            for a in a.iter().take(sum.len()) {
                above += add_multiple(sum, *a, b);
                // What makes the lowest word zero, so that it can go.
                let factor = sum.first().copied().unwrap_or_default().wrapping_mul(self.inverse);
                above += add_multiple(sum, factor, self.words);
                sum.rotate_left(1);
                if let Some(last) = sum.last_mut() {
                    *last = above as u32;
                }
                above >>= 32;
            }
            if above > 0 || !is_less(sum, self.words) {
                subtract(sum, self.words);
            }
        }
        product
    }

    /// `R` times `R`, modulo this.
    fn square_of_r(&self) -> Number {
        // R itself is between one and two times the modulus.
        let mut number = [0; WORDS];
        subtract(&mut number, self.words);
        // Doubled once for each word, then squared to the power of the bits of a word: 2^(32 * words), times R.
        if let Some(number) = number.get_mut(..self.words.len()) {
            for _ in self.words {
                let mut carry = 0;
                for word in number.iter_mut() {
                    (carry, *word) = (*word >> 31, *word << 1 | carry);
                }
                if carry > 0 || !is_less(number, self.words) {
                    subtract(number, self.words);
                }
            }
        }
        for _ in 0..u32::BITS.ilog2() {
            number = self.times(&number, &number);
        }
        number
    }
}

/// Adds `factor` times `number` to `sum`; returns what lies above it.
fn add_multiple(sum: &mut [u32], factor: u32, number: &[u32]) -> u64 {
    let mut carry = 0;
    for (sum, digit) in sum.iter_mut().zip(number) {
        carry += u64::from(*sum) + u64::from(factor) * u64::from(*digit);
        *sum = carry as u32;
        carry >>= 32;
    }
    carry
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
