//! Where the typed lines come from: a line editor at a terminal, or else whatever is piped in.
//!
//! The editor is `rustyline`, which needs 8 crates where `reedline` needs 50. It blocks a thread of its own while somebody
//! types; what is logged meanwhile goes through its printer, so that the line stays whole.

use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

use rustix::termios::{OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter as _};
use tokio::io::{AsyncBufReadExt as _, BufReader, Stdin};
use tokio::task::JoinHandle;

use crate::complete::Names;
use crate::history::{self, History};

/// What the person types after.
const SIGN: &str = "> ";

/// Whether somebody is typing in the editor.
static IS_EDITING: AtomicBool = AtomicBool::new(false);

/// Takes what is logged while somebody types, if the log is shown at the same terminal.
static PRINTER: OnceLock<Sender<String>> = OnceLock::new();

/// The modes of the terminal before the editor changed them.
static MODES: OnceLock<Termios> = OnceLock::new();

type LineEditor = Box<Editor<Names, FileHistory>>;

/// Lines from a person or a program.
pub(crate) struct Input {
    source: Source,
    /// A line that was read and is not used yet.
    returned: Option<String>,
}

enum Source {
    Editor {
        /// `None` while it is in its thread.
        editor: Option<LineEditor>,
        /// Its thread, while somebody types.
        typing: Option<JoinHandle<(LineEditor, rustyline::Result<String>)>>,
        history: Option<History>,
    },
    Plain {
        reader: BufReader<Stdin>,
        /// The line that is being read.
        begun: Vec<u8>,
        is_terminal: bool,
        /// Whether there is a sign before the line that is being typed.
        is_prompted: bool,
    },
}

/// What came of waiting for a line.
pub(crate) enum Typed {
    Line(String),
    /// Ctrl-C: what was typed so far is discarded.
    Interrupted,
    /// Nothing more will come. `by_person` if somebody said so, at a terminal.
    End {
        by_person: bool,
    },
}

impl Input {
    /// The editor, if stdin and stdout are a terminal that can be edited at. Its history is kept beside `state`.
    pub(crate) fn open(names: Names, state: Option<&Path>) -> Self {
        let is_terminal = io::stdin().is_terminal();
        let source = match is_terminal.then(|| open_editor(names, state)).transpose() {
            Ok(Some(editor)) => editor,
            Ok(None) | Err(_) => Source::Plain {
                reader: BufReader::new(tokio::io::stdin()),
                begun: Vec::new(),
                is_terminal,
                is_prompted: false,
            },
        };
        Self { source, returned: None }
    }

    /// Whether a person types here.
    pub(crate) fn is_terminal(&self) -> bool {
        match &self.source {
            Source::Editor { .. } => true,
            Source::Plain { is_terminal, .. } => *is_terminal,
        }
    }

    /// Discards what a person has typed ahead. Returns whether they have begun a line, which this leaves alone.
    pub(crate) fn discard_typed_ahead(&self) -> bool {
        let is_typing = matches!(&self.source, Source::Editor { typing: Some(_), .. });
        if self.is_terminal() && !is_typing {
            // What is left if it fails comes too soon after the question.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        is_typing
    }

    /// Has a line read again, as the next one.
    pub(crate) fn put_back(&mut self, line: String) {
        self.returned = Some(line);
    }

    /// The next line, with a prompt before it if somebody is there to type. Dropping the future loses nothing: the next call
    /// goes on with the line that is being typed.
    pub(crate) async fn line(&mut self) -> io::Result<Typed> {
        if let Some(line) = self.returned.take() {
            return Ok(Typed::Line(line));
        }
        match &mut self.source {
            Source::Editor { editor: slot, typing, .. } => {
                if let Some(mut editor) = slot.take() {
                    IS_EDITING.store(true, Ordering::Relaxed);
                    *typing = Some(tokio::task::spawn_blocking(move || {
                        let line = editor.readline(SIGN);
                        IS_EDITING.store(false, Ordering::Relaxed);
                        (editor, line)
                    }));
                }
                let Some(thread) = typing else { return Ok(Typed::End { by_person: true }) };
                let typed = thread.await;
                *typing = None;
                let (editor, line) = typed?;
                match line {
                    Ok(line) => {
                        *slot = Some(editor);
                        Ok(Typed::Line(line))
                    }
                    Err(ReadlineError::Interrupted) => {
                        *slot = Some(editor);
                        Ok(Typed::Interrupted)
                    }
                    // Ctrl-D. Nothing more is read.
                    Err(ReadlineError::Eof) => Ok(Typed::End { by_person: true }),
                    Err(error) => Err(io::Error::other(error)),
                }
            }
            Source::Plain { reader, begun, is_terminal, is_prompted } => {
                if *is_terminal && !*is_prompted {
                    eprint!("{SIGN}");
                    *is_prompted = true;
                }
                // What a dropped future has read stays in `begun`.
                reader.read_until(b'\n', begun).await?;
                *is_prompted = false;
                let line = std::mem::take(begun);
                Ok(match line.is_empty() {
                    true => Typed::End { by_person: *is_terminal },
                    false => Typed::Line(String::from_utf8_lossy(&line).into_owned()),
                })
            }
        }
    }

    /// Records a line, for the arrow keys and the next run, unless it may have a secret in it.
    pub(crate) fn record(&mut self, line: &str) {
        let Source::Editor { editor: Some(editor), history, .. } = &mut self.source else { return };
        history::add(editor, line);
        if let Some(Err(error)) = history.as_ref().map(|history| history.save(editor)) {
            log::warn!("sim: {error}");
            *history = None;
        }
    }
}

fn open_editor(names: Names, state: Option<&Path>) -> rustyline::Result<Source> {
    let config = Config::builder()
        .auto_add_history(false)
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
    let history = state.map(|state| History::open(state, &mut editor));
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
    Ok(Source::Editor { editor: Some(Box::new(editor)), typing: None, history })
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

/// Shows lines to the person who is typing, around what they type. False if nobody is, or if it cannot be done.
pub(crate) fn show_while_editing(lines: &str) -> bool {
    IS_EDITING.load(Ordering::Relaxed)
        && PRINTER.get().is_some_and(|printer| printer.send(lines.to_owned()).is_ok())
}

/// Where the log goes: to stderr, and around the line that somebody is typing.
pub(crate) struct LogTarget;

impl Write for LogTarget {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_shown = show_while_editing(&String::from_utf8_lossy(bytes));
        if !is_shown {
            io::stderr().write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
