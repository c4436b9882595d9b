//! `cargo relay` as a person or a service uses it: the program, its output, its exit status.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use host_broker::{Options, Server as Broker};
// Linked for the time driver of the MQTT client.
use host_desktop as _;
use support::client::{Client, Publish};
use support::server::{Act, Server};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// The key, which must appear only in a header.
const KEY: &str = "sk-very-secret-7";

const BODY: &str = r#"{ "model" : "best-1", "messages":[{"role":"user","content":"grüezi"}] }"#;

fn relay(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_relay"));
    command.args(arguments).stdin(Stdio::null());
    for variable in ["RUST_LOG", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HEARTHWAVE_BROKER_USER"] {
        command.env_remove(variable);
    }
    command
}

fn text(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn what_is_missing_is_said() {
    let (code, stdout, stderr) = text(&relay(&[]).output().expect("it runs"));
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(
        stderr.contains("set ANTHROPIC_API_KEY or OPENAI_API_KEY") && stderr.contains("--help"),
        "{stderr}"
    );
    let (code, stdout, _) = text(&relay(&["--help"]).output().expect("it runs"));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("--broker URL"));
}

#[tokio::test]
async fn over_real_sockets_from_start_to_end() {
    let broker = Broker::start(Options::default());
    let address = broker.listen(([127, 0, 0, 1], 0).into()).expect("a port");
    let server = Server::always(Act::ok("{\"ok\":true}"));
    let url = server.listen().await;
    let broker_url = format!("mqtt://127.0.0.1:{}", address.port());
    let process = relay(&["--broker", &broker_url, "--provider", "openai", "--url", &url])
        .env("OPENAI_API_KEY", KEY)
        .env("RUST_LOG", "trace")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let stream = TcpStream::connect(address).await.expect("a broker");
    let mut hub = Client::connect(stream, "attic", "attic", &["hearthwave/attic/llm/response"]).await;
    let question = Publish::new("hearthwave/attic/llm/request/openai", BODY);
    let question = question.reply_to("hearthwave/attic/llm/response").correlation(b"1");
    let answer = loop {
        // Until the relay is connected, the request has no receiver.
        hub.publish(question.clone());
        if let Some(answer) = hub.next(Duration::from_secs(1)).await {
            break answer;
        }
    };
    assert_eq!(answer.payload, b"{\"ok\":true}");
    assert!(server.seen()[0].head.contains(&format!("authorization: Bearer {KEY}\r\n")));
    let id = process.id().to_string();
    assert!(Command::new("kill").arg(&id).status().expect("kill runs").success());
    sleep(Duration::from_millis(100)).await;
    let output = tokio::task::spawn_blocking(|| process.wait_with_output()).await;
    let (code, stdout, stderr) = text(&output.expect("no panic").expect("its output"));
    assert_eq!((code, stdout.as_str()), (Some(0), ""), "{stderr}");
    assert!(stderr.contains("attic asked openai (best-1): 200 after"), "{stderr}");
    assert!(stderr.contains("relay: stopping") && !stderr.contains("could not finish"), "{stderr}");
    for secret in [KEY, "grüezi"] {
        assert!(!stderr.contains(secret), "{stderr}");
    }
}
