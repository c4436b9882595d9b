//! A real time server.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::process::Running;
use crate::{Folder, wait_for};

/// A chrony that serves this machine's time, and leaves it alone. It ends with its owner.
pub struct Chrony {
    pub port: u16,
    _process: Running,
    _folder: Folder,
}

impl Chrony {
    /// One at a port of the loopback.
    pub fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = socket.local_addr().expect("its number").port();
        drop(socket);
        let folder = Folder::new("hearthwave-chrony");
        let path = folder.0.join("chrony.conf");
        let pid = folder.0.join("pid");
        let lines = format!(
            "port {port}\nbindaddress 127.0.0.1\nallow 127.0.0.1\nlocal stratum 8\ncmdport 0\npidfile {}\n",
            pid.display()
        );
        fs::write(&path, lines).expect("a file");
        // Root would become somebody who may not write there.
        let user = Command::new("id").arg("-un").output().expect("a name").stdout;
        let user = String::from_utf8(user).expect("a name");
        // Where an ordinary user's PATH does not look.
        let daemon = ["/usr/sbin/chronyd", "/usr/bin/chronyd"]
            .into_iter()
            .find(|path| fs::exists(path).is_ok_and(|is| is));
        let mut command = Command::new(daemon.expect("chrony; install it (Debian calls the package chrony)"));
        command
            .args(["-x", "-U", "-d", "-u", user.trim(), "-f"])
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let process = Running::start(&mut command);
        let chrony = Self { port, _process: process, _folder: folder };
        wait_for("the time server", || chrony.answers());
        chrony
    }

    fn answers(&self) -> bool {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
        let mut question = [0; 48];
        question[0] = 0x23;
        socket.send_to(&question, (Ipv4Addr::LOCALHOST, self.port)).is_ok()
            && socket.recv(&mut [0; 48]).is_ok()
    }
}
