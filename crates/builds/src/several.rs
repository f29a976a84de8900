//! Several builds at once.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, ScopedJoinHandle};

use crate::build::Build;
use crate::library::{Library, Pending};
use crate::obtain_error::ObtainError;
use crate::recipe::{Recipe, Source};

impl Library {
    /// The builds of these sources, in their order, as by [`Library::obtain`]. Versions of SQLite, each of which keeps a single processor busy while it
    /// is compiled, are compiled beside each other.
    ///
    /// # Errors
    /// As [`Library::obtain`], for the first of them that fails.
    pub fn obtain_all(
        &self,
        sources: &[Source],
        notify: &mut dyn FnMut(&str),
    ) -> Result<Vec<Build>, ObtainError> {
        let is_due = |source: &&Source| {
            source.recipe.as_ref().is_some_and(Recipe::is_source)
                && matches!(self.pending(source), Ok(Some(Pending::Compile)))
        };
        let due: Vec<&Source> = sources.iter().filter(is_due).collect();
        if due.len() > 1 {
            self.compile_beside_each_other(&due, notify)?;
        }
        sources.iter().map(|source| self.obtain(source, notify)).collect()
    }

    fn compile_beside_each_other(
        &self,
        due: &[&Source],
        notify: &mut dyn FnMut(&str),
    ) -> Result<(), ObtainError> {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(due.len());
        let queue = Mutex::new(due.iter());
        let next = || queue.lock().ok().and_then(|mut queue| queue.next());
        let (sender, lines) = channel::<String>();
        let work = |sender: Sender<String>| {
            // The receiver outlives every worker.
            let mut tell = move |line: &str| drop(sender.send(line.to_owned()));
            while let Some(source) = next() {
                if let Err(error) = self.obtain(source, &mut tell) {
                    // What is left would be compiled for nothing.
                    while next().is_some() {}
                    return Err(error);
                }
            }
            Ok(())
        };
        let work = &work;
        let results: Vec<Result<(), ObtainError>> = thread::scope(|scope| {
            let spawn = |sender| scope.spawn(move || work(sender));
            let workers: Vec<_> = (0..workers).map(|_| spawn(sender.clone())).collect();
            drop(sender);
            lines.iter().for_each(|line| notify(&line));
            workers.into_iter().filter_map(|worker| ScopedJoinHandle::join(worker).ok()).collect()
        });
        results.into_iter().collect()
    }
}
