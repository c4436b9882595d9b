//! The console: commands that somebody types on the serial port of people, and Improv Wi-Fi beside them on the same port.
//!
//! ```text
//!   port ──► line_reader ──┬──► command ──► settings, wifi, status ──► screen ──► port
//!                          └──► improv  ──► wifi, settings ─────────────▲
//! ```
//!
//! `line_reader`, `command` and `improv` decide and know no port. Lines of text end with CR and LF; a prompt, `> `,
//! waits for the next one. Nothing is completed, and what is mistyped gets the nearest word as an answer: what changes
//! something is never guessed.

pub mod command;
pub mod improv;
pub mod line_reader;
mod screen;
mod settings;
mod status;
mod wifi;

#[cfg(test)]
mod tests;

use core::fmt::Display;
use core::pin::{Pin, pin};

use embassy_futures::select::{Either, select};
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use self::command::{COMMANDS, Command, Meaning};
use self::line_reader::{ConsoleEvent, LineReader};
pub use self::screen::Screen;
use self::settings::Started;
pub use self::wifi::join_network;
use crate::context::HubContext;
use crate::limits;
use crate::log::info;
use crate::platform::Network;
use crate::store::Store;

/// What waits for the next line.
const PROMPT: &[u8] = b"> ";

/// The memory of a console. All zeros when new.
pub struct ConsoleBuffers {
    input: LineReader,
    screen: Screen,
}

impl ConsoleBuffers {
    /// Empty memory.
    pub const fn new() -> Self {
        Self { input: LineReader::new(), screen: Screen::new() }
    }
}

/// Serves whoever sits at the port, for ever.
///
/// `hint` says what people should check if the controller cannot be reached.
pub(crate) async fn run<R: Read, W: Write, N: Network, F: MultiwriteNorFlash>(
    port: (R, W),
    memory: &mut ConsoleBuffers,
    hub: &HubContext<'_, Store<'_, F>>,
    network: &N,
    hint: &dyn Display,
) -> ! {
    let (mut rx, tx) = port;
    let ConsoleBuffers { input, screen } = memory;
    *input = LineReader::new();
    screen.clear();
    let started = Started::read(hub).await;
    let mut console = Console { tx, screen, hub, network, hint, started, wants_certificate: false };
    loop {
        let mut bytes = [0; limits::CONSOLE_READ];
        // The rest of a frame comes at once or never: then what follows is text.
        let silence = async {
            match input.is_in_frame() {
                true => Timer::after(limits::IMPROV_GAP).await,
                false => core::future::pending().await,
            }
        };
        let count = match select(rx.read(&mut bytes), silence).await {
            Either::First(Ok(count @ 1..)) => count,
            // Nobody is there.
            Either::First(_) => {
                Timer::after(limits::CONSOLE_PAUSE).await;
                continue;
            }
            Either::Second(()) => {
                input.give_up();
                continue;
            }
        };
        for byte in bytes.get(..count).unwrap_or_default() {
            if let Some(event) = input.push(*byte, console.screen) {
                // Behind a pointer, for a stack frame of its own.
                let handling: Pin<&mut dyn Future<Output = ()>> = pin!(console.handle(event, input));
                handling.await;
            }
        }
        console.flush().await;
    }
}

/// Whoever answers.
struct Console<'a, W, N, S> {
    tx: W,
    screen: &'a mut Screen,
    hub: &'a HubContext<'a, S>,
    network: &'a N,
    hint: &'a dyn Display,
    started: Started,
    /// A certificate alone is the value of the setting that was named before.
    wants_certificate: bool,
}

impl<W: Write, N: Network, F: MultiwriteNorFlash> Console<'_, W, N, Store<'_, F>> {
    async fn handle(&mut self, event: ConsoleEvent, input: &mut LineReader) {
        match event {
            ConsoleEvent::Frame => return self.improv(input.frame()).await,
            ConsoleEvent::Line => {
                // Behind a pointer, as above.
                let obeying: Pin<&mut dyn Future<Output = ()>> = pin!(self.obey(input));
                obeying.await;
            }
            ConsoleEvent::NotText => {
                self.screen.line(format_args!("that line is not UTF-8; set the terminal to it"))
            }
            ConsoleEvent::TooLong => self.screen.line(format_args!(
                "that line is too long; at most {} bytes are possible",
                limits::CONSOLE_LINE
            )),
            ConsoleEvent::Cancelled => self.wants_certificate = false,
        }
        self.screen.push(PROMPT);
    }

    async fn obey(&mut self, input: &mut LineReader) {
        let line = input.line();
        if line.starts_with("-----BEGIN ") && core::mem::take(&mut self.wants_certificate) {
            let range = input.range(line);
            return self.set_certificate(input, range).await;
        }
        let (command, rest) = match command::parse(line) {
            Meaning::Blank => return,
            Meaning::Command(command, rest) => (command, rest),
            Meaning::Unknown(word, Some(nearest)) => {
                return self.screen.line(format_args!("no command `{word}`; did you mean `{nearest}`?"));
            }
            Meaning::Unknown(word, None) => {
                return self.screen.line(format_args!("no command `{word}`; `help` lists them"));
            }
        };
        let at = input.range(rest).start;
        match command {
            Command::Help => self.help(),
            Command::Show => self.show(input, at).await,
            Command::Set => self.set(input, at).await,
            Command::Unset => self.unset(rest).await,
            Command::Scan => self.scan().await,
            Command::Status => self.status().await,
            Command::Log => self.log(),
            Command::Selftest => self.selftest().await,
            Command::Restart => self.restart(),
            Command::FactoryReset => self.factory_reset(rest).await,
        }
    }

    /// The time, if it is known, in seconds since the beginning of 1970.
    fn now(&self) -> Option<i64> {
        self.hub.now().map(|reading| reading.unix_seconds)
    }

    fn help(&mut self) {
        for row in COMMANDS {
            let gap = if row.arguments.is_empty() { "" } else { " " };
            let used = row.name.len() + gap.len() + row.arguments.len();
            let width = 22usize.saturating_sub(used);
            self.screen.line(format_args!("{}{gap}{}{:width$}{}", row.name, row.arguments, "", row.purpose));
        }
    }

    fn log(&mut self) {
        let mut is_silent = true;
        let dropped = self.hub.notices.read(&mut |lines| {
            is_silent &= lines.is_empty();
            // It fits.
            let _ = core::fmt::Write::write_str(self.screen, lines);
        });
        if is_silent {
            self.screen.line(format_args!("nothing was reported yet"));
        }
        if dropped > 0 {
            self.screen.line(format_args!("({dropped} older ones are gone)"));
        }
    }

    fn restart(&mut self) {
        self.screen.line(format_args!("the hub restarts now"));
        self.hub.restart.signal(());
    }

    /// Dropped in the middle, everything is erased or nothing.
    async fn factory_reset(&mut self, confirmation: &str) {
        if !confirmation.eq_ignore_ascii_case("confirm") {
            return self.screen.line(format_args!(
                "this forgets all settings, flags and documents, and restarts the hub; to do it: factory-reset confirm"
            ));
        }
        match self.hub.factory_reset().await {
            Ok(()) => {
                info!("console: everything is forgotten");
                self.screen.line(format_args!("everything is forgotten"));
                self.screen.line(format_args!("the hub restarts now"));
            }
            Err(error) => self.screen.line(format_args!("nothing is erased: {error}")),
        }
    }

    /// Writes what waits. An error means that nobody is there, and it is lost.
    async fn flush(&mut self) {
        let _ = self.tx.write_all(self.screen.bytes()).await;
        let _ = self.tx.flush().await;
        self.screen.clear();
    }
}
