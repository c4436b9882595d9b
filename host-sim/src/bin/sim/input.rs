//! Where the typed lines come from: a line editor at a terminal, or else whatever is piped in.
//!
//! The editor is `rustyline`, which needs 8 crates where `reedline` needs 50. It blocks a thread of its own while somebody
//! types; what is logged meanwhile goes through its printer, so that the line stays whole.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter as _};
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};

use crate::complete::Names;

/// What the person types after.
const SIGN: &str = "> ";

/// Whether somebody is typing in the editor.
static IS_EDITING: AtomicBool = AtomicBool::new(false);

/// Takes what is logged while somebody types, if the log is shown at the same terminal.
static PRINTER: OnceLock<Sender<String>> = OnceLock::new();

/// The modes of the terminal before the editor changed them.
static MODES: OnceLock<Termios> = OnceLock::new();

/// Lines from a person or a program.
pub(crate) enum Input {
    Editor {
        /// `None` while it is in its thread.
        editor: Option<Box<Editor<Names, FileHistory>>>,
        /// Where the typed lines are kept.
        history: Option<PathBuf>,
    },
    Plain {
        reader: BufReader<Stdin>,
        is_terminal: bool,
    },
}

/// What came of waiting for a line.
pub(crate) enum Typed {
    Line(String),
    /// Nothing more will come. `by_person` if somebody said so, at a terminal.
    End {
        by_person: bool,
    },
}

impl Input {
    /// The editor, if stdin and stdout are a terminal that can be edited at. Its history is kept beside `state`.
    pub(crate) fn open(names: Names, state: Option<&Path>) -> Self {
        let is_terminal = io::stdin().is_terminal();
        match is_terminal.then(|| open_editor(names, state)).transpose() {
            Ok(Some(editor)) => editor,
            Ok(None) | Err(_) => Self::Plain { reader: BufReader::new(tokio::io::stdin()), is_terminal },
        }
    }

    /// The next line, with a prompt before it if somebody is there to type.
    pub(crate) async fn line(&mut self) -> io::Result<Typed> {
        match self {
            Self::Editor { editor: slot, history } => {
                let Some(mut editor) = slot.take() else { return Ok(Typed::End { by_person: true }) };
                IS_EDITING.store(true, Ordering::Relaxed);
                let editing = tokio::task::spawn_blocking(move || {
                    let line = editor.readline(SIGN);
                    (editor, line)
                });
                let (mut editor, line) = editing.await?;
                IS_EDITING.store(false, Ordering::Relaxed);
                let line = match line {
                    Ok(line) => line,
                    // Ctrl-D, Ctrl-C.
                    Err(ReadlineError::Eof | ReadlineError::Interrupted) => {
                        return Ok(Typed::End { by_person: true });
                    }
                    Err(error) => return Err(io::Error::other(error)),
                };
                if let Some(path) = history
                    && let Err(error) = editor.append_history(path.as_path())
                {
                    log::warn!("sim: the history cannot be kept in {}: {error}", path.display());
                    *history = None;
                }
                *slot = Some(editor);
                Ok(Typed::Line(line))
            }
            Self::Plain { reader, is_terminal } => {
                if *is_terminal {
                    eprint!("{SIGN}");
                }
                let mut line = Vec::new();
                Ok(match reader.read_until(b'\n', &mut line).await? {
                    0 => Typed::End { by_person: *is_terminal },
                    _ => Typed::Line(String::from_utf8_lossy(&line).into_owned()),
                })
            }
        }
    }
}

fn open_editor(names: Names, state: Option<&Path>) -> rustyline::Result<Input> {
    let config = Config::builder()
        .auto_add_history(true)
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    // There is none for a terminal that cannot be edited at.
    let mut printer = editor.create_external_printer()?;
    // Without them, the editor puts the terminal back itself in all ways out but a signal.
    if let Ok(modes) = tcgetattr(io::stdin()) {
        let _ = MODES.set(modes);
    }
    editor.set_helper(Some(names));
    let history = state.map(|state| {
        let mut path = OsString::from(state);
        path.push(".history");
        PathBuf::from(path)
    });
    if let Some(path) = &history {
        // At first there is none.
        let _ = editor.load_history(path);
    }
    if io::stderr().is_terminal() {
        let (sender, lines) = channel();
        let _ = PRINTER.set(sender);
        // In a thread of its own: the printer waits for the editor, which may wait for the hub to complete a name.
        std::thread::spawn(move || {
            for line in lines {
                if printer.print(line).is_err() {
                    return;
                }
            }
        });
    }
    Ok(Input::Editor { editor: Some(Box::new(editor)), history })
}

/// Puts the terminal back, if somebody was typing when the program was told to end.
pub(crate) fn close() {
    if IS_EDITING.load(Ordering::Relaxed)
        && let Some(modes) = MODES.get()
    {
        // The end of bracketed paste, and of the line. There is nobody to tell if it fails.
        eprintln!("\x1b[?2004l");
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
    }
}

/// Where the log goes: to stderr, and around the line that somebody is typing.
pub(crate) struct LogTarget;

impl Write for LogTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_shown = IS_EDITING.load(Ordering::Relaxed)
            && PRINTER
                .get()
                .is_some_and(|printer| printer.send(String::from_utf8_lossy(bytes).into_owned()).is_ok());
        if !is_shown {
            io::stderr().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
