//! The server process of a session.

use std::fs;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

/// The clock ticks by which the start time of a process may be rounded.
const ROUNDING: u64 = 1;

/// When a session began to connect, in ticks since boot as in `/proc`; `None` if the kernel does not tell.
pub(super) struct Beginning(Option<u64>);

impl Beginning {
    pub(super) fn now() -> Self {
        Beginning(ticks_since_boot())
    }

    /// The process id that the server reported, if it is a Postgres process that began since then. If the server runs in a
    /// container, the id may be that of any other process here.
    pub(super) fn confirm(&self, told: u32) -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{told}/stat")).ok()?;
        fits(&stat, self.0?, ticks_since_boot()?).then_some(told)
    }
}

fn ticks_since_boot() -> Option<u64> {
    let ticks_per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    let time = clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?;
    let part = u64::try_from(time.tv_nsec()).ok()?.checked_mul(ticks_per_second)? / 1_000_000_000;
    u64::try_from(time.tv_sec()).ok()?.checked_mul(ticks_per_second)?.checked_add(part)
}

/// Whether a line of `/proc/PID/stat` is of a Postgres process that began between two instants, see proc_pid_stat(5).
fn fits(stat: &str, from: u64, until: u64) -> bool {
    let Some((head, tail)) = stat.rsplit_once(')') else { return false };
    let is_postgres = ["postgres", "postmaster"].iter().any(|name| head.contains(name));
    // Field 22 of the manual page; the state is field 3 there and number 0 here.
    let start: Option<u64> = tail.split_whitespace().nth(19).and_then(|field| field.parse().ok());
    is_postgres
        && start.is_some_and(|start| {
            start.saturating_add(ROUNDING) >= from && start <= until.saturating_add(ROUNDING)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Session;
    use crate::postgres::{Address, PostgresSession};
    use proptest::prelude::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::Command;

    const STAT: &str = "7 (postgres) S 1 7 7 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 5000 1 1";

    #[test]
    fn defect_22_a_process_fits_by_its_command_and_its_start() {
        assert!(fits(STAT, 5000, 5001) && fits(STAT, 5001, 5002) && fits(STAT, 4990, 4999));
        assert!(!fits(STAT, 5002, 5100) && !fits(STAT, 4000, 4998));
        assert!(!fits(&STAT.replace("postgres", "sleep"), 5000, 5001));
        assert!(ticks_since_boot().unwrap() > 0);
    }

    #[test]
    fn defect_22_the_number_of_a_foreign_process_is_not_taken() {
        let mut foreign = Command::new("sleep").arg("60").spawn().unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let pid = foreign.id();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            let mut reply = b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c".to_vec();
            reply.extend(pid.to_be_bytes());
            reply.extend(b"\0\0\0\0Z\0\0\0\x05I");
            stream.write_all(&reply).unwrap();
            // Until the session ends.
            let _ = stream.read(&mut [0; 16]);
        });
        let address = Address::from_url(&format!("postgres://u@127.0.0.1:{port}/d")).unwrap();
        let session = PostgresSession::connect(&address).unwrap();
        let told = session.server_pid();
        drop(session);
        server.join().unwrap();
        foreign.kill().unwrap();
        foreign.wait().unwrap();
        assert_eq!(told, None);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in "([0-9]{1,20}|postgres|[() ]|.){0,60}") {
            let _ = fits(&text, 1, u64::MAX);
        }
    }
}
