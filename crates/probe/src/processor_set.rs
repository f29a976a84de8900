//! The processors that threads may run on.

use std::fmt;
use std::io;
use std::str::FromStr;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// A set of processor numbers, such as `0-3,6` in Linux's lists (cpuset(7)). Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessorSet(Vec<usize>);

impl ProcessorSet {
    /// The processors with these numbers; `None` if there are none.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut numbers: Vec<usize> = numbers.into_iter().collect();
        numbers.sort_unstable();
        numbers.dedup();
        (!numbers.is_empty()).then_some(ProcessorSet(numbers))
    }

    /// The processors that the current thread may run on.
    ///
    /// # Errors
    /// If the operating system does not tell.
    pub fn allowed() -> io::Result<Self> {
        let set = sched_getaffinity(Pid::from_raw(0))?;
        let is_set = |number: &usize| set.is_set(*number).unwrap_or(false);
        Self::of((0..CpuSet::count()).filter(is_set)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Confines the current thread, and the processes that it starts from now on, to these processors.
    ///
    /// # Errors
    /// If this process may not run on any of them.
    pub fn confine_thread(&self) -> io::Result<()> {
        let mut set = CpuSet::new();
        self.0.iter().try_for_each(|number| set.set(*number))?;
        Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
    }

    /// Their numbers, ascending.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for ProcessorSet {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut numbers = Vec::new();
        for part in text.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let number =
                |text: &str| text.trim().parse::<usize>().ok().filter(|number| *number < CpuSet::count());
            let (low, high) = (number(low).ok_or(())?, number(high).ok_or(())?);
            if low > high {
                return Err(());
            }
            numbers.extend(low..=high);
        }
        Self::of(numbers).ok_or(())
    }
}

impl fmt::Display for ProcessorSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_slice();
        while let Some(first) = rest.first() {
            let run = rest.iter().zip(*first..).take_while(|(number, expected)| *number == expected).count();
            let separator = if rest.len() == self.0.len() { "" } else { "," };
            match run {
                1 => write!(formatter, "{separator}{first}")?,
                _ => write!(formatter, "{separator}{first}-{}", first + run - 1)?,
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (text, shown) in [("0", "0"), ("3,1,2", "1-3"), ("0-2,5,7-8", "0-2,5,7-8"), ("1-1", "1")] {
            assert_eq!(text.parse::<ProcessorSet>().unwrap().to_string(), shown);
        }
        for wrong in ["", "a", "3-1", "1,", "99999"] {
            assert!(wrong.parse::<ProcessorSet>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_confined_thread_runs_where_it_may() {
        std::thread::spawn(|| {
            let first = ProcessorSet::allowed().unwrap().numbers()[0];
            let one = ProcessorSet::of([first]).unwrap();
            one.confine_thread().unwrap();
            assert_eq!(ProcessorSet::allowed().unwrap(), one);
        })
        .join()
        .unwrap();
    }
}
