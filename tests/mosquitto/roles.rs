//! Who may do what at the broker that `docs/broker/make.sh` sets up: each cell of the page's table, tried.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use minimq::{
    Buffers, ConfigBuilder, Connection, Error, PeerError, Publication, QoS, ReasonCode, Session,
    SubscriptionOptions, TopicFilter, Will,
};
use support::Folder;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use world::in_real_time;

use crate::guarded::{Guarded, WITNESS, make};

type Io = FromTokio<TlsStream<TcpStream>>;

/// Everybody may know when the test is at its end.
const LAST: &str = "end";

const PATIENCE: Duration = Duration::from_secs(30);

/// The table of the page: its columns but the first, and each topic with the rights of each.
fn table() -> (Vec<String>, Vec<(String, Vec<String>)>) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/broker/README.md");
    let page = fs::read_to_string(page).expect("the page");
    let cells = |line: &str| -> Option<Vec<String>> {
        let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
        Some(inner.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect())
    };
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| topic |"));
    let users = cells(lines.next().expect("the table")).expect("its header")[1..].to_vec();
    let rows = lines.skip(1).map_while(cells).map(|row| (row[0].clone(), row[1..].to_vec())).collect();
    (users, rows)
}

/// What `user` does at the broker.
async fn as_user<T>(
    broker: &Guarded,
    user: &str,
    will: Option<&str>,
    act: impl AsyncFnOnce(&mut Connection<'_, '_, Io>) -> T,
) -> T {
    let (mut receive, mut send) = (vec![0; 65536], vec![0; 65536]);
    let password = broker.password(user);
    let mut config = ConfigBuilder::new(Buffers::new(&mut receive, &mut send))
        .client_id(&support::unique(user))
        .and_then(|config| config.auth(user, password.as_bytes()))
        .expect("a login");
    if let Some(topic) = will {
        config = config.will(Will::new(topic, user.as_bytes(), &[]).expect("a will")).expect("a will");
    }
    let mut session = Session::new(config);
    let io = FromTokio::new(broker.stream().await);
    let mut connection = session.connect(io).await.expect("the broker lets the user in");
    act(&mut connection).await
}

