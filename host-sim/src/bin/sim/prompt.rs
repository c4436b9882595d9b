//! A person at a prompt, or one question from a script.

use std::cell::RefCell;
use std::io::{IsTerminal, Write as _};
use std::pin::pin;
use std::time::{Duration, Instant};

use host_desktop::broker::BrokerUrl;
use host_sim::caller::{NoAnswer, ask, watch};
use host_sim::hub::Settings;
use host_sim::link::Spec;
use host_sim::network::Network;
use host_sim::options::Llm;
use host_sim::options::sim::Options;
use host_zwave::Home;
use hub_contract::{DEFAULT_CONVERSATION, ROOT};
use hub_core::chat::prompts::PROMPTS;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;

use crate::approval::{Answer, Approval, TOO_LATE};
use crate::complete::Names;
use crate::controller::Controller;
use crate::input::{Input, Typed, show_while_editing};
use crate::line;
use crate::wrap::for_terminal;

/// What the prompt itself understands. The last three need a simulated controller.
const COMMANDS: [&str; 9] = ["help", "tools", "devices", "status", "quit", "exit", "press", "unplug", "plug"];

/// A person needs longer to read a question. A "y" that comes sooner was typed before it.
const READING_TIME: Duration = Duration::from_millis(500);

/// How long the hub may take to cancel a turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Ctrl-C while the hub works on a line.
#[derive(Default)]
pub(crate) struct Interrupts(RefCell<Option<oneshot::Sender<()>>>);

impl Interrupts {
    /// Cancels what the hub is working on. False if there is nothing to cancel, or it is being cancelled already.
    pub(crate) fn cancel(&self) -> bool {
        self.0.take().is_some_and(|turn| turn.send(()).is_ok())
    }

    /// Completes when the turn that begins now is cancelled.
    fn begin(&self) -> oneshot::Receiver<()> {
        let (sender, cancelled) = oneshot::channel();
        self.0.replace(Some(sender));
        cancelled
    }
}

/// Prints a line on stdout. Whoever reads it may have left, as `head` does.
fn print(text: &str) {
    if !show_while_editing(&format!("{text}\n")) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}

/// Tells the person something, on stderr.
pub(crate) fn tell(text: &str) {
    if !show_while_editing(&format!("{text}\n")) {
        eprintln!("{text}");
    }
}

