//! Names the far end of the line, as people write it.

use std::fmt;
use std::str::FromStr;

use host_desktop::tty::SerialPort;

/// What is at the far end of the hub's serial line, written `sim`, `exec:COMMAND`, `tcp:HOST:PORT` or
/// `serial:PATH[@BAUD]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// The simulated controller, in this process.
    Sim,
    /// The stdin and stdout of this command, which a shell runs.
    Exec(String),
    /// A TCP connection.
    Tcp {
        /// Its name or address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// A real serial port.
    Serial(SerialPort),
}

impl Spec {
    /// What to check when there is no answer. For a serial port it begins with whether it can be opened now.
    pub fn hint(&self) -> String {
        match self {
            Self::Sim => "type 'plug' if the simulated controller is unplugged".into(),
            Self::Exec(_) => "that the command starts by itself, and speaks MCP on stdin and stdout".into(),
            Self::Tcp { .. } => {
                "that the address and the port are right, and that somebody speaks MCP there".into()
            }
            Self::Serial(port) => match port.obstacle() {
                Some(obstacle) => format!("the port first: {obstacle}"),
                None => format!(
                    "the controller's power, RX and TX (crossed?), the ground wire, {} baud at both ends",
                    port.baud
                ),
            },
        }
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "sim" if text == "sim" => Ok(Self::Sim),
            "exec" if rest.trim().is_empty() => {
                Err("the command is missing; write it like exec:'cargo zwave'".into())
            }
            "exec" => Ok(Self::Exec(rest.into())),
            "tcp" => tcp(rest),
            "serial" => rest.parse().map(Self::Serial),
            _ => Err(format!(
                "'{text}' is no link; it is sim, exec:COMMAND, tcp:HOST:PORT or serial:PATH[@BAUD]"
            )),
        }
    }
}

fn tcp(text: &str) -> Result<Spec, String> {
    let wrong = |what: &str| format!("{what} in 'tcp:{text}'; write it like tcp:192.168.1.20:4001");
    let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("the port is missing"))?;
    let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| wrong("the port is not a number"))?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match bare {
        None if host.is_empty() => Err(wrong("the host is missing")),
        None if host.contains(':') => {
            Err(format!("an address like {host} needs brackets: tcp:[ADDRESS]:{port}"))
        }
        _ => Ok(Spec::Tcp { host: bare.unwrap_or(host).into(), port }),
    }
}

/// For people.
impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sim => f.write_str("simulated"),
            Self::Exec(command) => write!(f, "'{command}'"),
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Serial(port) => port.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SerialPort, Spec};

    #[test]
    fn every_kind_is_read_and_shown() {
        let tcp = |host: &str| Spec::Tcp { host: host.into(), port: 80 };
        for (text, spec, shown) in [
            ("sim", Spec::Sim, "simulated"),
            ("exec:a | b:c", Spec::Exec("a | b:c".into()), "'a | b:c'"),
            ("tcp:zwave.local:80", tcp("zwave.local"), "zwave.local:80"),
            ("tcp:[::1]:80", tcp("::1"), "[::1]:80"),
            (
                "serial:/dev/ttyUSB0@9600",
                Spec::Serial(SerialPort { path: "/dev/ttyUSB0".into(), baud: 9600 }),
                "/dev/ttyUSB0 at 9600 baud",
            ),
        ] {
            assert_eq!(text.parse(), Ok(spec.clone()));
            assert_eq!(spec.to_string(), shown);
        }
    }

    #[test]
    fn a_port_that_cannot_be_opened_is_no_matter_of_wires() {
        let hint = |port: &str| format!("serial:{port}").parse::<Spec>().expect(port).hint();
        let missing = hint("/dev/no-such-port");
        assert!(
            missing.starts_with("the port first: cannot open /dev/no-such-port at 115200 baud: No such file"),
            "{missing}"
        );
        assert!(hint("/dev/null@9600").ends_with("the ground wire, 9600 baud at both ends"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("", "'' is no link; it is sim, exec:COMMAND, tcp:HOST:PORT or serial:PATH[@BAUD]"),
            ("sim:x", "is no link"),
            ("/dev/ttyUSB0", "is no link"),
            ("exec: ", "the command is missing"),
            ("tcp:localhost", "the port is missing in 'tcp:localhost'"),
            ("tcp:localhost:http", "the port is not a number"),
            ("tcp:localhost:0", "the port is not a number"),
            ("tcp::80", "the host is missing"),
            ("tcp:::1:80", "needs brackets"),
            ("serial:", "the path of the serial port is missing"),
            ("serial:/dev/x@y", "'y' is not a baud rate"),
        ] {
            let error = text.parse::<Spec>().expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
