//! Why a connection by TLS is refused: which certificate is at fault, and what to do.

/// Which of the certificates of a broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateRole {
    /// The broker's own.
    Broker,
    /// One between the broker's own and its CA's, which the broker sends along.
    Intermediate,
    /// The one that the hub trusts: setting `broker.ca`.
    Ca,
}

/// Why a broker is not believed to be the one that is meant, or could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsError {
    /// There is no certificate to trust.
    NoCa,
    /// The certificate to trust cannot be read.
    BadCa,
    /// The time is not known, so that no date can be checked.
    NoClock,
    /// The certificate is no longer valid.
    Expired(CertificateRole),
    /// The certificate is not valid yet.
    NotYetValid(CertificateRole),
    /// The broker's certificate is for another name or address.
    WrongName,
    /// The broker's certificates do not lead to the trusted one.
    UnknownIssuer,
    /// The broker's certificate is its own issuer, and not the trusted one.
    SelfSigned,
    /// The broker's certificate is a CA's, and not the trusted one.
    IsCa,
    /// The broker's certificate is of X.509 version 1, and not the trusted one.
    OldCertificate,
    /// The certificate is not signed by the one whose name it gives as its issuer.
    BadSignature(CertificateRole),
    /// The certificate's key or signature is of a kind that the hub cannot check.
    Unsupported(CertificateRole),
    /// The certificate may not be used for this.
    NotAllowed(CertificateRole),
    /// The certificate cannot be read.
    Unreadable(CertificateRole),
    /// The broker did not prove that it owns its certificate.
    NoProof,
    /// The broker speaks an older TLS than 1.3.
    Version,
    /// What came is not TLS.
    NotTls,
    /// What came is not what TLS 1.3 allows at that point, or was changed on the way.
    Protocol,
    /// Certificates or messages are larger than the hub can keep.
    TooLarge,
    /// The broker hung up during the handshake.
    Closed,
    /// The broker ended the handshake, with the alert of this number.
    Alert(u8),
}

impl TlsError {
    /// The error in words, with what to do.
    pub const fn text(self) -> &'static str {
        use CertificateRole::{Broker, Ca, Intermediate};
        match self {
            Self::NoCa => {
                "no certificate to trust is set; set broker.ca to that of the broker's CA, or the broker's own"
            }
            Self::BadCa => "broker.ca cannot be parsed as a certificate; set it again, as PEM",
            Self::NoClock => {
                "the time is not known yet, so the broker's certificate cannot be checked; it comes from time.server"
            }
            Self::Expired(Broker) => "the broker's certificate has expired; renew it",
            Self::Expired(Intermediate) => {
                "an intermediate certificate of the broker's has expired; renew it"
            }
            Self::Expired(Ca) => "the certificate in broker.ca has expired; renew it",
            Self::NotYetValid(Broker) => {
                "the broker's certificate is not valid yet; check its clock and the hub's"
            }
            Self::NotYetValid(_) => {
                "an intermediate certificate is not valid yet; check the clocks of CA and hub"
            }
            Self::WrongName => {
                "the broker's certificate is for another name; use the name or address that it has in broker.url"
            }
            Self::UnknownIssuer => {
                "the broker's certificate is from another CA than broker.ca, or an intermediate certificate is missing"
            }
            Self::SelfSigned => {
                "the broker's certificate is self-signed and not the one in broker.ca; set broker.ca to it"
            }
            Self::IsCa => {
                "the broker uses a CA's certificate as its own; set broker.ca to that very one, or issue one"
            }
            Self::OldCertificate => {
                "the broker's certificate is of X.509 version 1; set broker.ca to it, or issue one of version 3"
            }
            Self::BadSignature(Broker) => {
                "the broker's certificate is not signed by the CA it names; was the CA made anew? then set broker.ca"
            }
            Self::BadSignature(_) => {
                "an intermediate certificate is not signed by the CA it names; was the CA made anew? then set broker.ca"
            }
            Self::Unsupported(Broker) => {
                "the broker's certificate has a key or signature that the hub cannot check; use P-256 or RSA, with SHA-256"
            }
            Self::Unsupported(Intermediate) => {
                "an intermediate certificate has a key or signature that the hub cannot check; use P-256 or RSA, with \
                 SHA-256"
            }
            Self::Unsupported(Ca) => {
                "the certificate in broker.ca has a key that the hub cannot check with; use P-256 or RSA"
            }
            Self::NotAllowed(Broker) => {
                "the broker's certificate is not for servers; issue one that is (serverAuth)"
            }
            Self::NotAllowed(_) => {
                "an intermediate certificate may not issue the broker's; check its constraints"
            }
            Self::Unreadable(Broker) => "the broker's certificate cannot be read; issue it anew",
            Self::Unreadable(_) => "an intermediate certificate cannot be read; issue it anew",
            Self::NoProof => {
                "the broker did not prove that it owns its certificate; check who answers at that address"
            }
            Self::Version => "the broker speaks no TLS 1.3; allow it there (mosquitto: tls_version tlsv1.3)",
            Self::NotTls => {
                "what answers there does not speak TLS; check the port, mqtts:// usually has 8883"
            }
            Self::Protocol => {
                "what the broker sent is not valid TLS 1.3, or was changed on the way; check its address"
            }
            Self::TooLarge => {
                "it sends more at once than the hub has room for: certificates beyond its CA, or records over 10 KiB"
            }
            Self::Closed => {
                "the broker hung up during the TLS handshake; check that this is its port for TLS"
            }
            // handshake_failure and insufficient_security
            Self::Alert(40 | 71) => {
                "the broker shares no TLS settings with the hub: TLS_AES_128_GCM_SHA256, P-256, and a certificate with \
                 a P-256 or RSA key"
            }
            // protocol_version
            Self::Alert(70) => Self::Version.text(),
            // unrecognized_name
            Self::Alert(112) => "the broker does not know the name in broker.url; use one that it has",
            // bad_certificate, unsupported, revoked, expired, unknown, unknown_ca, access_denied, certificate_required
            Self::Alert(42..=46 | 48 | 49 | 116) => {
                "the broker wants a certificate of the hub's, which has none; turn that off (mosquitto: \
                 require_certificate false)"
            }
            Self::Alert(_) => "the broker ended the TLS handshake; its log says why",
        }
    }
}
