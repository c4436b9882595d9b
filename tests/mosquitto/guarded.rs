//! A mosquitto with the certificates, logins and rules that `docs/broker/make.sh` makes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use host_desktop::broker::{BrokerUrl, Ca};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use support::client::Client;
use support::mosquitto::Mosquitto;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Somebody who may do everything at the broker, for the test to see what arrives.
pub const WITNESS: &str = "witness";

/// The users of the page, and their roles.
const NAMES: &str = "--hub kitchen den --satellite porch attic --relay relay --home-assistant ha --admin me";

/// A mosquitto as the script sets it up.
pub struct Guarded {
    pub mosquitto: Mosquitto,
}

impl Guarded {
    /// With the users of the page, and a witness.
    pub fn start() -> Self {
        let mosquitto = Mosquitto::start_made(|folder, port| {
            let made = folder.join("made");
            let place = format!("--host localhost 127.0.0.1 --port {port} --bind 127.0.0.1");
            for arguments in [&place, NAMES, &format!("--admin {WITNESS}")] {
                let (is_made, said) = make(&made, arguments);
                assert!(is_made, "{arguments}: {said}");
            }
            let rules = made.join("rules");
            let witness = format!("user {WITNESS}\ntopic readwrite #\n");
            let text = fs::read_to_string(&rules).expect("rules") + &witness;
            fs::write(&rules, text).expect("rules");
            fs::read_to_string(made.join("hearthwave.conf")).expect("a configuration")
        });
        Self { mosquitto }
    }

    /// What the script made.
    pub fn made(&self) -> std::path::PathBuf {
        self.mosquitto.folder().join("made")
    }

    /// A user's password.
    pub fn password(&self, user: &str) -> String {
        let logins = fs::read_to_string(self.made().join("logins")).expect("logins");
        let find = |line: &str| {
            let words: Vec<_> = line.split(' ').collect();
            (words[1] == user).then(|| words[2].to_owned())
        };
        logins.lines().find_map(find).unwrap_or_else(|| panic!("{user} has no login"))
    }

    /// What a hub or a relay needs to know to get in as `user`.
    pub fn url(&self, user: &str) -> BrokerUrl {
        let mut url = BrokerUrl::parse(&format!("mqtts://localhost:{}", self.mosquitto.port)).expect("a URL");
        url.trust(Some(Ca::read(&self.made().join("ca.crt")).expect("a certificate"))).expect("TLS");
        url.login = Some((user.into(), self.password(user)));
        url
    }

    /// A client with a user's login, with subscriptions to `filters`, and to its own replies of `hub`.
    pub async fn client(&self, user: &str, hub: &str, filters: &[&str]) -> Client {
        let replies = format!("hearthwave/{hub}/reply/{user}/#");
        let filters: Vec<_> = filters.iter().copied().chain([replies.as_str()]).collect();
        Client::log_in(self.stream().await, hub, (user, &self.password(user)), &filters).await
    }

    /// A connection to it that is encrypted, and nothing more yet.
    pub async fn stream(&self) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.made().join("ca.crt")).expect("a certificate");
        roots.add(ca).expect("a CA");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(("127.0.0.1", self.mosquitto.port)).await.expect("a broker");
        stream.set_nodelay(true).expect("a socket");
        let name = ServerName::try_from("localhost").expect("a name");
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .expect("the broker's certificate is good")
    }
}

/// Runs the script. Returns whether it succeeded, and what it said.
pub fn make(folder: &Path, arguments: &str) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/broker/make.sh");
    let output = Command::new(script).arg(folder).args(arguments.split_whitespace()).output();
    let output = output.expect("bash is installed");
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success(), text)
}
