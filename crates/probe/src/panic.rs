//! The message of a thread's panic.

use std::any::Any;

/// The message of a panic, from what [`std::thread::JoinHandle::join`] or [`std::panic::catch_unwind`] returned.
pub fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it did not say why").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_tells_its_message() {
        let said = |panic: fn()| panic_message(&*std::panic::catch_unwind(panic).unwrap_err());
        assert_eq!(said(|| panic!("plain")), "plain");
        assert_eq!(said(|| panic!("with {}", 1)), "with 1");
        assert_eq!(said(|| std::panic::panic_any(1)), "it did not say why");
    }
}
