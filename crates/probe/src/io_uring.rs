//! Whether the kernel lets programs use io_uring.

use std::fs;

use rustix::io::Errno;
use rustix::io_uring::{io_uring_params, io_uring_setup};

/// Who may use it: 0 everybody, 1 the privileged, 2 nobody. Kernels before 6.6 have no such file.
const DISABLED: &str = "/proc/sys/kernel/io_uring_disabled";

/// Why programs without privileges cannot use io_uring here; `None` if they can.
pub fn io_uring_refusal() -> Option<String> {
    let disabled = fs::read_to_string(DISABLED).ok().and_then(|text| text.trim().parse().ok());
    refusal(set_up(), disabled.unwrap_or(0), rustix::process::geteuid().is_root())
}

/// Makes the smallest ring.
fn set_up() -> Result<(), Errno> {
    let mut parameters = io_uring_params::default();
    #[expect(unsafe_code, reason = "io_uring_setup is unsafe; it borrows no descriptor without flags")]
    // SAFETY: no flag is set, so the kernel reads no descriptor from the parameters.
    let ring = unsafe { io_uring_setup(1, &mut parameters) };
    ring.map(drop)
}

/// `is_privileged` tells whether the ring was made with privileges.
fn refusal(set_up: Result<(), Errno>, disabled: u8, is_privileged: bool) -> Option<String> {
    match (set_up, disabled) {
        (_, 2) => Some("kernel.io_uring_disabled is 2, so nobody may use it".to_owned()),
        (_, 1) if is_privileged => {
            Some("kernel.io_uring_disabled is 1, so only the privileged may use it".to_owned())
        }
        (Err(Errno::NOSYS), _) => Some("this kernel has none".to_owned()),
        (Err(Errno::PERM | Errno::ACCESS), _) => {
            Some("it is forbidden here, as in many containers".to_owned())
        }
        // Out of descriptors or memory, for instance, which says nothing of a server.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_forbid_it_is_told() {
        let said =
            |set_up, disabled, is_privileged| refusal(set_up, disabled, is_privileged).unwrap_or_default();
        assert_eq!(said(Ok(()), 0, false), "");
        assert_eq!(said(Err(Errno::MFILE), 0, false), "");
        assert!(said(Err(Errno::NOSYS), 0, true).contains("kernel has none"));
        assert!(said(Err(Errno::PERM), 0, true).contains("forbidden here"));
        assert!(said(Ok(()), 1, true).contains("io_uring_disabled is 1"));
        assert_eq!(said(Ok(()), 1, false), "", "a member of kernel.io_uring_group");
        assert!(said(Err(Errno::PERM), 2, true).contains("io_uring_disabled is 2"));
    }

    #[test]
    fn this_kernel_answers() {
        assert!(!matches!(set_up(), Err(Errno::INVAL | Errno::FAULT)), "the call itself is right");
    }
}
