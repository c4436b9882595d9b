//! The client's handshake (RFC 8446, section 4): which message may come when, and what follows from it.
//!
//! Each message has one place. Whoever leaves out the certificate or the proof of its key gets nowhere, since the
//! message that follows is not the one that is due.

use p256::SecretKey;
use p256::ecdh::diffie_hellman;
use p256::elliptic_curve::point::AffineCoordinates;
use rustls_pki_types::CertificateDer;
use sha2::{Digest, Sha256};

use crate::certificate::Certificate;
use crate::checks::Checks;
use crate::hello;
use crate::keys::{self, HandshakeSecret, Hash, Secret, TrafficKeys};
use crate::reader::Reader;
use crate::record::{HANDSHAKE, Incoming, Outgoing};
use crate::signature::{LeafKey, point};
use crate::verifier::Verifier;
use crate::{CertificateRole, TlsError};

const SERVER_HELLO: u8 = 2;
const ENCRYPTED_EXTENSIONS: u8 = 8;
const CERTIFICATE: u8 = 11;
const CERTIFICATE_REQUEST: u8 = 13;
const CERTIFICATE_VERIFY: u8 = 15;
const FINISHED: u8 = 20;

/// The alert for a finish that is wrong.
const DECRYPT_ERROR: u8 = 51;

/// The certificates that a broker may send: its own, and those up to its CA.
const CHAIN: usize = 5;

/// In front of what a server signs, behind 64 spaces.
const PROOF: &[u8; 34] = b"TLS 1.3, server CertificateVerify\0";

/// The message that is due.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    ServerHello,
    EncryptedExtensions,
    CertificateOrRequest,
    Certificate,
    CertificateVerify,
    Finished,
    Nothing,
}

/// A handshake that is going on.
pub(crate) struct Handshake<'a> {
    verifier: Verifier<'a>,
    /// Of all messages so far.
    transcript: Sha256,
    due: Due,
    key: SecretKey,
    secret: HandshakeSecret,
    client_secret: Secret,
    server_secret: Secret,
    /// The key that the broker has to prove it owns.
    leaf: LeafKey,
    checks: Checks,
    wants_certificate: bool,
}

impl<'a> Handshake<'a> {
    /// Begins one: puts the hello into `outgoing`, sealed.
    pub(crate) fn begin(
        verifier: Verifier<'a>,
        random: fn(&mut [u8]),
        outgoing: &mut Outgoing<'_>,
    ) -> Result<Self, TlsError> {
        let mut number = Secret::default();
        // Not every number is a key: all but one of 2^32 are.
        let key = loop {
            random(&mut *number);
            if let Ok(key) = SecretKey::from_slice(&*number) {
                break key;
            }
        };
        random(&mut *number);
        let public = key.public_key();
        hello::write(outgoing, verifier.host, &number, &public.as_affine().x(), &public.as_affine().y())?;
        let mut transcript = Sha256::new();
        transcript.update(outgoing.content());
        outgoing.seal(HANDSHAKE)?;
        Ok(Self {
            verifier,
            transcript,
            due: Due::ServerHello,
            key,
            secret: HandshakeSecret::new(&[0; 32]),
            client_secret: Secret::default(),
            server_secret: Secret::default(),
            leaf: LeafKey::new(),
            checks: Checks::default(),
            wants_certificate: false,
        })
    }

    /// Whether the broker has proved who it is, and both have the same keys.
    pub(crate) fn is_complete(&self) -> bool {
        self.due == Due::Nothing
    }

