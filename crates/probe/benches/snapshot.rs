//! The cost of a snapshot, which is taken right before the first and right after the last statement of a window.

#![expect(clippy::expect_used, reason = "a benchmark without its server has nothing to measure")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use basecase_probe::{Target, Watch, device_under};

fn main() {
    divan::main();
}

/// A server with this many processes besides its first.
#[divan::bench(args = [1, 20, 60])]
fn with_server(bencher: divan::Bencher<'_, '_>, processes: u32) {
    // They wait for input, and so end with this function.
    let script = format!(
        "exec 3<&0; i=0; while [ $i -lt {processes} ]; do cat <&3 & i=$((i+1)); done; echo ready; wait"
    );
    let server =
        Command::new("sh").args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut server = server.expect("a shell");
    let output = server.stdout.take().expect("its output");
    BufReader::new(output).read_line(&mut String::new()).expect("its word that all have started");

    let watch =
        Watch::new(Target { device: device_under(Path::new("/")), server: Some(server.id()), group: None });
    bencher.bench_local(|| watch.snapshot());
    server.wait().expect("its end");
}

#[divan::bench]
fn embedded(bencher: divan::Bencher<'_, '_>) {
    let watch = Watch::new(Target { device: device_under(Path::new("/")), server: None, group: None });
    bencher.bench_local(|| watch.snapshot());
}
