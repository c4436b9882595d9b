//! The two hellos: what the hub offers, and what the broker chose of it.

use rustls_pki_types::ServerName;

use crate::TlsError;
use crate::reader::Reader;
use crate::record::Outgoing;

pub(crate) const CLIENT_HELLO: u8 = 1;

const SERVER_NAME: usize = 0;
const MAX_FRAGMENT_LENGTH: usize = 1;
const SUPPORTED_GROUPS: usize = 10;
const SUPPORTED_VERSIONS: usize = 43;
const KEY_SHARE: usize = 51;

const AES_128_GCM_SHA256: usize = 0x1301;
const P256: usize = 0x17;
const TLS_1_2: usize = 0x0303;
const TLS_1_3: usize = 0x0304;

/// The random number of a server's hello that asks for another hello of the client's.
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Behind the random number: no session, TLS_AES_128_GCM_SHA256, no compression.
const OFFER: [u8; 7] = [0, 0, 2, 0x13, 0x01, 1, 0];

/// The extensions that are always the same: TLS 1.3; ECDSA on P-256, RSA-PSS and, in certificates, RSA as of old, each
/// with SHA-256; P-256; records of at most 4096 bytes, which OpenSSL heeds and others may not; and the beginning of the
/// key share.
const EXTENSIONS: [u8; 43] = [
    0, 1, 0, 1, 4, //
    0, 43, 0, 3, 2, 3, 4, //
    0, 13, 0, 8, 0, 6, 4, 3, 8, 4, 4, 1, //
    0, 10, 0, 4, 0, 2, 0, 0x17, //
    0, 51, 0, 71, 0, 69, 0, 0x17, 0, 65, 4, //
];

/// Adds the client's hello to `outgoing`, with the point (`x`, `y`) as its half of the key exchange.
pub(crate) fn write(
    outgoing: &mut Outgoing<'_>,
    host: &str,
    random: &[u8; 32],
    x: &[u8],
    y: &[u8],
) -> Result<(), TlsError> {
    // An address is not sent as a name.
    let name = if matches!(ServerName::try_from(host), Ok(ServerName::DnsName(_))) { host } else { "" };
    let name_extension = if name.is_empty() { 0 } else { 9 + name.len() };
    let extensions = EXTENSIONS.len() + x.len() + y.len() + name_extension;
    let body = 2 + random.len() + OFFER.len() + 2 + extensions;
    let number = |number: usize| (number as u16).to_be_bytes();
    outgoing.append_all(&[CLIENT_HELLO, 0])?;
    outgoing.append_all(&number(body))?;
    outgoing.append_all(&number(TLS_1_2))?;
    outgoing.append_all(random)?;
    outgoing.append_all(&OFFER)?;
    outgoing.append_all(&number(extensions))?;
    outgoing.append_all(&EXTENSIONS)?;
    outgoing.append_all(x)?;
    outgoing.append_all(y)?;
    if !name.is_empty() {
        outgoing.append_all(&number(SERVER_NAME))?;
        outgoing.append_all(&number(name.len() + 5))?;
        outgoing.append_all(&number(name.len() + 3))?;
        outgoing.append_all(&[0])?;
        outgoing.append_all(&number(name.len()))?;
        outgoing.append_all(name.as_bytes())?;
    }
    Ok(())
}

/// Reads the server's hello: its half of the key exchange.
pub(crate) fn read(body: &[u8]) -> Result<&[u8; 65], TlsError> {
    let hello = ServerHello::parse(Reader(body)).ok_or(TlsError::Protocol)?;
    if hello.version != TLS_1_3 {
        return Err(TlsError::Version);
    }
    match hello.share {
        Some(share) if hello.chosen == (0, AES_128_GCM_SHA256, 0) && *hello.random != RETRY => Ok(share),
        _ => Err(TlsError::Protocol),
    }
}

struct ServerHello<'a> {
    random: &'a [u8],
    /// The length of the session's id, the suite and the compression.
    chosen: (usize, usize, usize),
    version: usize,
    share: Option<&'a [u8; 65]>,
}

impl<'a> ServerHello<'a> {
    fn parse(mut body: Reader<'a>) -> Option<Self> {
        // TLS 1.3 is named by an extension only.
        let mut version = body.number(2).filter(|version| *version <= TLS_1_2)?;
        let random = body.take(32)?;
        let session = body.vector(1)?.0.len();
        let chosen = (session, body.number(2)?, body.number(1)?);
        let mut share = None;
        let mut has_others = false;
        // TLS 1.2 and older may have no extensions at all.
        if !body.is_empty() {
            let mut extensions = body.vector(2)?;
            while !extensions.is_empty() {
                let (kind, mut content) = extensions.extension()?;
                match kind {
                    SUPPORTED_VERSIONS if version == TLS_1_2 => version = content.number(2)?,
                    KEY_SHARE if share.is_none() => {
                        (content.number(2)? == P256).then_some(())?;
                        share = Some(content.vector(2)?.0.try_into().ok()?);
                    }
                    _ => {
                        has_others = true;
                        content = Reader(&[]);
                    }
                }
                content.is_empty().then_some(())?;
            }
        }
        // In TLS 1.3 the client has asked for no others.
        (version != TLS_1_3 || !has_others).then_some(())?;
        body.is_empty().then_some(Self { random, chosen, version, share })
    }
}

/// Checks the extensions that the server sends encrypted: only such as the client has asked for.
pub(crate) fn check_encrypted_extensions(body: &[u8]) -> Option<()> {
    let mut body = Reader(body);
    let mut extensions = body.vector(2)?;
    while !extensions.is_empty() {
        let (SERVER_NAME | MAX_FRAGMENT_LENGTH | SUPPORTED_GROUPS, _) = extensions.extension()? else {
            return None;
        };
    }
    body.is_empty().then_some(())
}
