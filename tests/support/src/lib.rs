//! What tests put around the hub: an MQTT client, a controller, servers and real programs.

pub mod certificate;
pub mod chrony;
pub mod client;
pub mod controller;
pub mod exchange;
pub mod improv;
pub mod line;
pub mod log;
pub mod machine;
pub mod mosquitto;
pub mod person;
pub mod process;
pub mod result;
pub mod sdk;
pub mod search;
pub mod server;
pub mod sntp;
pub mod typist;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long any single event may take, however busy the machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A name that no other test, and no other run, has.
pub fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{what}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A folder that is gone with its owner.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(what: &str) -> Self {
        let path = std::env::temp_dir().join(unique(what));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in the temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until `is_so`, and says `what` was waited for if that takes too long.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