/// One question: the reply on stdout. Returns the exit status.
pub(crate) async fn once(
    network: Network,
    settings: &Settings,
    options: &Options,
    controller: &Controller,
    text: &str,
) -> i32 {
    match line::needs_controller(network.clone(), settings, options, text).await {
        Ok(true) => drop(controller.wait_while_running().await),
        Ok(false) => {}
        Err(error) => {
            eprintln!("sim: {error}");
            return 1;
        }
    }
    let reply = tokio::select! {
        biased;
        what = unapprovable(network.clone(), settings, options) => Ok(line::refusal(
            &format!(
                "Nobody can approve with --once: {what}. Run `cargo sim` and answer at its prompt, or use --broker and \
                 --hub-id, and another client to approve"
            ),
            "denied",
        )),
        reply = line::say(network.clone(), settings, options, controller, text) => reply,
    };
    match reply {
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

/// Waits until something needs approval that nobody can give, and returns what it is. Others can give it at a broker of
/// theirs, if they know the hub's name; the person is told then.
async fn unapprovable(network: Network, settings: &Settings, options: &Options) -> String {
    let can_others = options.broker.is_some() && !options.is_temporary;
    let (sender, mut approvals) = unbounded_channel();
    let watching = watch(network, settings, "approval/+", |approval| drop(sender.send(approval.to_vec())));
    let deciding = async {
        while let Some(approval) = approvals.recv().await {
            let Some(approval) = Approval::read(&approval).filter(Approval::is_waiting) else { continue };
            let seconds = approval.seconds_left();
            match approval {
                Approval { is_ours: false, is_direct: false, .. } => {}
                Approval { what, .. } if can_others => {
                    eprintln!("sim: another client must allow this within {seconds} s: {what}");
                }
                Approval { what, .. } => return what,
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        biased;
        what = deciding => what,
        _ = watching => std::future::pending().await,
    }
}

/// Talks with the person until they quit. Returns the exit status.
pub(crate) async fn talk(
    network: Network,
    settings: &Settings,
    options: &Options,
    controller: &Controller,
    home: &Home,
    interrupts: &Interrupts,
) -> i32 {
    let id = &settings.hub_id;
    let BrokerUrl { host, port, login, is_tls, .. } = &settings.broker;
    // The password belongs into a file: everybody on the machine can read a command line.
    let login = login.as_ref().map(|(user, _)| format!(" -u {user}")).unwrap_or_default();
    let ca = if *is_tls { " --cafile FILE" } else { "" };
    let address = format!("-V 5 -h {host} -p {port}{ca}{login}");
    eprintln!(
        "Hearthwave {} in simulation\n\
         \n  hub         {id}\n  broker      {host}:{port}{}\n  controller  {}\n  model       {}\n\
         \nFrom another terminal, with mosquitto-clients:\n\
         \n  mosquitto_sub {address} -v -t '{ROOT}{id}/#'\n  \
         mosquitto_pub {address} -t {ROOT}{id}/request/tool/call \\\n    \
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
            Spec::Sim => "\nunplug and plug disconnect and reconnect the controller.",
            _ => "",
        },
    );
    let names = Names {
        commands: if options.link == Spec::Sim { &COMMANDS } else { &COMMANDS[..6] },
        network: network.clone(),
        settings: settings.clone(),
        runtime: Handle::current(),
    };
    let mut input = Input::open(names, options.state.as_deref());
    let (mut is_over, mut is_interrupted) = (false, false);
    loop {
        let line = match input.line().await {
            Ok(Typed::Line(line)) => line,
            Ok(Typed::Interrupted) if is_interrupted => return 0,
            Ok(Typed::Interrupted) => {
                is_interrupted = true;
                eprintln!("To quit, press Ctrl-C again or type quit.");
                continue;
            }
            Ok(Typed::End { by_person: true }) => {
                eprintln!();
                return 0;
            }
            Ok(Typed::End { by_person: false }) => {
                log::info!("sim: end of input; the hub keeps running");
                std::future::pending().await
            }
            Err(error) => {
                eprintln!("sim: cannot read the input: {error}");
                return 1;
            }
        };
        is_interrupted = false;
        let text = line.trim();
        if std::mem::take(&mut is_over) && Answer::read(text).is_some() {
            tell(TOO_LATE);
            continue;
        }
        input.record(line.trim_end());
        let command = text.to_lowercase();
        match command.as_str() {
            "" => {}
            "quit" | "exit" => return 0,
            "devices" => match devices(network.clone(), settings).await {
                Ok(lines) => print(&lines.join("\n")),
                Err(error) => eprintln!("sim: {error}"),
            },
            press if press == "press" || press.starts_with("press ") && options.link == Spec::Sim => {
                let spoken = press.trim_start_matches("press").trim();
                let device = home.devices().into_iter().find(|device| device.name.to_lowercase() == spoken);
                match device.and_then(|device| home.press(device.name)) {
                    Some(device) => eprintln!("{} is now {}.", device.name, device.state),
                    None => {
                        eprintln!("Press what? For example: press hall light. To list all names: devices")
                    }
                }
            }
            "unplug" | "plug" if options.link != Spec::Sim => {
                eprintln!("Only a simulated controller can be unplugged; this one is {}.", options.link);
            }
            "unplug" => {
                home.faults().unplug();
                eprintln!(
                    "The controller is unplugged; plug reconnects it. The hub will notice at its next call or ping."
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
                let text = if command == "status" { "home_status" } else { text };
                let saying = line::say(network.clone(), settings, options, controller, text);
                let cancelled = interrupts.begin();
                let answered = with_progress(network.clone(), settings, &mut input, saying, cancelled).await;
                interrupts.0.take();
                is_over = answered.is_over;
                match answered.reply {
                    Ok(reply) => {
                        match std::io::stdout().is_terminal() {
                            true => print(&for_terminal(&words(&reply))),
                            false => print(&reply),
                        }
                        show_example(&reply);
                    }
                    Err(error) => tell(&format!("sim: {error}")),
                }
            }
        }
    }
}

/// What to type instead, on stderr.
fn show_example(reply: &str) {
    if let Some(line) = line::example(reply) {
        tell(&format!("  for example: {line}"));
    }
}

/// What came of a question.
struct Answered<T> {
    reply: T,
    /// Whether an approval has ended without an answer from here, so that the next line may be one that comes too late.
    is_over: bool,
}

/// Waits for a reply, and meanwhile shows on stderr what the hub does for it. If the hub asks for approval, the person
/// decides.
async fn with_progress<T>(
    network: Network,
    settings: &Settings,
    input: &mut Input,
    reply: impl Future<Output = T>,
    cancelled: oneshot::Receiver<()>,
) -> Answered<T> {
    let (sender, approvals) = unbounded_channel();
    let showing = async {
        let see = |event: &[u8]| show_progress(event);
        let ask = |approval: &[u8]| drop(sender.send(approval.to_vec()));
        tokio::join!(
            watch(network.clone(), settings, "event/chat", see),
            watch(network.clone(), settings, "approval/+", ask),
        );
        // There is a reply all the same.
        std::future::pending::<()>().await
    };
    let cancelling = async {
        if cancelled.await.is_ok() {
            let request = json!({ "conversation": "default" }).to_string();
            let reply = ask(network.clone(), settings, "cancel", request.as_bytes(), PATIENCE).await;
            let reply = reply.map(|reply| serde_json::from_slice::<Value>(&reply).unwrap_or_default());
            // The reply to what was cancelled says so itself.
            if reply.is_ok_and(|reply| reply["cancelled"] != true) {
                tell("  This cannot be cancelled. To quit, press Ctrl-C again.");
            }
        }
        std::future::pending::<()>().await
    };
    tokio::select! {
        biased;
        answered = with_approvals(network.clone(), settings, input, approvals, reply) => answered,
        () = showing => unreachable!("it never ends"),
        () = cancelling => unreachable!("it never ends"),
    }
}

/// Waits for a reply, and meanwhile has the person decide about approvals. A line that is begun when the approval ends stays
/// in `input`.
async fn with_approvals<T>(
    network: Network,
    settings: &Settings,
    input: &mut Input,
    mut approvals: UnboundedReceiver<Vec<u8>>,
    reply: impl Future<Output = T>,
) -> Answered<T> {
    let mut reply = pin!(reply);
    let mut pending: Option<Approval> = None;
    // Whether a PIN was given for it, which the hub has judged.
    let mut has_pin = false;
    let (mut is_over, mut can_read) = (false, true);
    // When the question was shown, and whether a line had been begun by then.
    let (mut asked_at, mut is_begun) = (Instant::now(), false);
    loop {
        tokio::select! {
            biased;
            Some(payload) = approvals.recv() => {
                let Some(approval) = Approval::read(&payload) else { continue };
                match &pending {
                    None if approval.is_waiting() && (approval.is_ours || approval.is_direct) => {
                        is_begun = input.discard_typed_ahead();
                        asked_at = Instant::now();
                        tell(&format!("  {}", approval.question()));
                        (pending, has_pin, is_over) = (Some(approval), false, false);
                    }
                    Some(known) if known.id == approval.id && !approval.is_waiting() => {
                        is_over = !(has_pin && approval.state == "allowed");
                        if is_over {
                            tell(&format!("  {}", known.ending(&approval.state)));
                        }
                        pending = None;
                    }
                    _ => {}
                }
            }
            reply = &mut reply => {
                if let Some(approval) = pending.filter(|approval| approval.seconds_left() == 0) {
                    tell(&format!("  {}", approval.ending("expired")));
                    is_over = true;
                }
                return Answered { reply, is_over };
            }
            typed = input.line(), if can_read && pending.is_some() => {
                let Some(approval) = &pending else { continue };
                let line = match typed {
                    Ok(Typed::Line(line)) => line,
                    Ok(Typed::Interrupted | Typed::End { by_person: true }) => "no".to_owned(),
                    Ok(Typed::End { by_person: false }) | Err(_) => {
                        tell("  No more input; another client can still allow it.");
                        can_read = false;
                        continue;
                    }
                };
                // Where a person types, Enter alone is the default.
                let is_default = input.is_terminal() && line.trim().is_empty();
                let is_too_soon = input.is_terminal() && (is_begun || asked_at.elapsed() < READING_TIME);
                is_begun = false;
                match Answer::to(approval, &line).or(is_default.then_some(Answer::No)) {
                    Some(Answer::Yes) if is_too_soon => {
                        tell("  That was typed before the question. Please answer it now.");
                        tell(&format!("  {}", approval.question()));
                    }
                    Some(answer) => {
                        if let Some(words) = answer.give(approval, &line, network.clone(), settings).await {
                            tell(&format!("  {words}"));
                        }
                        match answer {
                            Answer::Pin => has_pin = true,
                            Answer::Yes | Answer::No => pending = None,
                        }
                    }
                    None if input.is_terminal() => {
                        let or_pin = if approval.is_direct { "" } else { ", or type the PIN" };
                        tell(&format!("  Please answer y or n{or_pin}."));
                        tell(&format!("  {}", approval.question()));
                    }
                    None if line.trim().is_empty() => {}
                    None => {
                        tell("  The next line is no answer; it waits until this is decided.");
                        input.put_back(line);
                        can_read = false;
                    }
                }
            }
        }
    }
}

fn show_progress(event: &[u8]) {
    let event: Value = serde_json::from_slice(event).unwrap_or_default();
    // Others may talk to the hub, too.
    if event["conversation"] != DEFAULT_CONVERSATION {
        return;
    }
    match (event["state"].as_str(), event["tool"].as_str()) {
        (Some("waiting"), _) => tell("  ... waiting for the model"),
        (Some("calling"), Some(tool)) => tell(&format!("  ... calling {tool}")),
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

/// The devices that the hub knows, one per line.
async fn devices(network: Network, settings: &Settings) -> Result<Vec<String>, NoAnswer> {
    let mut lines = Vec::new();
    let mut request = json!({});
    loop {
        let reply =
            ask(network.clone(), settings, "device/list", request.to_string().as_bytes(), PATIENCE).await?;
        let reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
        lines.extend(reply["devices"].as_array().into_iter().flatten().map(device_line));
        if !reply["next"].is_string() {
            return Ok(lines);
        }
        request = json!({ "after": reply["next"] });
    }
}

/// A device in a list: `Hall Light (Hall): on, level 60`.
fn device_line(device: &Value) -> String {
    let state = device["state"].as_object().into_iter().flatten().map(|(name, value)| match value {
        Value::Bool(true) => name.clone(),
        Value::Bool(false) => format!("not {name}"),
        Value::String(text) => format!("{name} {text}"),
        value => format!("{name} {value}"),
    });
    let state = if device["available"] == false {
        "not answering".into()
    } else {
        state.collect::<Vec<_>>().join(", ")
    };
    let room = device["room"]
        .as_str()
        .filter(|room| !room.is_empty())
        .map(|room| format!(" ({room})"))
        .unwrap_or_default();
    // The controller's names may have control characters, which a terminal would obey.
    let line = format!("{}{room}: {state}", device["name"].as_str().unwrap_or_default());
    line.replace(char::is_control, " ")
}

/// What a person can type.
fn help(options: &Options) -> String {
    let mut help = match options.llm {
        Llm::None => {
            "There is no language model (--llm none): only commands and tool calls are answered.\n".to_owned()
        }
        _ => "Talk to the hub:\n\n  \
                is the front door locked?\n  \
                turn on the kitchen light and set the hall light to 60 percent\n  \
                unlock the front door\n\n"
            .to_owned(),
    };
    help.push_str(&format!(
        "Commands:\n\n  \
           devices            list all devices\n  \
           status             what is open, unlocked or on\n  \
           undo               take back the last change\n  \
           tools              list the names of all tools\n  \
           NAME               call a tool without arguments: datetime\n  \
           NAME {{json}}        call a tool: {}\n  \
           {{json}}             send the raw request: {}\n  \
           @NAME words        run a prompt of the hub:{}\n",
        r#"echo {"text":"hello"}"#,
        r#"{"name":"echo","arguments":{}}"#,
        PROMPTS.iter().map(|prompt| format!(" @{}", prompt.name)).collect::<String>(),
    ));
    if options.link == Spec::Sim {
        help.push_str(
            "  press NAME         press the wall switch of a simulated device: press hall light\n  \
               unplug, plug       disconnect and reconnect the controller\n",
        );
    }
    help.push_str(
        "  help               print this list\n  \
           quit, exit         quit (also Ctrl-D, or Ctrl-C twice)\n\
         \nCtrl-C discards the line, or cancels what the hub is working on. To an approval, answer y or n, or type\n\
         the PIN. Arrow keys edit the line and recall earlier ones; Tab completes a name.",
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