/// Subscribes, and collects the topics of all messages until the last one.
async fn hears(
    connection: &mut Connection<'_, '_, Io>,
    filters: &[&str],
    ready: impl FnOnce(),
) -> BTreeSet<String> {
    let options = SubscriptionOptions::default().maximum_qos(QoS::AtLeastOnce);
    let filters: Vec<_> = filters.iter().map(|filter| TopicFilter::new(filter).options(options)).collect();
    for filters in filters.chunks(4) {
        let subscribed = connection.subscribe(filters, &[]).await.expect("asked");
        while connection.is_pending(&subscribed) {
            match connection.poll().await {
                Ok(_) | Err(Error::Peer(PeerError::Rejected(ReasonCode::NotAuthorized))) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    ready();
    let mut heard = BTreeSet::new();
    loop {
        let message =
            timeout(PATIENCE, connection.recv()).await.expect("the last message").expect("a message");
        if message.topic() == LAST {
            return heard;
        }
        heard.insert(message.topic().to_owned());
    }
}

/// Publishes, and returns whether the broker took it.
async fn publishes(connection: &mut Connection<'_, '_, Io>, topic: &str, payload: &str) -> bool {
    let message = Publication::bytes(topic, payload.as_bytes()).qos(QoS::AtLeastOnce);
    let op = connection.publish(message).await.expect("sent").expect("to be acknowledged");
    while connection.is_pending(&op) {
        match connection.poll().await {
            Ok(_) => {}
            Err(Error::Peer(PeerError::Rejected(ReasonCode::NotAuthorized))) => return false,
            Err(error) => panic!("{error}"),
        }
    }
    true
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn every_cell_of_the_table_of_rights_is_as_the_page_says() {
    let (users, rows) = table();
    assert!(rows.len() > 40 && users.len() == 7, "the table is not read: {users:?}");
    let broker = Guarded::start();
    // The end is heard by all.
    let rules = broker.made().join("rules");
    let mut text = fs::read_to_string(&rules).expect("rules");
    for user in &users {
        text += &format!("\nuser {user}\ntopic read {LAST}\n");
    }
    fs::write(&rules, text).expect("rules");
    let mut broker = broker;
    broker.mosquitto.restart();
    let all: Vec<_> = rows.iter().map(|(topic, _)| topic.as_str()).collect();
    let allowed = |column: usize, right: char| -> BTreeSet<String> {
        rows.iter().filter(|row| row.1[column].contains(right)).map(|row| row.0.clone()).collect()
    };
    in_real_time(async {
        for (column, user) in users.iter().enumerate() {
            // What is written to each topic reaches those who may read it, by the topic's name and by a wildcard.
            for filters in [all.clone(), vec!["#"]] {
                let filters: Vec<_> = filters.into_iter().chain([LAST]).collect();
                let (ready, is_ready) = tokio::sync::oneshot::channel();
                let heard = as_user(&broker, user, None, async |reader| {
                    hears(reader, &filters, || ready.send(()).expect("a writer")).await
                });
                let written = as_user(&broker, WITNESS, None, async |writer| {
                    is_ready.await.expect("a reader");
                    for topic in all.iter().chain([&LAST]) {
                        assert!(publishes(writer, topic, "x").await, "the witness may write to {topic}");
                    }
                });
                let (heard, ()) = tokio::join!(heard, written);
                assert_eq!(heard, allowed(column, 'r'), "what {user} reads of {filters:?}");
            }
            // What it may not write is refused, and reaches nobody.
            let (ready, is_ready) = tokio::sync::oneshot::channel();
            let heard = as_user(&broker, WITNESS, None, async |reader| {
                hears(reader, &["#"], || ready.send(()).expect("a writer")).await
            });
            let taken = as_user(&broker, user, None, async |writer| {
                is_ready.await.expect("a reader");
                let mut taken = BTreeSet::new();
                for topic in &all {
                    if publishes(writer, topic, user).await {
                        taken.insert((*topic).to_owned());
                    }
                }
                taken
            });
            let taken = async {
                let taken = taken.await;
                as_user(&broker, WITNESS, None, async |witness| publishes(witness, LAST, "x").await).await;
                taken
            };
            let (heard, taken) = tokio::join!(heard, taken);
            assert_eq!(taken, allowed(column, 'w'), "what the broker takes of {user}");
            assert_eq!(heard, taken, "what arrives of {user}");
        }
    });
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn a_will_and_a_shared_subscription_are_no_way_round_the_rules() {
    let broker = Guarded::start();
    in_real_time(async {
        let mut witness = broker.client(WITNESS, "kitchen", &["hearthwave/#"]).await;
        // The den leaves a will for the kitchen, and one of its own, and is cut off.
        for topic in ["hearthwave/kitchen/availability", "hearthwave/den/availability"] {
            as_user(&broker, "den", Some(topic), async |_| ()).await;
        }
        let will = witness.next(PATIENCE).await.expect("a will");
        assert_eq!(will.topic, "hearthwave/den/availability");
        // A satellite that joins the group it can guess gets nothing, and takes nothing from the relay, whose group has the
        // name that the script made.
        let filters = ["$share/relay/hearthwave/+/llm/request/+", "hearthwave/den/speech"];
        let mut porch = broker.client("porch", "den", &filters).await;
        let group = fs::read_to_string(broker.made().join("relay.group")).expect("a group");
        let shared = format!("$share/{}/hearthwave/+/llm/request/+", group.trim());
        let mut relay = broker.client("relay", "den", &[&shared]).await;
        for _ in 0..4 {
            witness.publish(support::client::Publish::new("hearthwave/den/llm/request/openai", "{}"));
        }
        witness.publish(support::client::Publish::new("hearthwave/den/speech", "{}"));
        assert_eq!(porch.next(PATIENCE).await.expect("a message").topic, "hearthwave/den/speech");
        for _ in 0..4 {
            let question = relay.next(PATIENCE).await.expect("a question");
            assert_eq!(question.topic, "hearthwave/den/llm/request/openai");
        }
    });
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn nobody_comes_in_without_a_login_and_tls() {
    let broker = Guarded::start();
    let port = broker.mosquitto.port.to_string();
    let ca = broker.made().join("ca.crt");
    let comes_in = |with: &[&str]| {
        let mut program = std::process::Command::new("mosquitto_pub");
        program.args(["-V", "5", "-h", "localhost", "-p", &port, "-q", "1", "-t", "hearthwave/x", "-m", "x"]);
        program.args(with).output().expect("mosquitto_pub is installed").status.success()
    };
    let (ca, password) = (ca.to_str().expect("a path"), broker.password("me"));
    let login = ["-u", "me", "-P", &password];
    assert!(comes_in(&[&["--cafile", ca], &login[..]].concat()));
    assert!(!comes_in(&["--cafile", ca]), "without a login");
    assert!(!comes_in(&["--cafile", ca, "-u", "me", "-P", "guess"]), "with a wrong password");
    assert!(!comes_in(&["--cafile", ca, "-u", "porch", "-P", &password]), "with another's password");
    assert!(!comes_in(&login), "without TLS");
}

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn the_script_adds_names_and_keeps_what_there_is() {
    let folder = Folder::new("hearthwave-made");
    let read = |name: &str| fs::read_to_string(folder.0.join(name)).expect("a file");
    let files = ["ca.crt", "ca.key", "broker.crt", "logins", "passwords"];
    let (is_made, said) = make(&folder.0, "--host broker.lan --hub kitchen --satellite porch");
    assert!(is_made, "{said}");
    assert!(said.contains("set broker.url mqtts://broker.lan\n"), "{said}");
    let before = files.map(read);

    // The same again changes nothing, and says no password again.
    let (is_made, said) = make(&folder.0, "--hub kitchen --satellite porch");
    assert!(is_made, "{said}");
    assert_eq!(files.map(read), before);
    assert!(!said.contains("password "), "{said}");

    // Another name is added after what there is.
    assert!(make(&folder.0, "--satellite attic").0);
    for name in ["logins", "passwords"] {
        let (now, then) = (read(name), &before[if name == "logins" { 3 } else { 4 }]);
        assert!(now.starts_with(then.as_str()) && now.contains("attic"), "{name}: {now}");
    }
    // Another name for the broker changes its certificate, and not the CA's.
    assert!(make(&folder.0, "--host 10.0.0.7").0);
    assert_eq!([read("ca.crt"), read("ca.key")], before[..2]);
    assert_ne!(read("broker.crt"), before[2]);
    // Whoever is taken away has neither a password nor a rule.
    assert!(make(&folder.0, "--remove attic").0);
    assert_eq!([read("logins"), read("passwords")], before[3..]);
    assert!(!read("rules").contains("attic"));

    // A relay that is taken away does not know the name of the others' group any more.
    assert!(make(&folder.0, "--relay first second").0);
    let group = read("relay.group");
    assert!(make(&folder.0, "--relay third").0);
    assert_eq!(read("relay.group"), group);
    let (is_made, said) = make(&folder.0, "--remove third");
    assert!(is_made && said.contains("The relays have a new group"), "{said}");
    assert_ne!(read("relay.group"), group);
    assert!(make(&folder.0, "--remove first second").0);

    for (arguments, words) in [
        ("--hub porch", "porch is a satellite already"),
        ("--hub relay", "no hub can be called so"),
        ("--satellite a/b", "a name has 1 to 32"),
        ("--satellite #", "a name has 1 to 32"),
        ("--host a,DNS:b", "without a port"),
        ("--remove nobody", "there is no such login"),
        ("--hub", "needs a name"),
        ("--hubs kitchen", "there is no option --hubs"),
    ] {
        let (is_made, said) = make(&folder.0, arguments);
        assert!(!is_made && said.contains(words), "{arguments}: {said}");
    }
    assert_eq!(files.map(read)[3..], before[3..]);
    for name in ["ca.key", "logins", "relay.group", "broker.key", "passwords"] {
        let mode = fs::metadata(folder.0.join(name)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o007, 0, "{name} can be read by everybody");
    }
}
