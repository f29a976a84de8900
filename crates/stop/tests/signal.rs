//! A signal asks to stop. This has a process of its own, because the wish stays.

use std::io::Read;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use basecase_stop::{
    Direction, Stopped, afterwards, catch_signals, check, is_asked, on_stop, pause, wait_ready,
};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn defect_15_a_signal_ends_every_kind_of_wait() {
    let _catching = catch_signals().unwrap();
    let began = Instant::now();
    thread::scope(|scope| {
        let (mut blocked, _there) = UnixStream::pair().unwrap();
        let handle = blocked.try_clone().unwrap();
        let registration = on_stop(move || drop(handle.shutdown(Shutdown::Both)));
        let (silent, _other) = UnixStream::pair().unwrap();
        let waits = [
            scope.spawn(|| pause(LONG)),
            scope.spawn(move || {
                assert_eq!(blocked.read(&mut [0]).unwrap(), 0, "it is shut down");
                drop(registration);
            }),
            scope.spawn(move || {
                let error = wait_ready(silent.as_fd(), Direction::Read, None).unwrap_err();
                assert_eq!(error.to_string(), "interrupted");
            }),
        ];
        assert!(check().is_ok() && !is_asked());
        let pid = std::process::id().to_string();
        assert!(
            std::process::Command::new("sh")
                .args(["-c", &format!("kill -INT {pid}")])
                .status()
                .unwrap()
                .success()
        );
        waits.into_iter().for_each(|wait| wait.join().unwrap());
    });
    assert_eq!((check(), is_asked()), (Err(Stopped), true));
    // Clean-up work may still wait, but not for long.
    let last = Instant::now();
    afterwards(|| {
        assert!(check().is_ok());
        let (mut silent, _there) = UnixStream::pair().unwrap();
        let handle = silent.try_clone().unwrap();
        let _registration = on_stop(move || drop(handle.shutdown(Shutdown::Both)));
        assert_eq!(silent.read(&mut [0]).unwrap(), 0);
        assert!(last.elapsed() > Duration::from_millis(300));
    });
    assert!(check().is_err());
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}
