//! A person at a prompt, or one question from a script.

use std::io::{IsTerminal, Write as _};
use std::pin::pin;
use std::time::Duration;

use host_sim::caller::{ask, wait_for_controller, watch};
use host_sim::hub::Settings;
use host_sim::link::Spec;
use host_sim::network::{BrokerUrl, Network};
use host_sim::options::Llm;
use host_sim::options::sim::Options;
use host_sim::zwave::Home;
use hub_core::chat::prompts::PROMPTS;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::complete::Names;
use crate::input::{Input, Typed};
use crate::line;
use crate::wrap::for_terminal;

/// What is understood here, not by the hub; the last two only with a simulated controller.
const COMMANDS: [&str; 6] = ["help", "tools", "quit", "exit", "unplug", "plug"];

/// Prints a line on stdout. Whoever reads it may have left, as `head` does.
fn print(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// One question: the reply on stdout. Returns the exit status.
pub(crate) async fn once(network: Network, settings: &Settings, options: &Options, text: &str) -> i32 {
    // The question may be for the controller. One that is not there within this time is not waited for.
    let _ = wait_for_controller(network.clone(), settings, line::CONTROLLER_PATIENCE).await;
    match line::say(network, settings, options, text).await {
        Ok(reply) => {
            print(&reply);
            show_example(&reply);
            let succeeded =
                serde_json::from_str::<Value>(&reply).is_ok_and(|reply| reply["success"] != false);
            i32::from(!succeeded)
        }
        Err(error) => {
            eprintln!("sim: {error}");
            1
        }
    }
}

/// Talks with the person until they quit. Returns the exit status.
pub(crate) async fn talk(network: Network, settings: &Settings, options: &Options, home: &Home) -> i32 {
    let id = &settings.hub_id;
    let BrokerUrl { host, port, login, is_tls, .. } = &settings.broker;
    let login = login.as_ref().map(|(user, _)| format!(" -u {user} -P PASSWORD")).unwrap_or_default();
    let ca = if *is_tls { " --cafile FILE" } else { "" };
    let address = format!("-V 5 -h {host} -p {port}{ca}{login}");
    eprintln!(
        "Hearthwave {} in simulation\n\
         \n  hub         {id}\n  broker      {host}:{port}{}\n  controller  {}\n  model       {}\n\
         \nFrom another terminal, with mosquitto-clients:\n\
         \n  mosquitto_sub {address} -v -t 'hearthwave/{id}/#'\n  \
         mosquitto_pub {address} -t hearthwave/{id}/request/tool/call \\\n    \
         -m '{{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello\"}}}}'\n\
         \nHere: say something, such as \"turn on the kitchen light\", or type help, tools or quit.{}\n",
        env!("CARGO_PKG_VERSION"),
        match options {
            Options { broker: Some(_), .. } => "",
            Options { listen: None, .. } if *port != 1883 => " (in this process; port 1883 is taken)",
            _ => " (in this process)",
        },
        options.link,
        match &options.llm {
            Llm::Demo => "demo, a small grammar (--llm for a real one)".into(),
            Llm::None => "none".into(),
            Llm::Elsewhere => "that of a relay at this broker".into(),
            Llm::Model { service, model } => format!("{model} of {}", service.name()),
        },
        match options.link {
            Spec::Sim => "\nunplug and plug take the controller away and bring it back.",
            _ => "",
        },
    );
    let names = Names {
        commands: if options.link == Spec::Sim { &COMMANDS } else { &COMMANDS[..4] },
        network: network.clone(),
        settings: settings.clone(),
        runtime: Handle::current(),
    };
    let mut input = Input::open(names, options.state.as_deref());
    loop {
        let line = match input.line().await {
            Ok(Typed::Line(line)) => line,
            Ok(Typed::End { by_person: true }) => {
                eprintln!();
                return 0;
            }
            Ok(Typed::End { by_person: false }) => {
                log::info!("sim: no more input; the hub goes on until it is stopped");
                std::future::pending().await
            }
            Err(error) => {
                eprintln!("sim: the input cannot be read: {error}");
                return 1;
            }
        };
        let text = line.trim();
        match text.to_lowercase().as_str() {
            "" => {}
            "quit" | "exit" => return 0,
            "unplug" | "plug" if options.link != Spec::Sim => {
                eprintln!("Only a simulated controller can be unplugged; this one is {}.", options.link);
            }
            "unplug" => {
                home.faults().unplug();
                eprintln!(
                    "The controller is unplugged; plug brings it back. The hub notices when it next hears nothing from \
                     it."
                );
            }
            "plug" => {
                home.faults().plug();
                eprintln!("The controller is plugged in.");
            }
            "help" | "?" => eprintln!("{}", help(options)),
            "tools" => match line::names(network.clone(), settings).await {
                Ok(names) => print(&names.join("\n")),
                Err(error) => eprintln!("sim: {error}"),
            },
            _ => {
                let saying = line::say(network.clone(), settings, options, text);
                match with_progress(network.clone(), settings, &mut input, saying).await {
                    Ok(reply) => {
                        match std::io::stdout().is_terminal() {
                            true => print(&for_terminal(&words(&reply))),
                            false => print(&reply),
                        }
                        show_example(&reply);
                    }
                    Err(error) => eprintln!("sim: {error}"),
                }
            }
        }
    }
}

/// What to type instead, on stderr.
fn show_example(reply: &str) {
    if let Some(line) = line::example(reply) {
        eprintln!("  for example: {line}");
    }
}

/// Waits for an answer, and meanwhile shows on stderr what the hub does for it. If the hub asks for approval, the person
/// decides.
async fn with_progress<T>(
    network: Network,
    settings: &Settings,
    input: &mut Input,
    answer: impl Future<Output = T>,
) -> T {
    let (sender, mut approvals) = tokio::sync::mpsc::unbounded_channel();
    let showing = async {
        let see = |event: &[u8]| show_progress(event);
        let ask = |approval: &[u8]| drop(sender.send(approval.to_vec()));
        tokio::join!(
            watch(network.clone(), settings, "event/chat", see),
            watch(network.clone(), settings, "approval/+", ask),
        );
        // There is an answer all the same.
        std::future::pending::<()>().await
    };
    let answered = async {
        let mut answer = pin!(answer);
        loop {
            let approval = tokio::select! {
                biased;
                answer = &mut answer => return answer,
                Some(approval) = approvals.recv() => approval,
            };
            let Some((id, what)) = waiting(&approval) else { continue };
            eprintln!("  The model wants to {what}. Allow it? yes or no");
            // A line that is begun is typed to its end, whether the hub still waits for it or not.
            let (mut typed, mut early) = (pin!(input.line()), None);
            let typed = loop {
                tokio::select! {
                    typed = &mut typed => break typed,
                    answer = &mut answer, if early.is_none() => early = Some(answer),
                }
            };
            let allow = matches!(typed, Ok(Typed::Line(line)) if is_yes(&line));
            let decision = json!({ "id": id, "allow": allow }).to_string();
            let reply = ask(network.clone(), settings, "approve", decision.as_bytes(), DECIDING).await;
            let is_taken = reply.is_ok_and(|reply| words_of(&reply)["success"] == true);
            if !is_taken || early.is_some() {
                eprintln!("  That came too late.");
            }
            if let Some(answer) = early {
                return answer;
            }
        }
    };
    tokio::select! {
        biased;
        answer = answered => answer,
        () = showing => unreachable!("it never ends"),
    }
}

/// How long the hub may take to hear what a person decided.
const DECIDING: Duration = Duration::from_secs(5);

/// The number of an action that waits for approval in this conversation, and what it is.
fn waiting(approval: &[u8]) -> Option<(u64, String)> {
    let approval: Value = serde_json::from_slice(approval).ok()?;
    let is_ours = approval["state"] == "waiting" && approval["conversation"] == "default";
    is_ours.then(|| Some((approval["id"].as_u64()?, approval["what"].as_str()?.to_owned())))?
}

fn words_of(reply: &[u8]) -> Value {
    serde_json::from_slice(reply).unwrap_or_default()
}

fn is_yes(line: &str) -> bool {
    ["y", "yes", "allow", "ok"].contains(&line.trim().to_lowercase().as_str())
}

fn show_progress(event: &[u8]) {
    let event: Value = serde_json::from_slice(event).unwrap_or_default();
    // Others may talk to the hub, too.
    if event["conversation"] != "default" {
        return;
    }
    match (event["state"].as_str(), event["tool"].as_str()) {
        (Some("waiting"), _) => eprintln!("  ... waiting for the model"),
        (Some("calling"), Some(tool)) => eprintln!("  ... calling {tool}"),
        _ => {}
    }
}

/// A reply as a person wants to read it: what there is to say, or else all of it. Programs get the JSON.
fn words(reply: &str) -> String {
    let Ok(json) = serde_json::from_str::<Value>(reply) else { return reply.into() };
    let text = |name: &str| json[name].as_str();
    match (text("content").or(text("message")), text("error")) {
        (Some(message), Some(error)) if message.contains(error) => message.into(),
        (Some(message), Some(error)) => format!("{message} ({error})"),
        (None, Some(error)) => error.into(),
        (Some(message), None) => message.into(),
        (None, None) if !json["result"].is_null() => json["result"].to_string(),
        (None, None) => reply.into(),
    }
}

/// What can be typed.
fn help(options: &Options) -> String {
    let words = match options.llm {
        Llm::None => "there is no model (--llm none), so only tool calls are answered",
        _ => "said to the model: turn on the kitchen light, is the front door locked?",
    };
    let mut help = format!(
        "  words              {words}\n  \
           @NAME words        a prompt of the hub:{}\n  \
           NAME {{json}}        calls a tool, never the model: {}\n  \
           NAME               the same without arguments, if there is a tool of that name: datetime\n  \
           {{json}}             the same as a request: {}\n  \
           tools              the names of all tools\n",
        PROMPTS.iter().map(|prompt| format!(" @{}", prompt.name)).collect::<String>(),
        r#"echo {"text":"hello"}"#,
        r#"{"name":"echo","arguments":{"text":"hello"}}"#,
    );
    if options.link == Spec::Sim {
        help.push_str("  unplug, plug       takes the controller away, and brings it back\n");
    }
    help.push_str(
        "  help               this list\n  \
           quit, exit         ends it, as Ctrl-C and Ctrl-D do\n\
         At a terminal, arrow keys edit the line and bring former ones back, and Tab completes a name.",
    );
    help
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_person_reads_words() {
        for (reply, shown) in [
            (r#"{"content":"It is on.","service":"ollama","tool_calls":[]}"#, "It is on."),
            (r#"{"success":true,"result":{"on":true},"message":"It is on"}"#, "It is on"),
            (r#"{"success":true,"result":{"echo":{"a":1}}}"#, r#"{"echo":{"a":1}}"#),
            (r#"{"success":false,"error":"no relay","message":"Sorry."}"#, "Sorry. (no relay)"),
            (r#"{"success":false,"error":"Tool 'x' not found"}"#, "Tool 'x' not found"),
            (
                r#"{"success":false,"error":"missing 'a'","message":"missing 'a'. Required: a"}"#,
                "missing 'a'. Required: a",
            ),
            (r#"{"success":true}"#, r#"{"success":true}"#),
            ("no JSON", "no JSON"),
        ] {
            assert_eq!(words(reply), shown);
        }
    }
}
