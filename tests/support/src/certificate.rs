//! Certificates that a test makes: of CAs, and what they issue.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SigningKey, date_time_ymd,
};
use rustls_pki_types::CertificateDer;

/// What kind of key a certificate has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    P256,
    P384,
    Ed25519,
    /// With so many bits: 2048, 3072 or 4096.
    Rsa(u16),
}

impl KeyKind {
    fn make(self) -> KeyPair {
        match self {
            Self::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            Self::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            Self::Ed25519 => KeyPair::generate_for(&rcgen::PKCS_ED25519),
            // Making one takes seconds; these are known to everybody, which is all the same to a test.
            Self::Rsa(2048) => KeyPair::from_pem(include_str!("../keys/rsa-2048.pem")),
            Self::Rsa(3072) => KeyPair::from_pem(include_str!("../keys/rsa-3072.pem")),
            Self::Rsa(_) => KeyPair::from_pem(include_str!("../keys/rsa-4096.pem")),
        }
        .expect("a key")
    }
}

/// A certificate and its key.
pub struct Issued {
    pub key: KeyPair,
    params: CertificateParams,
    /// Its own certificate, and those of its issuers up to the root, which is not among them.
    pub chain: Vec<CertificateDer<'static>>,
    is_root: bool,
}

/// A CA that signs itself.
pub fn authority(name: &str, kind: KeyKind) -> Issued {
    signs_itself(kind, authority_params(name))
}

/// A server's certificate that no CA has issued, for this machine.
pub fn self_signed(kind: KeyKind) -> Issued {
    signs_itself(kind, server_params())
}

fn signs_itself(kind: KeyKind, params: CertificateParams) -> Issued {
    let key = kind.make();
    let der = params.self_signed(&key).expect("a certificate").der().clone();
    Issued { key, params, chain: vec![der], is_root: true }
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = server_params();
    params.subject_alt_names.clear();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.extended_key_usages.clear();
    params
}

/// A server's, for this machine, from 2020 to 2040.
fn server_params() -> CertificateParams {
    let names = ["localhost", "127.0.0.1", "10.0.2.2", "10.0.2.100", "broker.test"].map(String::from);
    let mut params = CertificateParams::new(names).expect("names");
    params.distinguished_name.push(DnType::CommonName, "a broker");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2040, 1, 1);
    params
}

impl Issued {
    /// Its own certificate.
    pub fn der(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// Issues a certificate to a server on this machine, changed as the test wants it.
    pub fn issues(&self, kind: KeyKind, change: impl FnOnce(&mut CertificateParams)) -> Issued {
        self.signs(kind, server_params(), change)
    }

    /// Issues a CA's certificate.
    pub fn issues_authority(
        &self,
        name: &str,
        kind: KeyKind,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Issued {
        self.signs(kind, authority_params(name), change)
    }

    fn signs(
        &self,
        kind: KeyKind,
        mut params: CertificateParams,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Issued {
        change(&mut params);
        let key = kind.make();
        let issuer = Issuer::from_params(&self.params, &self.key);
        let mut chain = vec![params.signed_by(&key, &issuer).expect("a certificate").der().clone()];
        if !self.is_root {
            chain.extend(self.chain.iter().cloned());
        }
        Issued { key, params, chain, is_root: false }
    }

    /// The same with a certificate of X.509 version 1, which has no names but a subject. Signed by itself, with ECDSA.
    pub fn as_version_1(mut self) -> Issued {
        let der = self.der();
        let (body, _) = split_value(&der[header(der)..]);
        let (_, mut rest) = split_value(&body[header(body)..]);
        // Serial number, algorithm, issuer, validity, subject and key, all but the extensions.
        let mut fields = Vec::new();
        let mut algorithm = Vec::new();
        for field in 0..6 {
            let (value, after) = split_value(rest);
            if field == 1 {
                algorithm = value.to_vec();
            }
            fields.extend_from_slice(value);
            rest = after;
        }
        let body = value(0x30, &fields);
        let signature = value(3, &[&[0], &*self.key.sign(&body).expect("a signature")].concat());
        self.chain = vec![value(0x30, &[body, algorithm, signature].concat()).into()];
        self
    }

    /// Its certificates as PEM, its own first.
    pub fn pem(&self) -> String {
        self.chain.iter().map(|der| pem("CERTIFICATE", der)).collect()
    }

    /// Its key as PEM.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }
}

/// The PEM of `der`.
fn pem(label: &str, der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = der.chunks(3).flat_map(|chunk| {
        let number =
            chunk.iter().fold(0u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..4).map(move |place| match place > chunk.len() {
            true => '=',
            false => char::from(DIGITS[(number >> (18 - 6 * place)) as usize & 63]),
        })
    });
    let digits: Vec<char> = digits.collect();
    let lines: String = digits.chunks(64).map(|line| line.iter().collect::<String>() + "\n").collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

/// A value of ASN.1's DER.
fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let mut value = match length {
        0..=0x7f => vec![tag, length as u8],
        0x80..=0xff => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    value.extend_from_slice(content);
    value
}

/// The length of a value's header.
fn header(value: &[u8]) -> usize {
    if value[1] < 0x80 { 2 } else { 2 + usize::from(value[1] & 0x7f) }
}

/// The first value, header included, and what follows it.
fn split_value(values: &[u8]) -> (&[u8], &[u8]) {
    let header = header(values);
    let length = match header {
        2 => usize::from(values[1]),
        _ => values[2..header].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
    };
    values.split_at(header + length)
}
