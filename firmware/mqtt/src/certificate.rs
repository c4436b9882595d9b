//! A certificate as a setting: people paste it in PEM, it is kept as base64 on one line, and used as DER.

use hub_json::text;

use super::base64;
use crate::limits;

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
pub fn is_certificate(base64: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use std::string::String;

    use proptest::prelude::*;

    use super::{to_base64, to_der};
    use crate::limits;

    /// A certificate as OpenSSL writes it: an ASN.1 sequence of so many bytes, in PEM.
    fn pem(length: usize, ending: &str) -> String {
        use base64ct::{Base64, Encoding};
        let inside = u16::try_from(length - 4).unwrap().to_be_bytes();
        let mut der = std::vec![0x30, 0x82, inside[0], inside[1]];
        der.extend((0..length - 4).map(|at| (at * 7) as u8));
        let mut text = String::from("-----BEGIN CERTIFICATE-----");
        for line in Base64::encode_string(&der).as_bytes().chunks(64) {
            text += ending;
            text += core::str::from_utf8(line).unwrap();
        }
        text + ending + "-----END CERTIFICATE-----" + ending
    }

    #[test]
    fn one_certificate_in_pem_becomes_its_der() {
        for (length, ending) in [(300, "\n"), (1411, "\r\n"), (limits::CERTIFICATE, "\n"), (700, " ")] {
            let pem = pem(length, ending);
            // What some programs write before it.
            for text in [pem.clone(), std::format!("subject=CN = home\n{pem}")] {
                let mut buffer = text.into_bytes();
                let base64 = String::from(to_base64(&mut buffer).expect("a certificate"));
                assert_eq!(base64.len(), length.div_ceil(3) * 4);
                let mut again = base64.clone().into_bytes();
                assert_eq!(to_base64(&mut again), Some(&*base64), "and is one then, too");
                let mut buffer = base64.into_bytes();
                let der = to_der(&mut buffer).unwrap();
                assert!(
                    der.len() == length
                        && der.iter().skip(4).enumerate().all(|(at, byte)| *byte == (at * 7) as u8)
                );
            }
        }
    }

    #[test]
    fn what_is_not_one_whole_certificate_is_refused() {
        let good = pem(600, "\n");
        let two = good.clone() + &good;
        let too_long = pem(limits::CERTIFICATE + 1, "\n");
        let cut = good.replacen("-----END", "", 1);
        let shorter = good.replacen("AAcO", "", 1);
        let foreign = good.replace("CERTIFICATE", "PRIVATE KEY");
        for text in ["", "x", "-----BEGIN CERTIFICATE-----", &two, &too_long, &cut, &shorter, &foreign] {
            assert_ne!(text, good);
            assert_eq!(to_base64(&mut text.as_bytes().to_vec()), None, "{text}");
        }
        // Any byte that is replaced by one that base64 does not have.
        for at in (28..good.len() - 28).filter(|at| good.as_bytes()[*at] != b'\n') {
            let mut bad = good.clone().into_bytes();
            bad[at] = b'*';
            assert_eq!(to_base64(&mut bad), None, "{at}");
        }
    }

    proptest! {
        /// Decodes a text only if an encoder would have written it. Tries texts of all lengths, also with foreign characters.
        #[test]
        fn base64_is_read_as_by_others(text in "[A-Za-z0-9+/=*-]{0,12}", bytes: std::vec::Vec<u8>) {
            use base64ct::{Base64, Encoding};
            for text in [text, Base64::encode_string(&bytes)] {
                let mut buffer = text.clone().into_bytes();
                let ours = to_der(&mut buffer).map(<[u8]>::to_vec);
                prop_assert_eq!(ours, Base64::decode_vec(&text).ok(), "{}", text);
            }
        }
    }
}
