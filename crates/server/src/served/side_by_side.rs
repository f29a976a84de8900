//! Statements that are executed in parallel, each in its own session.

use std::thread;

use basecase_client::{Endpoint, Error};
use basecase_probe::panic_message;

/// Executes all statements in parallel, and waits for all of them.
///
/// # Errors
/// The error of the first statement, in order, that failed. A thread that panicked has failed as well.
pub(crate) fn execute_all(endpoint: &Endpoint, statements: &[String]) -> Result<(), Error> {
    all_at_once(statements, |statement| endpoint.connect()?.query(statement).map(drop))
}

fn all_at_once<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<(), Error> + Sync) -> Result<(), Error> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = items.iter().map(|item| scope.spawn(move || work(item))).collect();
        let panicked =
            |payload: Box<dyn std::any::Any + Send>| Err(Error::of_panic(&panic_message(&*payload)));
        // Join all of them, because a scope panics if a thread's panic was not collected.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).fold(Ok(()), Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn defect_20_a_panic_of_one_that_pays_debt_is_an_error_with_its_message() {
        let done = AtomicU32::new(0);
        let work = |table: &&str| {
            assert_ne!(*table, "pi2", "no such table");
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        assert!(all_at_once(&["pi1", "pi3"], work).is_ok());
        let error = all_at_once(&["pi1", "pi2", "pi3"], work).unwrap_err().to_string();
        assert!(
            error.starts_with("a thread of basecase panicked: ") && error.contains("no such table"),
            "{error}"
        );
        assert!(error.contains("\nhint: "), "{error}");
        assert_eq!(done.into_inner(), 4, "the others did their part");
    }
}
