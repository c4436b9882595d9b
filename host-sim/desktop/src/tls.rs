//! TLS to the broker on a desktop: sessions by rustls, and the same judgement on certificates as a board's.

use std::sync::{Arc, Mutex};

use hub_mqtt::Tls;
use hub_tls::{Certificate, TlsError, Verifier};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Shakes hands with the broker `host` over `stream`.
pub async fn open(stream: TcpStream, host: &str, tls: Tls<'_>) -> Result<TlsStream<TcpStream>, TlsError> {
    if tls.trusted.is_empty() {
        return Err(TlsError::NoCa);
    }
    let provider = Arc::new(ring::default_provider());
    let judge = Arc::new(Judge {
        host: host.into(),
        trusted: tls.trusted.into(),
        now: tls.now,
        provider: provider.clone(),
        refusal: Mutex::new(None),
    });
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider knows TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(judge.clone())
        .with_no_client_auth();
    // A name that is none is refused with the certificate, which has no such name.
    let name = ServerName::try_from(host.to_owned()).map_err(|_| TlsError::WrongName)?;
    match TlsConnector::from(Arc::new(config)).connect(name, stream).await {
        Ok(stream) => Ok(stream),
        Err(error) => {
            let refusal = judge.refusal.lock().expect("nothing panics while it is held").take();
            Err(refusal.unwrap_or_else(|| explain(&error)))
        }
    }
}

/// What a failed handshake means.
fn explain(error: &std::io::Error) -> TlsError {
    match error.get_ref().and_then(|error| error.downcast_ref::<Error>()) {
        Some(Error::AlertReceived(alert)) => TlsError::Alert(u8::from(*alert)),
        Some(Error::PeerIncompatible(_)) => TlsError::Version,
        Some(Error::InvalidMessage(_)) => TlsError::NotTls,
        Some(Error::InvalidCertificate(_)) => TlsError::NoProof,
        Some(_) => TlsError::Protocol,
        None => TlsError::Closed,
    }
}

/// What to tell a person about a session that ended with this error; `None` if it was not TLS's.
pub fn is_refusal(error: &std::io::Error) -> bool {
    let error = error.get_ref().and_then(|error| error.downcast_ref::<Error>());
    matches!(error, Some(Error::AlertReceived(AlertDescription::CertificateRequired)))
}

/// Judges certificates by the rules of the hub.
#[derive(Debug)]
struct Judge {
    host: String,
    trusted: Vec<u8>,
    now: Option<i64>,
    provider: Arc<CryptoProvider>,
    /// Why the last certificates were refused; rustls has no words for it.
    refusal: Mutex<Option<TlsError>>,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let chain: Vec<CertificateDer<'_>> =
            std::iter::once(leaf).chain(intermediates).map(|der| CertificateDer::from_slice(der)).collect();
        let algorithms = self.provider.signature_verification_algorithms.all;
        let verifier = Verifier { host: &self.host, trusted: &self.trusted, now: self.now };
        verifier.check(&chain, algorithms).map(|()| ServerCertVerified::assertion()).map_err(|error| {
            *self.refusal.lock().expect("nothing panics while it is held") = Some(error);
            Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)
        })
    }

    /// Never called: TLS 1.2 is not offered.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    /// With the key alone: rustls does not read certificates of version 1.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let leaf =
            Certificate::parse(leaf).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let key = SubjectPublicKeyInfoDer::from(leaf.key_der);
        verify_tls13_signature_with_raw_key(
            message,
            &key,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
