//! A TLS 1.3 server that says whatever a test has it say. It knows the standard by itself, with the arithmetic of `ring`.

use rcgen::SigningKey as _;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign};
use ring::rand::SystemRandom;
use support::certificate::Issued;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

pub const CHANGE_CIPHER_SPEC: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const DATA: u8 = 23;

pub const SERVER_HELLO: u8 = 2;
pub const NEW_SESSION_TICKET: u8 = 4;
pub const ENCRYPTED_EXTENSIONS: u8 = 8;
pub const CERTIFICATE: u8 = 11;
pub const CERTIFICATE_REQUEST: u8 = 13;
pub const CERTIFICATE_VERIFY: u8 = 15;
pub const FINISHED: u8 = 20;
pub const KEY_UPDATE: u8 = 24;

fn mac(key: &[u8], message: &[u8]) -> Vec<u8> {
    sign(&Key::new(HMAC_SHA256, key), message).as_ref().to_vec()
}

fn expand(secret: &[u8], label: &str, context: &[u8], length: usize) -> Vec<u8> {
    let mut info = vec![0, length as u8, 6 + label.len() as u8];
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(context.len() as u8);
    info.extend_from_slice(context);
    info.push(1);
    mac(secret, &info)[..length].to_vec()
}

fn hash(message: &[u8]) -> Vec<u8> {
    digest(&SHA256, message).as_ref().to_vec()
}

/// A vector with a length of `width` bytes in front.
pub fn vector(width: usize, content: &[u8]) -> Vec<u8> {
    let mut vector = (content.len() as u32).to_be_bytes()[4 - width..].to_vec();
    vector.extend_from_slice(content);
    vector
}

/// A handshake message.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &*vector(3, body)].concat()
}

/// A record as it is.
pub fn plain(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind, 3, 3], &*vector(2, content)].concat()
}

/// The keys of the server's direction.
struct Keys {
    secret: Vec<u8>,
    key: LessSafeKey,
    iv: Vec<u8>,
    count: u64,
}

impl Keys {
    fn new(secret: Vec<u8>) -> Self {
        let key = UnboundKey::new(&AES_128_GCM, &expand(&secret, "key", &[], 16)).expect("a key");
        let iv = expand(&secret, "iv", &[], 12);
        Self { secret, key: LessSafeKey::new(key), iv, count: 0 }
    }

    fn seal(&mut self, mut text: Vec<u8>) -> Vec<u8> {
        let mut nonce: [u8; 12] = self.iv.as_slice().try_into().expect("its length");
        nonce.iter_mut().rev().zip(self.count.to_le_bytes()).for_each(|(byte, digit)| *byte ^= digit);
        self.count += 1;
        let header = [DATA, 3, 3, ((text.len() + 16) >> 8) as u8, (text.len() + 16) as u8];
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(nonce, Aad::from(header), &mut text).expect("sealed");
        [&header[..], &text].concat()
    }
}

/// The server, at one end of a connection.
pub struct Server<'a> {
    pub stream: DuplexStream,
    issued: &'a Issued,
    /// All messages so far.
    transcript: Vec<u8>,
    share: Vec<u8>,
    shared: Vec<u8>,
    handshake_secret: Vec<u8>,
    keys: Option<Keys>,
}

