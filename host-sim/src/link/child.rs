//! A command at the far end of the line: its process, and all that it starts.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_millis(200);

/// How often a command that is about to end is polled.
const POLL: Duration = Duration::from_millis(2);

/// A running command. Dropping it ends the command with all that it started.
#[derive(Debug)]
pub(super) struct ChildGuard(Child);

/// The command's ends of the line.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl ChildGuard {
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
        // From here on it ends with its guard.
        let guard = Self(child);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let pipes = Pipes {
            stdin: ChildStdin::from_std(stdin)?,
            stdout: ChildStdout::from_std(stdout)?,
            stderr: ChildStderr::from_std(stderr)?,
        };
        Ok((guard, pipes))
    }

    /// Its exit status, if it ends within a moment.
    pub(super) async fn status(&mut self) -> Option<ExitStatus> {
        for _ in 0..GRACE.as_millis() / POLL.as_millis() {
            match self.0.try_wait() {
                Ok(None) => tokio::time::sleep(POLL).await,
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
        None
    }

    /// Whether the child is still running.
    pub(super) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }

    /// Whether it has ended. It stays a zombie, so that no other process gets its id.
    fn has_ended(pid: Pid) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) else { return };
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = kill_process_group(pid, Signal::TERM);
            let polls = GRACE.as_millis() / POLL.as_millis();
            (0..polls).take_while(|_| !Self::has_ended(pid)).for_each(|_| std::thread::sleep(POLL));
            // Those of its children that have not ended.
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}
