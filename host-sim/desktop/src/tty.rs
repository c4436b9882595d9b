//! Serial ports and pseudo terminals.
//!
//! On `rustix` rather than `tokio-serial`: both kinds are one terminal here, and opening either takes a few lines.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll, ready};

use hub_contract::DEFAULT_BAUD;
use rustix::fs::{Access, Mode, OFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{ControlModes, OptionalActions, SpecialCodeIndex};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A serial port to open, written `PATH` or `PATH@BAUD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SerialPort {
    /// Its device, like `/dev/ttyUSB0`.
    pub path: PathBuf,
    /// Bits a second.
    pub baud: u32,
}

impl FromStr for SerialPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, baud) = match text.rsplit_once('@') {
            None => (text, DEFAULT_BAUD),
            Some((path, baud)) => match baud.parse() {
                Ok(baud @ 1..) => (path, baud),
                _ => {
                    return Err(format!(
                        "'{baud}' is not a baud rate; write a number such as {DEFAULT_BAUD} after '@'"
                    ));
                }
            },
        };
        if path.is_empty() {
            return Err("the path of the serial port is missing; write it like /dev/ttyUSB0@115200".into());
        }
        Ok(Self { path: path.into(), baud })
    }
}

impl SerialPort {
    /// Why the port cannot be opened, as far as that can be told without opening it: that would reset some devices.
    pub fn obstacle(&self) -> Option<String> {
        let access = Access::READ_OK | Access::WRITE_OK;
        let error = rustix::fs::access(&self.path, access).err()?;
        Some(self.explain(&error.into(), &present("/dev")))
    }

    /// The error in words for a person, with what to check. `present` are the ports that there are.
    fn explain(&self, error: &io::Error, present: &[String]) -> String {
        let check = match error.kind() {
            io::ErrorKind::NotFound if present.is_empty() => {
                "check the path and the cable; no USB serial port was found".into()
            }
            io::ErrorKind::NotFound => {
                format!("check the path and the cable; found {}", present.join(", "))
            }
            io::ErrorKind::PermissionDenied => {
                "check that you may use it: on most systems the group 'dialout' may".into()
            }
            io::ErrorKind::ResourceBusy => "another program uses it; end that first".to_owned(),
            _ => "check its name: is it a serial port?".into(),
        };
        format!("cannot open {self}: {error}; {check}")
    }
}

/// The ports in `folder` that a controller may be plugged in at.
fn present(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path().display().to_string());
    let is_port = |path: &String| {
        ["ttyUSB", "ttyACM", "cu.usb"]
            .iter()
            .any(|kind| path[folder.len()..].trim_start_matches('/').starts_with(kind))
    };
    let mut present: Vec<_> = names.filter(is_port).collect();
    present.sort();
    present
}

impl fmt::Display for SerialPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} baud", self.path.display(), self.baud)
    }
}

/// An open terminal: raw bytes in both directions, 8 data bits, no parity, 1 stop bit, no flow control.
#[derive(Debug)]
pub struct Tty {
    fd: AsyncFd<OwnedFd>,
    /// The other side of a pseudo terminal, kept open so that clients can come and go.
    _other: Option<OwnedFd>,
}

impl Tty {
    /// Opens a serial port. The error says what is wrong with which port, and what to do.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn open(port: &SerialPort) -> io::Result<Self> {
        Self::open_silently(port)
            .map_err(|error| io::Error::new(error.kind(), port.explain(&error, &present("/dev"))))
    }

    fn open_silently(port: &SerialPort) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&port.path, flags, Mode::empty())?;
        make_raw(&fd, Some(port.baud))?;
        Ok(Self { fd: register(fd)?, _other: None })
    }

    /// Makes a pseudo terminal: this side of it, and the path of the other, which clients open as a serial port.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn pseudo() -> io::Result<(Self, PathBuf)> {
        let fd = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::pty::grantpt(&fd)?;
        rustix::pty::unlockpt(&fd)?;
        rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::CLOEXEC)?;
        rustix::fs::fcntl_setfl(&fd, rustix::fs::fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
        let name = rustix::pty::ptsname(&fd, Vec::new())?;
        let path = Path::new(OsStr::from_bytes(name.as_bytes())).to_owned();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let other = rustix::fs::open(&path, flags, Mode::empty())?;
        make_raw(&other, None)?;
        Ok((Self { fd: register(fd)?, _other: Some(other) }, path))
    }
}

fn register(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is one and the same descriptor until it is dropped, and nobody else closes it.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

fn make_raw(fd: impl AsFd, baud: Option<u32>) -> io::Result<()> {
    let mut settings = rustix::termios::tcgetattr(&fd)?;
    settings.make_raw();
    settings.control_modes -=
        ControlModes::CSIZE | ControlModes::PARENB | ControlModes::CSTOPB | ControlModes::CRTSCTS;
    // Without the modem's lines, which three wires do not have.
    settings.control_modes |= ControlModes::CS8 | ControlModes::CREAD | ControlModes::CLOCAL;
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    if let Some(baud) = baud {
        settings.set_speed(baud)?;
    }
    Ok(rustix::termios::tcsetattr(&fd, OptionalActions::Now, &settings)?)
}

impl AsyncRead for Tty {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.fd.poll_read_ready(context))?;
            let room = buffer.initialize_unfilled();
            match guard.try_io(|fd| Ok(rustix::io::read(fd.get_ref(), &mut *room)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => {
                    buffer.advance(result?);
                    return Poll::Ready(Ok(()));
                }
                Err(_would_block) => {}
            }
        }
    }
}

impl AsyncWrite for Tty {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.fd.poll_write_ready(context))?;
            match guard.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_would_block) => {}
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The kernel sends what it has taken.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::{SerialPort, Tty, present};
    use support::Folder;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[test]
    fn ports_are_read() {
        let port = |text: &str| text.parse::<SerialPort>();
        assert_eq!(port("/dev/ttyUSB0"), Ok(SerialPort { path: "/dev/ttyUSB0".into(), baud: 115_200 }));
        assert_eq!(port("/dev/tty@9600"), Ok(SerialPort { path: "/dev/tty".into(), baud: 9600 }));
        for (text, words) in
            [("", "is missing"), ("@9600", "is missing"), ("/dev/x@", "a number such as 115200")]
        {
            let error = port(text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
        assert!(port("/dev/x@0").is_err() && port("/dev/x@fast").is_err());
    }

    #[tokio::test]
    async fn every_byte_passes_a_pseudo_terminal_unchanged() {
        let (mut here, path) = Tty::pseudo().expect("a pseudo terminal");
        let every: Vec<u8> = (0..=255).collect();
        // Somebody comes, and somebody comes after them.
        for _ in 0..2 {
            let mut there =
                Tty::open(&SerialPort { path: path.clone(), baud: 9600 }).expect("its other side");
            let mut heard = [0; 256];
            here.write_all(&every).await.expect("written");
            there.read_exact(&mut heard).await.expect("read");
            assert_eq!(heard, *every);
            there.write_all(&every).await.expect("written");
            here.read_exact(&mut heard).await.expect("read");
            assert_eq!(heard, *every);
        }
    }

    #[test]
    fn what_stands_in_the_way_is_said_with_what_to_check() {
        let port = SerialPort { path: "/dev/ttyUSB7".into(), baud: 9600 };
        let folder = Folder::new("hearthwave-ports");
        for name in ["ttyUSB1", "ttyACM0", "tty0", "null"] {
            std::fs::write(folder.0.join(name), "").expect("written");
        }
        let place = folder.0.to_str().expect("text");
        let here = [format!("{place}/ttyACM0"), format!("{place}/ttyUSB1")];
        assert_eq!(present(place), here);
        for (code, words) in [
            (2, format!("No such file or directory (os error 2); check the path and the cable; found {}", here.join(", "))),
            (13, "Permission denied (os error 13); check that you may use it: on most systems the group 'dialout' may".into()),
            (16, "Device or resource busy (os error 16); another program uses it; end that first".into()),
            (25, "Inappropriate ioctl for device (os error 25); check its name: is it a serial port?".into()),
        ] {
            let error = std::io::Error::from_raw_os_error(code);
            assert_eq!(port.explain(&error, &here), format!("cannot open /dev/ttyUSB7 at 9600 baud: {words}"));
        }
    }

    #[tokio::test]
    async fn what_is_no_terminal_is_refused() {
        let open = |path: &str| {
            Tty::open(&SerialPort { path: path.into(), baud: 9600 }).expect_err("refused").to_string()
        };
        let (error, words) =
            (open("/dev/no-such-port"), "cannot open /dev/no-such-port at 9600 baud: No such file or");
        assert!(error.starts_with(words) && error.contains("; check the path and the cable; "), "{error}");
        assert!(open("/dev/null").ends_with("is it a serial port?"), "{}", open("/dev/null"));
    }
}
