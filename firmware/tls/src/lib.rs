//! TLS 1.3 to the broker, for one connection at a time: without a heap, over any stream of bytes.
//!
//! One way to do each thing, which every TLS 1.3 server has to know: AES-128-GCM with SHA-256, keys exchanged on P-256,
//! certificates with keys on P-256 or for RSA. The arithmetic is RustCrypto's, the rules for certificates are `webpki`'s.
//!
//! Records and messages are read here, since no crate without a heap does it: `embedded-tls` takes a server that leaves
//! out its certificate for genuine, panics at messages out of place, does not put split messages together, and loses
//! bytes when a read is dropped. Here each message has one place (`handshake`), and the state of a connection is never in
//! a future (`record`).
#![no_std]
#![forbid(unsafe_code)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::unreachable,
    clippy::todo
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

#[cfg(test)]
extern crate std;

mod certificate;
mod checks;
mod error;
mod handshake;
mod hello;
mod keys;
mod reader;
mod record;
pub mod rsa;
mod signature;
mod stream;
mod verifier;

pub use certificate::{Certificate, PublicKey};
pub use error::{CertificateRole, TlsError};
pub use signature::ALGORITHMS;
pub use stream::{Memory, StreamError, TlsStream};
pub use verifier::Verifier;
