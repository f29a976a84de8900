//! Servers that do not answer, or answer too much, and users who want to stop.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use basecase_server::Transport;
use basecase_tests::Sandbox;
use basecase_tests::running::{self, Point, Running, assert_nothing_runs, processes_with};

use crate::own_server::{obtained, own_server};

/// Far more than a second, since the machine may be busy, and far less than for ever.
const SOON: Duration = Duration::from_secs(5);
/// Until something happens that must.
const LONG: Duration = Duration::from_secs(90);

/// What a server does with a connection.
type Manner = fn(&mut TcpStream) -> io::Result<()>;

/// A server on a port of its own; its address, and a message for each connection that has come to `manner`'s end.
fn fake(manner: Manner) -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, ended) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                let _ = manner(&mut stream);
                let _ = sender.send(());
                // Whoever is to close the connection has done so by then.
                thread::sleep(LONG);
            });
        }
    });
    (address, ended)
}

fn hold(_: &mut TcpStream) -> io::Result<()> {
    Ok(())
}

fn postgres(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

fn mysql(sequence: u8, body: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = (body.len() as u32).to_le_bytes();
    [&[low, middle, high, sequence][..], body].concat()
}

/// The greeting of a MySQL server of version 8.0.33 whose users have `mysql_native_password`.
fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x0108_a205;
    let [a, b, c, d] = capabilities.to_le_bytes();
    let mut body =
        [b"\x0a8.0.33\0\x01\0\0\0abcdefgh\0".as_slice(), &[a, b, 45, 2, 0, c, d, 21], &[0; 10]].concat();
    body.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    mysql(0, &body)
}

/// Reads until the client waits.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4096];
    let count = stream.read(&mut bytes)?;
    if count == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    bytes.truncate(count);
    Ok(bytes)
}

fn postgres_login(stream: &mut TcpStream) -> io::Result<()> {
    read_request(stream)?;
    stream.write_all(&[postgres(b'R', &[0; 4]), postgres(b'K', &[0; 8]), postgres(b'Z', b"I")].concat())
}

fn mysql_login(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(&greeting())?;
    read_request(stream)?;
    stream.write_all(&mysql(2, &[0, 0, 0, 2, 0, 0, 0]))
}

/// Logs the client in and takes its first query.
fn postgres_query(stream: &mut TcpStream) -> io::Result<()> {
    postgres_login(stream)?;
    read_request(stream).map(drop)
}

fn mysql_query(stream: &mut TcpStream) -> io::Result<()> {
    mysql_login(stream)?;
    read_request(stream).map(drop)
}

fn without_end(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let block = bytes.repeat(65_536 / bytes.len().max(1) + 1);
    loop {
        stream.write_all(&block)?;
    }
}

fn drip(stream: &mut TcpStream, head: &[u8]) -> io::Result<()> {
    stream.write_all(head)?;
    loop {
        stream.write_all(b"x")?;
        thread::sleep(Duration::from_millis(50));
    }
}

fn url(scheme: &str, address: SocketAddr) -> String {
    format!("url:{scheme}://me:secret@{address}/ib")
}