impl<'a> Server<'a> {
    /// Reads the client's hello.
    pub async fn accept(mut stream: DuplexStream, issued: &'a Issued) -> Self {
        let mut header = [0; 5];
        stream.read_exact(&mut header).await.expect("a hello");
        let mut hello = vec![0; usize::from(header[3]) << 8 | usize::from(header[4])];
        stream.read_exact(&mut hello).await.expect("a hello");
        let start = [0, 51, 0, 71, 0, 69, 0, 0x17, 0, 65];
        let place = hello.windows(start.len()).position(|window| window == start).expect("a key share");
        let theirs = &hello[place + start.len()..][..65];
        let mine = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).expect("a key");
        let share = mine.compute_public_key().expect("a key").as_ref().to_vec();
        let shared = agree_ephemeral(mine, &UnparsedPublicKey::new(&ECDH_P256, theirs), <[u8]>::to_vec);
        Self {
            stream,
            issued,
            transcript: hello,
            share,
            shared: shared.expect("a secret"),
            handshake_secret: Vec::new(),
            keys: None,
        }
    }

    /// An honest hello.
    pub fn hello(&self) -> Vec<u8> {
        let share = [&[0, 51][..], &vector(2, &[&[0, 0x17], &*vector(2, &self.share)].concat())].concat();
        self.hello_with(&[7; 32], &[], 0x1301, &[&[0, 43, 0, 2, 3, 4], &*share].concat())
    }

    /// The extension with the server's half of the key exchange.
    pub fn share(&self) -> Vec<u8> {
        [&[0, 51][..], &vector(2, &[&[0, 0x17], &*vector(2, &self.share)].concat())].concat()
    }

    /// Any hello.
    pub fn hello_with(&self, random: &[u8; 32], session: &[u8], suite: u16, extensions: &[u8]) -> Vec<u8> {
        let start = [&[3, 3][..], random, &vector(1, session), &suite.to_be_bytes(), &[0]].concat();
        message(SERVER_HELLO, &[start, vector(2, extensions)].concat())
    }

    /// Sends the honest hello, and protects what follows.
    pub async fn sends_hello(&mut self) {
        let hello = self.hello();
        self.sends(&plain(HANDSHAKE, &hello)).await;
        self.protects_after(&hello);
    }

    /// Uses the keys that follow from this hello.
    pub fn protects_after(&mut self, hello: &[u8]) {
        self.transcript.extend_from_slice(hello);
        let early = mac(&[0; 32], &[0; 32]);
        let salt = expand(&early, "derived", &hash(&[]), 32);
        self.handshake_secret = mac(&salt, &self.shared);
        let secret = expand(&self.handshake_secret, "s hs traffic", &hash(&self.transcript), 32);
        self.keys = Some(Keys::new(secret));
    }

    /// A message that belongs to the handshake, as the transcript has it.
    pub fn says(&mut self, kind: u8, body: &[u8]) -> Vec<u8> {
        let message = message(kind, body);
        self.transcript.extend_from_slice(&message);
        message
    }

    pub fn extensions(&mut self) -> Vec<u8> {
        self.says(ENCRYPTED_EXTENSIONS, &[0, 0])
    }

    pub fn request(&mut self) -> Vec<u8> {
        self.says(CERTIFICATE_REQUEST, &[&[0][..], &vector(2, &[0, 13, 0, 4, 0, 2, 4, 3])].concat())
    }

    pub fn certificate(&mut self) -> Vec<u8> {
        let entries: Vec<u8> =
            self.issued.chain.iter().flat_map(|der| [vector(3, der), vec![0, 0]].concat()).collect();
        self.says(CERTIFICATE, &[&[0], &*vector(3, &entries)].concat())
    }

    /// The proof, by the owner of this key.
    pub fn proof_by(&mut self, owner: &Issued) -> Vec<u8> {
        let hash = hash(&self.transcript);
        let signed = [&[b' '; 64][..], b"TLS 1.3, server CertificateVerify\0", &hash].concat();
        let signature = owner.key.sign(&signed).expect("a signature");
        self.says(CERTIFICATE_VERIFY, &[&[4, 3][..], &vector(2, &signature)].concat())
    }

    pub fn proof(&mut self) -> Vec<u8> {
        self.proof_by(self.issued)
    }

    pub fn finish(&mut self) -> Vec<u8> {
        let secret = &self.keys.as_ref().expect("keys").secret;
        let finish = mac(&expand(secret, "finished", &[], 32), &hash(&self.transcript));
        self.says(FINISHED, &finish)
    }

    /// The honest answer to a hello, from its extensions to its finish.
    pub fn flight(&mut self) -> Vec<u8> {
        [self.extensions(), self.certificate(), self.proof(), self.finish()].concat()
    }

    /// Completes an honest handshake, and reads the client's finish.
    pub async fn shakes_hands(&mut self) {
        self.sends_hello().await;
        let flight = self.flight();
        self.seals(HANDSHAKE, &flight).await;
        let salt = expand(&self.handshake_secret, "derived", &hash(&[]), 32);
        let master = mac(&salt, &[0; 32]);
        self.keys = Some(Keys::new(expand(&master, "s ap traffic", &hash(&self.transcript), 32)));
        let mut finish = [0; 5 + 36 + 17];
        self.stream.read_exact(&mut finish).await.expect("a finish");
    }

    /// Changes its keys.
    pub fn updates_keys(&mut self) {
        let secret = expand(&self.keys.as_ref().expect("keys").secret, "traffic upd", &[], 32);
        self.keys = Some(Keys::new(secret));
    }

    /// A protected record.
    pub fn record(&mut self, kind: u8, content: &[u8]) -> Vec<u8> {
        self.record_of([content, &[kind]].concat())
    }

    /// A protected record, whatever is in it.
    pub fn record_of(&mut self, text: Vec<u8>) -> Vec<u8> {
        self.keys.as_mut().expect("keys").seal(text)
    }

    pub async fn seals(&mut self, kind: u8, content: &[u8]) {
        let record = self.record(kind, content);
        self.sends(&record).await;
    }

    pub async fn sends(&mut self, bytes: &[u8]) {
        // The client may have hung up.
        let _ = self.stream.write_all(bytes).await;
    }
}
