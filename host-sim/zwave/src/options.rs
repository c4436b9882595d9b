//! The command line of `cargo zwave`.

use std::ffi::OsString;
use std::path::PathBuf;

use host_desktop::options::{Parsed, read, value};
use lexopt::prelude::*;

use crate::transport::Transport;
use crate::{Fault, FaultRate, Gateway, Home, Plans, js};

const HELP: &str = "\
A Z-Wave controller for the hub's serial line: an MCP server, one JSON-RPC message per line, in front
of a simulated home or a real network that a Z-Wave JS server runs.

Usage: cargo zwave [OPTIONS]

Where to serve (default: stdin and stdout):

  --serial PATH[@BAUD]  a serial port such as /dev/ttyUSB0 (115200 baud)
  --pty                 a new pseudo-terminal, whose path is printed: a serial port without a cable
  --tcp ADDR            every client that connects to this address, such as 127.0.0.1:4001

Home:

  --zwave-js URL        network of this Z-Wave JS server, such as ws://127.0.0.1:3000
                        (default: a simulated home)
  --scenes FILE         scenes and groups, as JSON; docs/zwave.md has an example

Simulated home only:

  --fast                run commands without delay (default: 50 to 300 ms, and 2 s for a dead node)
  --fault NAME[:RATE]   inject a fault with this probability per line (default: 1); repeatable:
                        silence, deafness, slowness, garbage, reset, half-line, wrong-id, duplicate,
                        long-line, unplugged, closed
  --seed N              seed of all random choices (default: 0)

  --help                print this text
  --version             print the version

The log goes to stderr; RUST_LOG=debug logs every call. To try it:

  cargo build && cargo sim --link exec:target/debug/zwave";

/// How to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What it is served on.
    pub transport: Transport,
    /// Nothing takes time.
    pub is_fast: bool,
    /// What goes wrong.
    pub faults: Vec<FaultRate>,
    /// Decides all chance.
    pub seed: u64,
    /// The Z-Wave JS server of a real network.
    pub server: Option<String>,
    /// The file of scenes and groups.
    pub scenes: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments of the program, its own name left out.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed<Self>, lexopt::Error> {
        let mut options = Self {
            transport: Transport::Stdio,
            is_fast: false,
            faults: Vec::new(),
            seed: 0,
            server: None,
            scenes: None,
        };
        let mut transports = Vec::new();
        let text = read(arguments, HELP, |name, parser| {
            match name {
                "serial" => transports.push(Transport::Serial(value(parser, name, str::parse)?)),
                "pty" => transports.push(Transport::Pty),
                "tcp" => transports.push(Transport::Tcp(value(parser, name, |text| {
                    text.parse()
                        .map_err(|_| format!("'{text}' is not an address with a port, like 127.0.0.1:4001"))
                })?)),
                "fast" => options.is_fast = true,
                "fault" => options.faults.push(value(parser, name, str::parse)?),
                "seed" => options.seed = parser.value()?.parse()?,
                "zwave-js" => options.server = Some(value(parser, name, server)?),
                "scenes" => options.scenes = Some(parser.value()?.into()),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        if let Some(text) = text {
            return Ok(Parsed::Print(text));
        }
        if transports.len() > 1 {
            return Err("--serial, --pty and --tcp exclude each other".into());
        }
        options.transport = transports.pop().unwrap_or(Transport::Stdio);
        if options.faults.iter().any(|rate| rate.fault == Fault::Closed && rate.rate >= 1.0) {
            return Err("--fault: a line that is always closed serves nobody; try closed:0.01".into());
        }
        if options.server.is_some() && (options.is_fast || options.seed != 0 || !options.faults.is_empty()) {
            return Err(
                "--fast, --fault and --seed are for the simulated home; leave them out with --zwave-js"
                    .into(),
            );
        }
        Ok(Parsed::Run(options))
    }

    /// The home that is asked for, with its faults. To be called inside a runtime; the error is for a person to read.
    pub fn gateway(&self) -> Result<Gateway, String> {
        let plans = self.scenes.as_deref().map(Plans::read).transpose()?.unwrap_or_default();
        if let Some(url) = &self.server {
            return Ok(js::connect(url, plans));
        }
        let home = if self.is_fast { Home::fast(self.seed) } else { Home::new(self.seed) };
        for FaultRate { fault, rate } in &self.faults {
            home.faults().set(*fault, *rate);
        }
        Ok(home.with_plans(plans).gateway().clone())
    }
}

/// Reads the address of a Z-Wave JS server.
fn server(text: &str) -> Result<String, String> {
    let wrong = || format!("'{text}' is not the address of a Z-Wave JS server, like ws://127.0.0.1:3000");
    if text.starts_with("wss://") {
        return Err(
            "a Z-Wave JS server speaks ws:// only; for another machine use a tunnel, such as ssh -L".into()
        );
    }
    let host = text.strip_prefix("ws://").ok_or_else(wrong)?;
    let is_host =
        |host: &str| !host.is_empty() && !host.starts_with([':', '/']) && !host.contains(char::is_whitespace);
    if is_host(host) { Ok(text.into()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultRate, HELP, Options, Parsed, Transport};

    fn parse(line: &str) -> Result<Parsed<Options>, String> {
        Options::parse(line.split_whitespace().map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn everything_at_once() {
        let Ok(Parsed::Run(options)) =
            parse("--tcp [::1]:0 --fast --seed 7 --fault garbage --fault reset:0.01")
        else {
            panic!("refused");
        };
        assert_eq!(options.transport, Transport::Tcp("[::1]:0".parse().expect("an address")));
        assert_eq!((options.is_fast, options.seed), (true, 7));
        let expected =
            [(Fault::Garbage, 1.0), (Fault::Reset, 0.01)].map(|(fault, rate)| FaultRate { fault, rate });
        assert_eq!(options.faults, expected);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, words) in [
            ("--fault fire", "there is no fault 'fire'; there are silence, "),
            ("--fault reset:2", "'2' is not a rate; it is a number from 0 to 1"),
            ("--fault closed", "serves nobody"),
            ("--tcp 4001", "'4001' is not an address with a port"),
            ("--pty --serial /dev/x", "exclude each other"),
            ("--serial /dev/x@y", "is not a baud rate"),
            ("--seed x", "x"),
            ("--zwave-js 127.0.0.1:3000", "is not the address of a Z-Wave JS server"),
            ("--zwave-js ws://", "is not the address of a Z-Wave JS server"),
            ("--zwave-js wss://house", "speaks ws:// only"),
            ("--zwave-js ws://house:3000 --fast", "are for the simulated home"),
            ("--loud", "--loud"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn the_help_names_every_fault() {
        for fault in Fault::ALL {
            assert!(HELP.contains(fault.name()), "{fault}");
        }
        assert_eq!(parse("--help"), Ok(Parsed::Print(HELP.into())));
    }
}
