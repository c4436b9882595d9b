//! A stream to the broker with a time limit for writes.

use std::io;
use std::time::Duration;

use embedded_io_async::{ErrorType, Read, Write};
use tokio::time::timeout;

/// For the broker to take a write.
const WITHIN: Duration = Duration::from_secs(10);

/// A stream whose writes fail when they take too long. Its reads wait for ever, as minimq wants it.
pub(super) struct WriteTimeout<T>(pub(super) T);

impl<T: ErrorType<Error = io::Error>> ErrorType for WriteTimeout<T> {
    type Error = io::Error;
}

impl<T: Read<Error = io::Error>> Read for WriteTimeout<T> {
    async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).await
    }
}

impl<T: Write<Error = io::Error>> Write for WriteTimeout<T> {
    async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        timeout(WITHIN, self.0.write(bytes)).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }

    async fn flush(&mut self) -> io::Result<()> {
        timeout(WITHIN, self.0.flush()).await.unwrap_or(Err(io::ErrorKind::TimedOut.into()))
    }
}
