//! A certificate as a setting: people paste it in PEM, it is kept as base64 on one line, and used as DER.

use super::base64;
use crate::limits;
use crate::text;

const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
const END: &[u8] = b"-----END CERTIFICATE-----";

/// Turns a certificate in PEM, or the base64 of one, into base64 on one line, where it is. `None` if it is not exactly one
/// certificate, or too long.
pub fn to_base64(text: &mut [u8]) -> Option<&str> {
    let inside = match text::find(text, BEGIN) {
        Some(before) => {
            let start = before + BEGIN.len();
            let rest = text.get(start..)?;
            let length = text::find(rest, END)?;
            let is_only = text::find(rest, BEGIN).is_none();
            is_only.then_some(start..start + length)?
        }
        None => 0..text.len(),
    };
    let mut length = 0;
    for from in inside {
        let byte = *text.get(from)?;
        if !byte.is_ascii_whitespace() {
            *text.get_mut(length)? = byte;
            length += 1;
        }
    }
    let base64 = core::str::from_utf8(text.get(..length)?).ok()?;
    is_certificate(base64).then_some(base64)
}

/// Turns the base64 of a certificate into the certificate, where it is.
pub fn to_der(base64: &mut [u8]) -> Option<&[u8]> {
    let mut length = 0;
    for number in 0..base64.len().div_ceil(4) {
        let (bytes, count) = base64::group(base64, number)?;
        base64.get_mut(length..length + count)?.copy_from_slice(bytes.get(..count)?);
        length += count;
    }
    base64.get(..length)
}

/// Whether it is the base64 of one ASN.1 sequence that is not too long. What is in there is checked where it is used.
pub(super) fn is_certificate(base64: &str) -> bool {
    let base64 = base64.as_bytes();
    let (Some(([tag, form, high], _)), Some(([low, ..], _))) =
        (base64::group(base64, 0), base64::group(base64, 1))
    else {
        return false;
    };
    let length = match (tag, form) {
        (0x30, 0x81) => 3 + usize::from(high),
        (0x30, 0x82) => 4 + usize::from(u16::from_be_bytes([high, low])),
        _ => return false,
    };
    let counts = (0..base64.len().div_ceil(4)).map(|number| Some(base64::group(base64, number)?.1));
    length <= limits::CERTIFICATE && counts.sum::<Option<usize>>() == Some(length)
}
