//! The limit on open files.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as the system allows: each session has a file descriptor, and another one to break it off.
/// Returns the limit; `None` if it cannot be read.
pub fn raise_open_files() -> Option<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).ok()?;
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
        return Some(hard);
    }
    Some(soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_as_high_as_it_can_be() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        assert_eq!(raise_open_files(), Some(hard));
    }
}
