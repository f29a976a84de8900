//! The same select by sysbench, the tool that is usual for it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use basecase_client::{Endpoint, Host};
use nix::time::clock_getcpuclockid;
use nix::unistd::Pid;

use crate::engine::{BLOCK, Block, cpu_seconds};
use crate::floor::Outcome;

/// Runs `oltp_point_select` with so many threads and takes the CPU time of its process between two of its reports.
pub(crate) fn sysbench(endpoint: &Endpoint, connections: usize) -> Outcome<Block> {
    let seconds = BLOCK.as_secs() + 1;
    let mut command = Command::new("sysbench");
    command.args(["oltp_point_select", "--table-size=1000", "--rand-type=uniform", "--report-interval=1"]);
    // The warm-up is the first second; the last one ends behind the last report that is needed.
    command.args([format!("--threads={connections}"), format!("--time={}", seconds + 2)]);
    command.args(arguments(endpoint)?);
    let mut child = command.arg("run").stdout(Stdio::piped()).spawn()?;
    let clock = clock_getcpuclockid(Pid::from_raw(child.id().try_into()?))?;
    let reports = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let (mut queries, mut cpu_before, mut cpu_after) = (0.0, 0.0, 0.0);
    let mut reported = 0;
    for line in reports {
        let line = line?;
        let Some((_, rate)) = line.split_once(" qps: ") else { continue };
        reported += 1;
        if reported == 1 {
            cpu_before = cpu_seconds(clock)?;
        } else if reported <= seconds + 1 {
            queries += rate.split(' ').next().unwrap_or("").parse::<f64>()?;
            cpu_after = cpu_seconds(clock)?;
        }
    }
    if !child.wait()?.success() || reported <= seconds {
        return Err("sysbench failed".into());
    }
    Ok(Block::new(queries, seconds as f64, cpu_after - cpu_before))
}

fn arguments(endpoint: &Endpoint) -> Outcome<[String; 5]> {
    Ok(match endpoint {
        Endpoint::Postgres(address) => {
            let Host::Socket(folder) = &address.host else { return Err("give a Unix socket".into()) };
            [
                "--db-driver=pgsql".to_owned(),
                format!("--pgsql-host={}", folder.display()),
                format!("--pgsql-port={}", address.port),
                format!("--pgsql-user={}", address.user),
                format!("--pgsql-db={}", address.database),
            ]
        }
        Endpoint::Mysql(address) => {
            let Host::Socket(file) = &address.host else { return Err("give a Unix socket".into()) };
            [
                "--db-driver=mysql".to_owned(),
                format!("--mysql-socket={}", file.display()),
                "--mysql-host=localhost".to_owned(),
                format!("--mysql-user={}", address.user),
                format!("--mysql-db={}", address.database),
            ]
        }
        Endpoint::Sqlite(_) | Endpoint::SqliteForked(_) => {
            return Err("sysbench has no driver for an embedded dbms".into());
        }
    })
}

/// Whether there is such a program.
pub(crate) fn is_installed() -> bool {
    Command::new("sysbench").arg("--version").stdout(Stdio::null()).status().is_ok()
}
