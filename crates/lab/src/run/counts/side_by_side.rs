//! Work that is done side by side, since counts are not disturbed by load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use anyhow::Result;

/// Does the work on all items, in their order, on as many as there are processors at a time. `take` gets what came of each, as it comes.
/// After a stop nothing is begun or taken.
///
/// # Errors
/// Those of `take`.
pub(super) fn side_by_side<I: Send, T: Send>(
    items: Vec<I>,
    stop: &AtomicBool,
    work: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(I, T) -> Result<()>,
) -> Result<()> {
    let items = Mutex::new(items.into_iter());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, items, work) = (sender.clone(), &items, &work);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let next = items.lock().ok().and_then(|mut items| items.next());
                    let Some(item) = next else { break };
                    let done = work(&item);
                    // The receiver outlives every thread.
                    let _ = sender.send((item, done));
                }
            });
        }
        drop(sender);
        while let Ok((item, done)) = receiver.recv() {
            if !stop.load(Ordering::Relaxed) {
                take(item, done)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_none_after_a_stop() {
        let stop = AtomicBool::new(false);
        let mut taken = Vec::new();
        let square = |item: &u64| item * item;
        let take = |item, done| {
            taken.push((item, done));
            Ok(())
        };
        side_by_side((0..100).collect(), &stop, square, take).unwrap();
        taken.sort_unstable();
        assert_eq!(taken, (0..100).map(|item| (item, item * item)).collect::<Vec<_>>());

        stop.store(true, Ordering::Relaxed);
        side_by_side(vec![1], &stop, square, |_, _| anyhow::bail!("nothing is taken")).unwrap();
    }
}
