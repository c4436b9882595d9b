//! The signatures that the hub can check: ECDSA on P-256 and RSA, with SHA-256.

use p256::AffinePoint;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::elliptic_curve::point::AffineCoordinates;
use rustls_pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};

use crate::TlsError;
use crate::certificate::PublicKey;
use crate::reader::Reader;
use crate::rsa::{self, Padding};

/// The signatures of certificates that the hub can check.
pub const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = &[&Algorithm::EcdsaP256, &Algorithm::Rsa];

/// A kind of signature.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Algorithm {
    EcdsaP256,
    Rsa,
}

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(&self, key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let is_signed = match self {
            Self::EcdsaP256 => is_ecdsa_p256(key, message, signature).is_some(),
            Self::Rsa => rsa::is_signed(Padding::Pkcs1, key, message, signature),
        };
        if is_signed { Ok(()) } else { Err(InvalidSignature) }
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        match self {
            Self::EcdsaP256 => alg_id::ECDSA_P256,
            Self::Rsa => alg_id::RSA_ENCRYPTION,
        }
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        match self {
            Self::EcdsaP256 => alg_id::ECDSA_SHA256,
            Self::Rsa => alg_id::RSA_PKCS1_SHA256,
        }
    }
}

/// A point on P-256, uncompressed, as TLS has it. What also reads the other forms is 3 KB larger.
pub(crate) fn point(bytes: &[u8]) -> Option<AffinePoint> {
    let (x, y) = bytes.strip_prefix(&[4])?.split_first_chunk::<32>()?;
    let y: &[u8; 32] = y.try_into().ok()?;
    AffinePoint::from_coordinates(&(*x).into(), &(*y).into()).into()
}

fn is_ecdsa_p256(key: &[u8], message: &[u8], signature: &[u8]) -> Option<()> {
    let key = VerifyingKey::from_affine(point(key)?).ok()?;
    let mut signature = Reader(signature);
    let mut numbers = signature.der(0x30)?;
    let (r, s) = (scalar(&mut numbers)?, scalar(&mut numbers)?);
    (numbers.is_empty() && signature.is_empty()).then_some(())?;
    key.verify(message, &Signature::from_scalars(r, s).ok()?).ok()
}

/// A number of a signature: positive, in its shortest form, of at most 32 bytes.
fn scalar(numbers: &mut Reader<'_>) -> Option<[u8; 32]> {
    let digits = match numbers.der(2)?.0 {
        [0, rest @ ..] if rest.first().is_some_and(|digit| *digit >= 0x80) => rest,
        digits @ [1..=0x7f, ..] => digits,
        _ => return None,
    };
    let mut scalar = [0; 32];
    scalar.get_mut(32usize.checked_sub(digits.len())?..)?.copy_from_slice(digits);
    Some(scalar)
}

/// The longest key: RSA with 4096 bits.
const KEY: usize = 526;

const ECDSA_SECP256R1_SHA256: usize = 0x0403;
const RSA_PSS_RSAE_SHA256: usize = 0x0804;

/// The key of the broker's certificate, kept until the broker proves that it owns it.
pub(crate) struct LeafKey {
    bytes: [u8; KEY],
    length: usize,
    is_rsa: bool,
}

impl LeafKey {
    /// A key that has signed nothing.
    pub(crate) fn new() -> Self {
        Self { bytes: [0; KEY], length: 0, is_rsa: false }
    }

    pub(crate) fn set(&mut self, key: PublicKey<'_>) -> Result<(), TlsError> {
        let (is_rsa, key) = match key {
            PublicKey::P256(key) => (false, key),
            PublicKey::Rsa(key) => (true, key),
        };
        self.bytes.get_mut(..key.len()).ok_or(TlsError::Protocol)?.copy_from_slice(key);
        (self.length, self.is_rsa) = (key.len(), is_rsa);
        Ok(())
    }

    /// Whether the key's owner has signed `message` by this scheme of TLS's.
    pub(crate) fn has_signed(&self, scheme: usize, message: &[u8], signature: &[u8]) -> bool {
        let key = self.bytes.get(..self.length).unwrap_or_default();
        match (self.is_rsa, scheme) {
            (false, ECDSA_SECP256R1_SHA256) => is_ecdsa_p256(key, message, signature).is_some(),
            (true, RSA_PSS_RSAE_SHA256) => rsa::is_signed(Padding::Pss, key, message, signature),
            _ => false,
        }
    }
}