    /// Takes the first message of `incoming`, if it is complete, or does a part of the work with it: one long computation
    /// at most. Returns whether there was something to do.
    pub(crate) fn step(
        &mut self,
        incoming: &mut Incoming<'_>,
        outgoing: &mut Outgoing<'_>,
    ) -> Result<bool, TlsError> {
        let Some(message) = incoming.message() else { return Ok(false) };
        let length = message.len();
        let [kind, _, _, _, body @ ..] = message else { return Err(TlsError::Protocol) };
        let before = self.hash();
        let kind = *kind;
        match (self.due, kind) {
            (Due::ServerHello, SERVER_HELLO) => {
                let share = point(hello::read(body)?).ok_or(TlsError::Protocol)?;
                let shared = diffie_hellman(self.key.to_nonzero_scalar(), share);
                let shared: Secret = Secret::new((*shared.raw_secret_bytes()).into());
                self.secret = HandshakeSecret::new(&shared);
                self.due = Due::EncryptedExtensions;
            }
            (Due::EncryptedExtensions, ENCRYPTED_EXTENSIONS) => {
                hello::check_encrypted_extensions(body).ok_or(TlsError::Protocol)?;
                self.due = Due::CertificateOrRequest;
            }
            (Due::CertificateOrRequest, CERTIFICATE_REQUEST) => {
                // With no context: that is for requests after the handshake.
                if body.first() != Some(&0) {
                    return Err(TlsError::Protocol);
                }
                self.wants_certificate = true;
                self.due = Due::Certificate;
            }
            (Due::CertificateOrRequest | Due::Certificate, CERTIFICATE) => {
                let Some(accepted) = self.take_certificates(body) else { return Ok(true) };
                accepted?;
                self.due = Due::CertificateVerify;
            }
            (Due::CertificateVerify, CERTIFICATE_VERIFY) => {
                self.take_proof(body, &before)?;
                self.due = Due::Finished;
            }
            (Due::Finished, FINISHED) => {
                if !keys::is_finish(&self.server_secret, &before, body) {
                    incoming.alert = Some(DECRYPT_ERROR);
                    return Err(TlsError::Protocol);
                }
                self.due = Due::Nothing;
            }
            _ => return Err(TlsError::Protocol),
        }
        self.transcript.update(message);
        incoming.forget(length);
        match kind {
            SERVER_HELLO => {
                (self.client_secret, self.server_secret) = self.secret.traffic(&self.hash());
                outgoing.protect(TrafficKeys::new(&self.client_secret));
                incoming.protect(TrafficKeys::new(&self.server_secret))?;
            }
            FINISHED => self.finish(incoming, outgoing)?,
            _ => {}
        }
        Ok(true)
    }

    fn hash(&self) -> Hash {
        self.transcript.clone().finalize().into()
    }

    /// Judges the certificates; `None` if that takes another step.
    fn take_certificates(&mut self, body: &[u8]) -> Option<Result<(), TlsError>> {
        let Self { verifier, leaf: key_of_leaf, checks, .. } = self;
        checks.attempt(|algorithms| {
            let mut chain = [const { CertificateDer::from_slice(&[]) }; CHAIN];
            let count = read_certificates(Reader(body), &mut chain).ok_or(TlsError::Protocol)?;
            let chain = chain.get(..count).ok_or(TlsError::TooLarge)?;
            verifier.check(chain, algorithms)?;
            let leaf = chain.first().and_then(|leaf| Certificate::parse(leaf));
            let key =
                leaf.and_then(|leaf| leaf.key()).ok_or(TlsError::Unsupported(CertificateRole::Broker))?;
            key_of_leaf.set(key)
        })
    }

    /// The signature of everything so far shows that the broker has the certificate's key.
    fn take_proof(&self, body: &[u8], transcript: &Hash) -> Result<(), TlsError> {
        let mut message = [b' '; 64 + PROOF.len() + 32];
        let (_, signed) = message.split_at_mut(64);
        let parts = PROOF.iter().chain(transcript);
        signed.iter_mut().zip(parts).for_each(|(place, byte)| *place = *byte);
        let mut body = Reader(body);
        let (Some(scheme), Some(signature), true) = (body.number(2), body.vector(2), body.is_empty()) else {
            return Err(TlsError::Protocol);
        };
        if self.leaf.has_signed(scheme, &message, signature.0) { Ok(()) } else { Err(TlsError::NoProof) }
    }

    /// Both sides are done: the client says so, and both change to the keys for what follows.
    fn finish(&mut self, incoming: &mut Incoming<'_>, outgoing: &mut Outgoing<'_>) -> Result<(), TlsError> {
        let (client, server) = self.secret.application_traffic(&self.hash());
        if self.wants_certificate {
            // The hub has none: an empty list, with no context.
            let none = [CERTIFICATE, 0, 0, 4, 0, 0, 0, 0];
            self.transcript.update(none);
            outgoing.append_all(&none)?;
        }
        outgoing.append_all(&[FINISHED, 0, 0, 32])?;
        outgoing.append_all(&keys::finish(&self.client_secret, &self.hash()))?;
        outgoing.seal(HANDSHAKE)?;
        outgoing.protect(TrafficKeys::new(&client));
        incoming.open();
        incoming.protect(TrafficKeys::new(&server))
    }
}

/// Reads a list of certificates into `chain`, as far as they fit; returns how many there are.
fn read_certificates<'a>(mut body: Reader<'a>, chain: &mut [CertificateDer<'a>; CHAIN]) -> Option<usize> {
    // No context, as in the request.
    (body.number(1)? == 0).then_some(())?;
    let mut list = body.vector(3)?;
    let mut count = 0;
    while !list.is_empty() {
        let certificate = list.vector(3)?;
        // The client has asked for no extensions.
        list.vector(2)?.is_empty().then_some(())?;
        if let Some(place) = chain.get_mut(count) {
            *place = CertificateDer::from_slice(certificate.0);
        }
        count += 1;
    }
    body.is_empty().then_some(count)
}
