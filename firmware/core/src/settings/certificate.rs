//! A certificate as a setting: people paste it in PEM, it is kept as base64 on one line, and used as DER.

use base64ct::{Base64, Decoder, Encoding};

use crate::limits;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Turns a certificate in PEM, or the base64 of one, into base64 on one line, where it is. `None` if it is not exactly one
/// certificate, or too long.
pub fn to_base64(text: &mut [u8]) -> Option<&str> {
    let inside = {
        let text = core::str::from_utf8(text).ok()?;
        match text.split_once(BEGIN) {
            Some((before, rest)) => {
                let (inside, rest) = rest.split_once(END)?;
                let start = before.len() + BEGIN.len();
                (!rest.contains(BEGIN)).then_some(start..start + inside.len())?
            }
            None => 0..text.len(),
        }
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
    Base64::decode_in_place(base64).ok()
}

/// Whether it is the base64 of one ASN.1 sequence that is not too long. What is in there is checked where it is used.
pub(super) fn is_certificate(base64: &str) -> bool {
    let mut chunk = [0; 4];
    let Ok(mut decoder) = Decoder::<Base64>::new(base64.as_bytes()) else { return false };
    let total = decoder.remaining_len();
    let Ok(head) = decoder.decode(&mut chunk) else { return false };
    let length = match *head {
        [0x30, 0x81, length, _] => 3 + usize::from(length),
        [0x30, 0x82, high, low] => 4 + usize::from(u16::from_be_bytes([high, low])),
        _ => return false,
    };
    while decoder.remaining_len() > 0 {
        let Some(chunk) = chunk.get_mut(..decoder.remaining_len().min(4)) else { return false };
        if decoder.decode(chunk).is_err() {
            return false;
        }
    }
    total == length && total <= limits::CERTIFICATE
}