fn compare(sandbox: &Sandbox, url: &str) -> Child {
    let arguments = ["compare", url, "--connect-timeout", "1s", "--rows", "1000", "--seconds", "1"];
    sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end of a program, which it does not outlive.
fn end_of(mut child: Child, patience: Duration, what: &str) -> Output {
    let until = Instant::now() + patience;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            panic!("{what}: still there; it said {}", String::from_utf8_lossy(&output.stderr));
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
}

/// Fails to log in to a server, and says so in time, with words that begin like `expected`.
fn refuses(scheme: &str, address: &str, expected: &str, what: &str) {
    let sandbox = Sandbox::new();
    let child = compare(&sandbox, &format!("url:{scheme}://me:secret@{address}/ib"));
    let output = end_of(child, Duration::from_secs(30), what);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{what}: {said}");
    assert!(said.contains(expected) && said.contains("hint: "), "{what}: {said}");
    assert!(!said.contains("secret"), "{what}: {said}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of servers and how they fall silent")]
fn defect_15_a_server_that_does_not_let_a_session_begin_is_given_up_in_time() {
    let late = "did not begin within 1 s";
    let http = |stream: &mut TcpStream| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let tls_alert = |stream: &mut TcpStream| stream.write_all(&[0x15, 3, 1, 0, 2, 2, 80]);
    let close = |stream: &mut TcpStream| stream.shutdown(std::net::Shutdown::Both);
    let fakes: [(&str, &str, Manner, &str); 20] = [
        ("silence", "postgres", hold, late),
        ("silence", "mysql", hold, late),
        ("a drip", "postgres", |stream| drip(stream, b"R\0\x10\0\0"), late),
        ("a drip", "mysql", |stream| drip(stream, b"\0\0\x10\0"), late),
        ("logins", "postgres", |stream| without_end(stream, &postgres(b'R', &[0; 4])), late),
        ("requests", "postgres", |stream| without_end(stream, &postgres(b'R', b"\0\0\0\x05salt")), "hint"),
        (
            "requests",
            "mysql",
            |stream| {
                stream.write_all(&greeting())?;
                without_end(stream, &mysql(2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0"))
            },
            "cannot log in",
        ),
        ("notices", "postgres", |stream| without_end(stream, &postgres(b'N', b"SNOTICE\0Mhello\0\0")), late),
        ("a length of 0", "postgres", |stream| stream.write_all(b"R\0\0\0\0"), "impossible length"),
        ("a length of 4 GiB", "postgres", |stream| stream.write_all(b"R\xff\xff\xff\xff"), "cannot log in"),
        (
            "long packets",
            "mysql",
            |stream| without_end(stream, &mysql(0, &vec![7; 0xff_ffff])),
            "cannot log in",
        ),
        ("no row", "postgres", |stream| stream.write_all(b"E\0\0\0\x05\0"), "hint"),
        ("an end", "postgres", close, "closed"),
        ("an end", "mysql", close, "hint"),
        (
            "half a greeting",
            "mysql",
            |stream| {
                stream.write_all(&greeting()[..30])?;
                stream.shutdown(std::net::Shutdown::Both)
            },
            "closed",
        ),
        ("http", "postgres", http, "cannot log in"),
        ("http", "mysql", http, "cannot log in"),
        ("mysql", "postgres", |stream| stream.write_all(&greeting()), "cannot log in"),
        ("TLS only", "postgres", tls_alert, "cannot log in"),
        (
            "TLS only",
            "mysql",
            |stream| {
                stream.write_all(&greeting())?;
                read_request(stream)?;
                stream.write_all(&mysql(
                    2,
                    b"\xff\x57\x0c#HY000Connections using insecure transport are prohibited",
                ))
            },
            "insecure transport",
        ),
    ];
    thread::scope(|scope| {
        for (what, scheme, manner, expected) in fakes {
            let (address, _ended) = fake(manner);
            let what = format!("{what} of {scheme}");
            scope.spawn(move || refuses(scheme, &address.to_string(), expected, &what));
        }
    });
}

#[test]
fn defect_15_a_server_that_takes_no_connection_is_given_up_in_time() {
    let folder = Sandbox::new();
    let path = folder.path().join("mysql.sock");
    let _unix = UnixListener::bind(&path).unwrap();
    // Each is waited for no longer than it takes to be queued; the last one is not.
    let (sender, queued) = channel();
    let own = path.clone();
    thread::spawn(move || {
        let mut streams = Vec::new();
        while let Ok(stream) = UnixStream::connect(&own) {
            streams.push(stream);
            sender.send(()).unwrap();
        }
    });
    while queued.recv_timeout(Duration::from_millis(500)).is_ok() {}
    let place = path.to_str().unwrap().replace('/', "%2F");
    refuses("mysql", &place, "did not begin within 1 s", "a full queue of a socket");
    // Nobody is there (RFC 5737).
    refuses("postgres", "192.0.2.1:5432", "cannot connect", "an address without a host");
}

/// Interrupts a program that waits for a fake, and expects its end.
fn is_interrupted_at(scheme: &str, manner: Manner, signals: &str) {
    let (address, ended) = fake(manner);
    let sandbox = Sandbox::new();
    let child = compare(&sandbox, &url(scheme, address));
    // Those that talk on and on are at it by then.
    let _ = ended.recv_timeout(Duration::from_secs(2));
    signal(&child, signals);
    let output = end_of(child, SOON, &format!("{scheme} after {signals}"));
    assert!(!output.status.success());
}

#[test]
fn defect_15_a_signal_ends_a_run_that_waits_for_its_first_answer() {
    let fakes: [(&str, Manner, &str); 8] = [
        ("postgres", postgres_query, "INT"),
        ("mysql", mysql_query, "TERM"),
        (
            "postgres",
            |stream| {
                postgres_query(stream)?;
                without_end(stream, &postgres(b'N', b"SNOTICE\0Mhello\0\0"))
            },
            "HUP",
        ),
        (
            "postgres",
            |stream| {
                postgres_query(stream)?;
                without_end(stream, &postgres(b'C', b"SELECT 1\0"))
            },
            "INT",
        ),
        (
            "mysql",
            |stream| {
                mysql_query(stream)?;
                without_end(stream, &mysql(1, &[0, 0, 0, 8, 0, 0, 0]))
            },
            "INT",
        ),
        (
            "postgres",
            |stream| {
                postgres_query(stream)?;
                drip(stream, b"D\0\0\xff\xff")
            },
            "INT",
        ),
        (
            "mysql",
            |stream| {
                mysql_query(stream)?;
                drip(stream, b"\xff\xff\0\x01")
            },
            "INT",
        ),
        (
            "mysql",
            |stream| {
                mysql_query(stream)?;
                stream.write_all(&mysql(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"))?;
                without_end(stream, &mysql(2, &[3; 40]))
            },
            "INT",
        ),
    ];
    thread::scope(|scope| {
        for (scheme, manner, signals) in fakes {
            scope.spawn(move || is_interrupted_at(scheme, manner, signals));
        }
    });
}

/// Passes on what client and server say until the client says one of these words, and nothing from then on; tells when that was.
fn falls_silent_at(server: u16, word: &'static str) -> (SocketAddr, Receiver<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, silent) = channel();
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, sender) = (client.unwrap(), sender.clone());
            thread::spawn(move || pass_on(client, server, word, &sender));
        }
    });
    (address, silent)
}

fn pass_on(mut client: TcpStream, server: u16, word: &str, silent: &Sender<()>) {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (mut to, mut from) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
    while let Ok(request) = read_request(&mut client) {
        if String::from_utf8_lossy(&request).to_lowercase().contains(word) {
            let _ = silent.send(());
            thread::sleep(LONG);
        }
        if server.write_all(&request).is_err() {
            break;
        }
    }
    let _ = server.shutdown(std::net::Shutdown::Both);
}

/// A run on a server that falls silent when it is told this word ends by a signal, and keeps what it measured.
fn is_interrupted_in(word: &'static str, server: u16, password: &str, database: &str) {
    let sandbox = Sandbox::new();
    let (proxy, silent) = falls_silent_at(server, word);
    let url = format!("url:postgres://basecase:{password}@127.0.0.1:{}/{database}", proxy.port());
    let arguments = ["compare", &url, "--rows", "2000", "--writes", "500", "--seconds", "1"];
    let mut command = sandbox.command(&arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if silent.recv_timeout(LONG).is_err() {
        let output = end_of(child, Duration::ZERO, word);
        panic!("it never said {word}: {output:?}");
    }
    // What it said before is to be settled; the wait is under way.
    thread::sleep(Duration::from_millis(100));
    signal(&child, "INT");
    let output = end_of(child, SOON, word);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{word}: {said}");
    assert!(said.ends_with("interrupted\nhint: run the same command again to resume\n"), "{word}: {said}");
    assert!(!said.contains("failed"), "{word}: {said}");
    let store = basecase_store::Store::open_read_only(&sandbox.path().join("basecase.sqlite")).unwrap();
    let experiment = store.experiments().unwrap().pop().unwrap();
    let trials = store.trials(&experiment.id).unwrap();
    assert!(trials.iter().all(basecase_model::Trial::is_complete), "{word}");
}

#[test]
fn defect_15_a_signal_ends_whatever_a_run_waits_for_and_the_run_goes_on_later() {
    let sandbox = Sandbox::new();
    let server = own_server(&sandbox, "postgres:18.6", Transport::Loopback, &[]);
    let basecase_client::Endpoint::Postgres(address) = server.endpoint("postgres") else { panic!() };
    let password = address.password.reveal();
    let mut session = server.endpoint("postgres").connect().unwrap();
    let words =
        ["create table", "insert into", "create index", "vacuum", "checkpoint\0", "count(*) from pi1"];
    thread::scope(|scope| {
        for (number, word) in words.into_iter().enumerate() {
            let database = format!("db{number}");
            session.query(&format!("create database {database}")).unwrap();
            let port = server.port();
            scope.spawn(move || is_interrupted_in(word, port, password, &database));
        }
    });
    drop(session);
    drop(server);
}

/// An installation like this one, but for a program that is a script.
fn installation(sandbox: &Sandbox, like: &Path, program: &str, script: &str) -> String {
    let root = sandbox.path().join("pg");
    fs::create_dir_all(root.join("bin")).unwrap();
    for entry in fs::read_dir(like).unwrap().flatten().filter(|entry| entry.file_name() != "bin") {
        symlink(entry.path(), root.join(entry.file_name())).unwrap();
    }
    for entry in
        fs::read_dir(like.join("bin")).unwrap().flatten().filter(|entry| entry.file_name() != *program)
    {
        symlink(entry.path(), root.join("bin").join(entry.file_name())).unwrap();
    }
    let path = root.join("bin").join(program);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("path:{}", root.display())
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "{what} does not come");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn defect_15_a_signal_ends_the_making_of_a_data_directory() {
    let sandbox = Sandbox::new();
    let build = obtained("postgres:18.6");
    let root = build.bin().parent().unwrap();
    // No other process sleeps so long.
    let asleep = format!("sleep 600.{}", std::process::id());
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && exec {}/bin/initdb \"$@\"\nexec {asleep}\n",
        root.display()
    );
    let path = installation(&sandbox, root, "initdb", &script);
    let mut run = Running::start(&sandbox, &["compare", &path, "--data", "data", "--rows", "1000"]);
    run.wait_for(&Point::phase("initialise"));
    wait_for("initdb", || !processes_with(&asleep).is_empty());
    run.signal("TERM");
    wait_for("the end of the run", || run.is_over());
    let told = run.finish();
    assert_eq!(told.last("interrupted")["message"], "interrupted", "{told}");
    assert_eq!(processes_with(&asleep), Vec::new());
}

#[test]
fn defect_15_a_second_signal_ends_a_run_at_once_and_its_server_too() {
    let sandbox = Sandbox::new();
    let arguments = ["compare", "postgres:18.6", "--data", "data", "--rows", "1000", "--seconds", "60"];
    let mut run = Running::start(&sandbox, &arguments);
    run.wait_for(&Point::trials(1));
    let data = sandbox.path().join("data");
    let (server, _) = processes_with(&format!(" -D {}", data.display())).swap_remove(0);
    // So it cannot stop in order.
    running::signal(server, "STOP");
    run.signal("INT");
    run.wait_for(&Point::phase("stop"));
    assert!(!run.is_over());
    run.signal("INT");
    let told = Instant::now();
    wait_for("the end after a second signal", || run.is_over());
    assert!(told.elapsed() < SOON);
    assert_eq!(run.finish().exit_code(), None, "the signal ended it");
    running::signal(server, "CONT");
    assert_nothing_runs(&data);
}

#[test]
fn defect_15_a_signal_ends_what_waits_for_its_reader() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.path().join("full");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut pipe = OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    // The usual capacity of pipe(7).
    pipe.write_all(&[b'x'; 65_536]).unwrap();
    let stuck = |arguments: &[&str]| {
        sandbox.command(arguments).stdout(pipe.try_clone().unwrap()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let run = [
        "compare",
        "sqlite",
        "--data",
        "data",
        "--rows",
        "1000",
        "--writes",
        "100",
        "--seconds",
        "1",
        "--settle",
        "off",
    ];
    assert!(sandbox.output(&run).status.success());
    let report = stuck(&["report", "basecase.sqlite", "--format", "text"]);
    let explain = stuck(&["explain", "basecase.sqlite", "l.i1"]);
    let found = stuck(&run);
    for (child, what) in [(report, "report"), (explain, "explain"), (found, "compare")] {
        // Until it writes; one that has not begun to ends all the same.
        thread::sleep(Duration::from_millis(700));
        signal(&child, "INT");
        end_of(child, SOON, what);
    }
}

#[test]
fn defect_16_a_reply_without_end_is_refused_before_it_takes_the_memory() {
    let endless: [(&str, Manner, &str); 4] = [
        (
            "postgres",
            |stream| {
                postgres_query(stream)?;
                let row = [b"\0\x01\0\0\x04\0".as_slice(), &[b'x'; 1024]].concat();
                without_end(stream, &postgres(b'D', &row))
            },
            "more than 256 MiB",
        ),
        (
            "mysql",
            |stream| {
                mysql_query(stream)?;
                stream.write_all(&[mysql(1, &[1]), mysql(2, &[3; 40])].concat())?;
                without_end(stream, &mysql(3, &[&[0xfc, 0, 4][..], &[b'x'; 1024]].concat()))
            },
            "more than 256 MiB",
        ),
        (
            "postgres",
            |stream| {
                postgres_query(stream)?;
                without_end(stream, b"D\x7f\xff\xff\xff")
            },
            "more than 64 MiB",
        ),
        (
            "mysql",
            |stream| {
                mysql_query(stream)?;
                without_end(stream, &mysql(1, &vec![7; 0xff_ffff]))
            },
            "more than 64 MiB",
        ),
    ];
    thread::scope(|scope| {
        for (scheme, manner, expected) in endless {
            let (address, _ended) = fake(manner);
            scope.spawn(move || refuses(scheme, &address.to_string(), expected, scheme));
        }
    });
}

#[test]
fn defect_05_no_complaint_repeats_a_password() {
    let sandbox = Sandbox::new();
    sandbox.write("open.toml", "candidates = [\"url:postgres://me:topsecret@h/d]\n");
    sandbox.write("odd.toml", "candidates = [\"url:postgres://me:1/topsecret@h/d\"]\n");
    for arguments in [
        ["compare", "url:postgres://user:123/topsecret@h/d"],
        ["compare", "url:mysql://user:top#topsecret@h/d"],
        ["compare", "url:mysql://user%3Atopsecret@h/d"],
        ["compare", "URL:postgres://user:topsecret@h/d"],
        ["compare", "--rows=url:postgres://user:topsecret@h/d"],
        ["report", "url:postgres://user:topsecret@h/d"],
        ["history", "postgres://user:topsecret@h/d"],
        ["url:postgres://user:topsecret@h/d", "compare"],
        ["run", "open.toml"],
        ["run", "odd.toml"],
        ["run", "url:postgres://user:topsecret@h/d"],
    ] {
        let output = sandbox.output(&arguments);
        let said = sandbox.transcript(&output);
        assert!(!output.status.success(), "{said}");
        assert!(!said.contains("secret") && said.len() > 20, "{arguments:?}: {said}");
    }
}
