//! The hub's judgement on certificates, next to that of rustls with `ring` on the same ones.

use std::sync::Arc;
use std::time::Duration;

use hub_tls::{ALGORITHMS, Verifier};
use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use support::certificate::{Issued, KeyKind, authority};

use crate::NOW;

fn rustls_accepts(chain: &[CertificateDer<'static>], root: &CertificateDer<'static>, host: &str) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().expect("one");
    let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW as u64));
    let name = ServerName::try_from(host.to_owned()).expect("a name");
    verifier.verify_server_cert(&chain[0], &chain[1..], &name, &[], now).is_ok()
}

/// A number generator that repeats, so that a failure does, too.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.throw(chances) == 0
    }

    fn kind(&mut self) -> KeyKind {
        match self.throw(8) {
            0 => KeyKind::Rsa(2048),
            1 => KeyKind::Rsa(3072),
            _ => KeyKind::P256,
        }
    }

    /// Spoils it in some way, mostly in none.
    fn change(&mut self, params: &mut CertificateParams) {
        if self.one_in(8) {
            params.not_before = date_time_ymd(2025 + self.throw(3) as i32, 12, 31);
        }
        if self.one_in(8) {
            params.not_after = date_time_ymd(2025 + self.throw(3) as i32, 12, 31);
        }
        if self.one_in(8) {
            params.is_ca = match self.throw(4) {
                0 => IsCa::NoCa,
                1 => IsCa::ExplicitNoCa,
                2 => IsCa::Ca(BasicConstraints::Unconstrained),
                _ => IsCa::Ca(BasicConstraints::Constrained(self.throw(2) as u8)),
            };
        }
        if self.one_in(8) {
            params.extended_key_usages = match self.throw(3) {
                0 => vec![],
                1 => vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth],
                _ => vec![rcgen::ExtendedKeyUsagePurpose::Any, rcgen::ExtendedKeyUsagePurpose::ServerAuth],
            };
        }
        if self.one_in(8) {
            params.name_constraints = Some(rcgen::NameConstraints {
                permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("test".into())],
                excluded_subtrees: vec![],
            });
        }
        if self.one_in(6) {
            let names = ["*.test", "a.test", "localhost", "192.168.1.7", "*.a.test", "::1"];
            let name = names[self.throw(6) as usize].to_string();
            params.subject_alt_names = CertificateParams::new([name]).expect("a name").subject_alt_names;
        }
    }
}

/// Spoils the bytes of one certificate, mostly not.
fn damage(dice: &mut Dice, chain: &mut [CertificateDer<'static>]) {
    if dice.one_in(6) {
        let place = dice.throw(chain.len() as u64) as usize;
        let mut der = chain[place].to_vec();
        let at = dice.throw(der.len() as u64) as usize;
        der[at] ^= 1 << dice.throw(8);
        chain[place] = der.into();
    }
}

#[test]
fn the_hub_and_rustls_judge_alike() {
    let roots = [
        authority("a root", KeyKind::P256),
        authority("a root", KeyKind::P256),
        authority("another root", KeyKind::Rsa(2048)),
    ];
    let hosts = ["localhost", "broker.test", "a.test", "127.0.0.1", "192.168.1.7", "::1", "b.a.test"];
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..cases() {
        let mut dice = Dice(seed);
        let mut issuer: Option<Issued> = None;
        let root = &roots[dice.throw(3) as usize];
        for depth in 0..dice.throw(4) {
            let kind = dice.kind();
            let above = issuer.as_ref().unwrap_or(root);
            issuer = Some(above.issues_authority(&format!("CA {depth}"), kind, |params| dice.change(params)));
        }
        let kind = dice.kind();
        let leaf = issuer.as_ref().unwrap_or(root).issues(kind, |params| dice.change(params));
        let mut chain = leaf.chain;
        damage(&mut dice, &mut chain);
        // In another order, or with one left out.
        if chain.len() > 2 && dice.one_in(4) {
            chain.swap(1, 2);
        }
        if chain.len() > 1 && dice.one_in(10) {
            chain.pop();
        }
        let trusted = if dice.one_in(6) { &roots[dice.throw(3) as usize] } else { root };
        let host = hosts[dice.throw(7) as usize];

        let verifier = Verifier { host, trusted: trusted.der(), now: Some(NOW) };
        let ours = verifier.check(&chain, ALGORITHMS);
        let theirs = rustls_accepts(&chain, trusted.der(), host);
        assert_eq!(ours.is_ok(), theirs, "seed {seed}: {ours:?} of {host}");
        *if theirs { &mut accepted } else { &mut refused } += 1;
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted * 12 > refused && refused > accepted / 10, "{accepted} accepted, {refused} refused");
}

fn cases() -> u64 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

/// Whatever is sent as a certificate, the hub says something to it.
#[test]
fn damaged_certificates_are_refused_in_words() {
    let root = authority("a root", KeyKind::P256);
    let good = root.issues(KeyKind::P256, |_| {});
    let der = good.der().to_vec();
    for place in 0..der.len() {
        for bit in 0..8 {
            let mut damaged = der.clone();
            damaged[place] ^= 1 << bit;
            // Pinned, too: then its parts are read by the hub itself.
            for trusted in [root.der().to_vec(), damaged.clone()] {
                let verifier = Verifier { host: "localhost", trusted: &trusted, now: Some(NOW) };
                if let Err(error) = verifier.check(&[damaged.clone().into()], &[]) {
                    assert!(error.text().len() > 20);
                }
            }
        }
    }
    for length in 0..der.len() {
        let cut = &der[..length];
        let verifier = Verifier { host: "localhost", trusted: cut, now: Some(NOW) };
        assert!(verifier.check(&[cut.to_vec().into()], ALGORITHMS).is_err(), "{length} bytes");
    }
}
