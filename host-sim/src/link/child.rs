//! A command at the far end of the line.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// For a command that was asked to end, before it is made to.
const GRACE: Duration = Duration::from_millis(200);

/// How often a command is looked at that is about to end.
const LOOK: Duration = Duration::from_millis(2);

/// A running command. Dropping it ends it with all that it started.
#[derive(Debug)]
pub(super) struct Keeper(Child);

/// What a command hears and says.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Keeper {
    /// Starts a command in a shell, in a process group of its own: an interrupt at the terminal is not for it.
    pub(super) fn start(command: &str) -> io::Result<(Self, Pipes)> {
        let mut child = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on it ends with its keeper.
        let keeper = Self(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let pipes = Pipes {
            stdin: ChildStdin::from_std(stdin)?,
            stdout: ChildStdout::from_std(stdout)?,
            stderr: ChildStderr::from_std(stderr)?,
        };
        Ok((keeper, pipes))
    }

    /// How it ended, if it does so within a moment.
    pub(super) async fn status(&mut self) -> Option<ExitStatus> {
        for _ in 0..GRACE.as_millis() / LOOK.as_millis() {
            match self.0.try_wait() {
                Ok(None) => tokio::time::sleep(LOOK).await,
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
        None
    }

    /// Whether it has ended. It stays a zombie, and so its number stays its own.
    fn has_ended(pid: Pid) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) else { return };
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process_group(pid, Signal::TERM);
            let looks = GRACE.as_millis() / LOOK.as_millis();
            (0..looks).take_while(|_| !Self::has_ended(pid)).for_each(|_| std::thread::sleep(LOOK));
            // Those of its children that have not heard.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
