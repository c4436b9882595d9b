//! Whom the hub believes: the rules for the broker's certificates, and which of them is at fault.

use core::time::Duration;

use rustls_pki_types::{CertificateDer, ServerName, SignatureVerificationAlgorithm, TrustAnchor, UnixTime};
use webpki::{EndEntityCert, Error, KeyUsage, anchor_from_trusted_cert};

use crate::certificate::Certificate;
use crate::{CertificateRole, TlsError};

/// What a broker's certificates are checked against.
///
/// A certificate is accepted if it is byte for byte the trusted one: then its key and its dates count, and nothing else.
/// Two habits of home brokers are possible in no other way: a certificate of X.509 version 1, which has no names, and one
/// CA certificate as the broker's own. Any other is accepted by the rules of `webpki`: issued under the trusted one,
/// for this name or address, now, for a server.
pub struct Verifier<'a> {
    /// The broker's name or address, as people wrote it.
    pub host: &'a str,
    /// In DER: a CA's certificate, or the broker's own.
    pub trusted: &'a [u8],
    /// Seconds since the beginning of 1970, if the clock is set. Without it, only the trusted certificate itself is
    /// accepted: whoever pins a certificate can do without a clock.
    pub now: Option<i64>,
}

/// The signatures that can be checked.
type Algorithms<'a> = &'a [&'a dyn SignatureVerificationAlgorithm];

impl Verifier<'_> {
    /// Checks the certificates that a broker sent, its own first. The broker still has to prove that it owns the key.
    pub fn check(&self, chain: &[CertificateDer<'_>], algorithms: Algorithms<'_>) -> Result<(), TlsError> {
        let Some((leaf, intermediates)) = chain.split_first() else { return Err(TlsError::NoProof) };
        if **leaf == *self.trusted {
            return self.check_dates(leaf, CertificateRole::Broker);
        }
        if self.trusted.is_empty() {
            return Err(TlsError::NoCa);
        }
        let now = self.now.ok_or(TlsError::NoClock)?;
        let trusted = CertificateDer::from_slice(self.trusted);
        let anchor = anchor_from_trusted_cert(&trusted).map_err(|_| TlsError::BadCa)?;
        self.check_dates(self.trusted, CertificateRole::Ca)?;
        self.check_chain(leaf, intermediates, anchor, now, algorithms)
            .map_err(|error| self.explain(error, chain, now, algorithms))
    }

    /// The dates of a certificate that is trusted as it is; webpki looks only at those of the chain.
    fn check_dates(&self, certificate: &[u8], role: CertificateRole) -> Result<(), TlsError> {
        let certificate = Certificate::parse(certificate).ok_or(TlsError::Unreadable(role))?;
        match self.now {
            Some(now) if now < certificate.not_before => Err(TlsError::NotYetValid(role)),
            Some(now) if now > certificate.not_after => Err(TlsError::Expired(role)),
            _ => Ok(()),
        }
    }

    fn check_chain(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        anchor: TrustAnchor<'_>,
        now: i64,
        algorithms: Algorithms<'_>,
    ) -> Result<(), Error> {
        let leaf = EndEntityCert::try_from(leaf)?;
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now.try_into().unwrap_or_default()));
        let (anchors, usage) = ([anchor], KeyUsage::server_auth());
        leaf.verify_for_usage(algorithms, &anchors, intermediates, now, usage, None, None)?;
        let name = ServerName::try_from(self.host).map_err(|_| Error::UnsupportedNameType)?;
        leaf.verify_is_valid_for_subject_name(&name)
    }

    /// Finds the certificate that is at fault: `webpki` names only the fault.
    fn explain(
        &self,
        error: Error,
        chain: &[CertificateDer<'_>],
        now: i64,
        algorithms: Algorithms<'_>,
    ) -> TlsError {
        let role_of = |is_faulty: &dyn Fn(&Certificate<'_>) -> bool| {
            let is_faulty = |der: &CertificateDer<'_>| Certificate::parse(der).is_some_and(|c| is_faulty(&c));
            chain.iter().position(is_faulty).map(|place| match place {
                0 => CertificateRole::Broker,
                _ => CertificateRole::Intermediate,
            })
        };
        match error {
            Error::CertExpired { .. } => {
                TlsError::Expired(role_of(&|c| now > c.not_after).unwrap_or(CertificateRole::Intermediate))
            }
            Error::CertNotValidYet { .. } => TlsError::NotYetValid(
                role_of(&|c| now < c.not_before).unwrap_or(CertificateRole::Intermediate),
            ),
            Error::CertNotValidForName(_) | Error::UnsupportedNameType => TlsError::WrongName,
            Error::UnknownIssuer => match role_of(&|c| c.issuer == c.subject) {
                Some(CertificateRole::Broker) => TlsError::SelfSigned,
                _ => TlsError::UnknownIssuer,
            },
            Error::CaUsedAsEndEntity => TlsError::IsCa,
            Error::InvalidSignatureForPublicKey => {
                TlsError::BadSignature(self.bad_signature(chain, now, algorithms))
            }
            // A signature that is not supported, or else the key that made it.
            Error::UnsupportedSignatureAlgorithmContext(_)
            | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
                let role = role_of(&|c| !c.is_signature_supported)
                    .or_else(|| role_of(&|c| c.issuer != c.subject && c.key().is_none()));
                TlsError::Unsupported(role.unwrap_or(CertificateRole::Ca))
            }
            Error::RequiredEkuNotFoundContext(_) | Error::EmptyEkuExtension => {
                TlsError::NotAllowed(CertificateRole::Broker)
            }
            Error::EndEntityUsedAsCa | Error::PathLenConstraintViolated | Error::NameConstraintViolation => {
                TlsError::NotAllowed(CertificateRole::Intermediate)
            }
            Error::MaximumPathDepthExceeded => TlsError::TooLarge,
            _ => match role_of(&|c| c.is_version_1) {
                Some(CertificateRole::Broker) => TlsError::OldCertificate,
                _ => TlsError::Unreadable(CertificateRole::Broker),
            },
        }
    }

    /// The broker's own certificate, if the next one did not sign it either.
    fn bad_signature(
        &self,
        chain: &[CertificateDer<'_>],
        now: i64,
        algorithms: Algorithms<'_>,
    ) -> CertificateRole {
        if let [leaf, issuer, ..] = chain
            && let Ok(anchor) = anchor_from_trusted_cert(issuer)
            && !matches!(
                self.check_chain(leaf, &[], anchor, now, algorithms),
                Err(Error::InvalidSignatureForPublicKey | Error::UnknownIssuer)
            )
        {
            return CertificateRole::Intermediate;
        }
        CertificateRole::Broker
    }
}
