//! The parts of an X.509 certificate that the hub needs and `webpki` keeps to itself: whose key it holds, and when it is
//! valid. Of any version, also of version 1, which `webpki` does not read.

use rustls_pki_types::alg_id;

use crate::reader::Reader;
use crate::rsa;

/// A certificate, in parts. Whoever trusts it has to check its signature, or to know it byte for byte.
pub struct Certificate<'a> {
    /// Who signed it, as DER.
    pub issuer: &'a [u8],
    /// Whose it is, as DER.
    pub subject: &'a [u8],
    /// The first second of its validity, since the beginning of 1970.
    pub not_before: i64,
    /// The last second.
    pub not_after: i64,
    /// Its key with the algorithm: a `SubjectPublicKeyInfo` without its outermost header.
    pub key_info: &'a [u8],
    /// Whether it is of X.509 version 1, which has no names but the subject.
    pub is_version_1: bool,
    /// Whether its signature is one that the hub can check.
    pub is_signature_supported: bool,
}

/// A key that the hub can check signatures of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicKey<'a> {
    /// A point on P-256.
    P256(&'a [u8]),
    /// An `RSAPublicKey`, in DER.
    Rsa(&'a [u8]),
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 2;
const BIT_STRING: u8 = 3;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

impl<'a> Certificate<'a> {
    /// Takes a certificate apart. `None` if it is none.
    pub fn parse(der: &'a [u8]) -> Option<Self> {
        let mut certificate = Reader(der).der(SEQUENCE)?;
        let mut body = certificate.der(SEQUENCE)?;
        let signature = certificate.der(SEQUENCE)?.0;
        // Version 1 does not say its version.
        let mut versioned = body;
        let is_version_1 = versioned.der(VERSION).is_none();
        if !is_version_1 {
            body = versioned;
        }
        body.der(INTEGER)?;
        body.der(SEQUENCE)?;
        let issuer = body.der(SEQUENCE)?.0;
        let mut validity = body.der(SEQUENCE)?;
        let not_before = read_time(&mut validity)?;
        let not_after = read_time(&mut validity)?;
        let subject = body.der(SEQUENCE)?.0;
        let key_info = body.der(SEQUENCE)?.0;
        let is_signature_supported =
            signature == &*alg_id::ECDSA_SHA256 || signature == &*alg_id::RSA_PKCS1_SHA256;
        Some(Self { issuer, subject, not_before, not_after, key_info, is_version_1, is_signature_supported })
    }

    /// Its key, if it is one that the hub can use.
    pub fn key(&self) -> Option<PublicKey<'a>> {
        let mut info = Reader(self.key_info);
        let algorithm = info.der(SEQUENCE)?.0;
        // No bit of its last byte is unused.
        let key = info.der(BIT_STRING)?.0.strip_prefix(&[0])?;
        if algorithm == &*alg_id::ECDSA_P256 {
            Some(PublicKey::P256(key))
        } else if algorithm == &*alg_id::RSA_ENCRYPTION && rsa::modulus(key).is_some() {
            Some(PublicKey::Rsa(key))
        } else {
            None
        }
    }
}

/// A time as certificates have it, always in UTC and to the second: `YYMMDDhhmmssZ`, or with four digits for the year.
fn read_time(input: &mut Reader<'_>) -> Option<i64> {
    let mut utc = *input;
    let (mut text, century) = match utc.der(UTC_TIME) {
        Some(text) => {
            *input = utc;
            (text, None)
        }
        None => {
            let mut text = input.der(GENERALIZED_TIME)?;
            let century = two_digits(&mut text)?;
            (text, Some(century))
        }
    };
    let year = two_digits(&mut text)?;
    let year = match century {
        Some(century) => century * 100 + year,
        // By RFC 5280: 1950 to 2049.
        None if year < 50 => 2000 + year,
        None => 1900 + year,
    };
    let (month, day) = (two_digits(&mut text)?, two_digits(&mut text)?);
    let (hour, minute, second) = (two_digits(&mut text)?, two_digits(&mut text)?, two_digits(&mut text)?);
    let is_possible =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
    (text.0 == b"Z" && is_possible).then_some(())?;
    Some(((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn two_digits(text: &mut Reader<'_>) -> Option<i64> {
    match text.take(2)? {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            Some(i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
        }
        _ => None,
    }
}

/// Days since the beginning of 1970, in years that begin in March, so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 719_469
}
