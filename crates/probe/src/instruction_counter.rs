//! The instructions that one process or thread executes in user mode, as the processor counts them.

use std::hint::black_box;
use std::io;

use nix::errno::Errno;
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, CountAndTime, Counter};

use crate::perf::{Attempt, PerfError};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterEvent {
    /// Instructions, by the processor.
    Instructions,
    /// The nanoseconds that the thread runs, by the kernel: to try the way of a count where the processor has no counter.
    TaskClock,
}

impl CounterEvent {
    const ALL: [CounterEvent; 2] = [CounterEvent::Instructions, CounterEvent::TaskClock];

    /// Its name, as in `perf list`.
    pub fn name(self) -> &'static str {
        match self {
            CounterEvent::Instructions => "instructions",
            CounterEvent::TaskClock => "task-clock",
        }
    }

    /// The event of this name.
    pub fn named(name: &str) -> Option<Self> {
        CounterEvent::ALL.into_iter().find(|event| event.name() == name)
    }

    fn builder(self) -> Builder<'static> {
        // A new builder leaves the kernel and the hypervisor out.
        match self {
            CounterEvent::Instructions => Builder::new(Hardware::INSTRUCTIONS),
            CounterEvent::TaskClock => Builder::new(Software::TASK_CLOCK),
        }
    }

    fn attempt(self) -> Attempt {
        Attempt { event: self.name(), purpose: "count the instructions of its processes", enough: 2 }
    }
}

/// A counter of one thread, without those that it starts.
#[derive(Debug)]
pub struct InstructionCounter {
    event: CounterEvent,
    counter: Counter,
}

impl InstructionCounter {
    /// Tries whether this machine counts an event.
    ///
    /// # Errors
    /// Why it does not: there is no counter, the kernel does not let this user have it, or it stays at 0.
    pub fn try_event(event: CounterEvent) -> Result<(), PerfError> {
        let mut counter = InstructionCounter::of_this_thread(event)?;
        counter.start()?;
        black_box((0..100_000_u64).fold(0, |sum, number| black_box(sum ^ number)));
        counter.stop()?;
        match counter.read()? {
            0 => Err(PerfError::Silent { event: event.name() }),
            _ => Ok(()),
        }
    }

    /// A counter of the thread with this number, which for the first thread of a process is that of the process. It counts from
    /// [`InstructionCounter::start`] on.
    ///
    /// # Errors
    /// When there is no such thread, or as for [`InstructionCounter::try_event`].
    pub fn of_thread(event: CounterEvent, thread: u32) -> Result<Self, PerfError> {
        InstructionCounter::open(event, Some(thread))
    }

    /// A counter of the thread that calls this.
    ///
    /// # Errors
    /// As for [`InstructionCounter::try_event`].
    pub fn of_this_thread(event: CounterEvent) -> Result<Self, PerfError> {
        InstructionCounter::open(event, None)
    }

    fn open(event: CounterEvent, thread: Option<u32>) -> Result<Self, PerfError> {
        let mut builder = event.builder();
        if let Some(number) = thread {
            let number = i32::try_from(number).ok().filter(|number| *number > 0);
            builder.observe_pid(number.ok_or(PerfError::Process(thread.unwrap_or(0)))?);
        }
        match builder.any_cpu().build() {
            Ok(counter) => Ok(InstructionCounter { event, counter }),
            Err(error) if error.raw_os_error() == Some(Errno::ESRCH as i32) => {
                Err(PerfError::Process(thread.unwrap_or(0)))
            }
            Err(error) => Err(event.attempt().refused(error)),
        }
    }

    /// Counts from now on.
    ///
    /// # Errors
    /// When the kernel does not allow it.
    pub fn start(&mut self) -> Result<(), PerfError> {
        self.counter.enable().map_err(|error| self.failed(error))
    }

    /// Counts no more.
    ///
    /// # Errors
    /// When the kernel does not allow it.
    pub fn stop(&mut self) -> Result<(), PerfError> {
        self.counter.disable().map_err(|error| self.failed(error))
    }

    /// What was counted while it was started.
    ///
    /// # Errors
    /// When the processor counted for a part of the time only: what is reckoned for the rest is no count.
    pub fn read(&mut self) -> Result<u64, PerfError> {
        let read = self.counter.read_count_and_time().map_err(|error| self.failed(error))?;
        whole(self.event, &read)
    }

    fn failed(&self, source: io::Error) -> PerfError {
        PerfError::Other { event: self.event.name(), source }
    }
}

/// The count, if it is one of the whole time for which the thread ran.
fn whole(event: CounterEvent, read: &CountAndTime) -> Result<u64, PerfError> {
    if read.time_running < read.time_enabled {
        let share = 100.0 * read.time_running as f64 / read.time_enabled as f64;
        return Err(PerfError::Shared { event: event.name(), per_cent: share });
    }
    Ok(read.count)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::process::{Child, Command, Stdio};
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    /// What this machine lets tests count, or nothing if it lets them count nothing.
    fn event() -> Option<CounterEvent> {
        let found = CounterEvent::ALL
            .into_iter()
            .find_map(|event| InstructionCounter::try_event(event).ok().map(|()| event));
        if found.is_none() {
            println!("skipped: {}", InstructionCounter::try_event(CounterEvent::TaskClock).unwrap_err());
        }
        found
    }

    /// A shell that counts to a number for each line that it reads, and says when it has.
    fn shell() -> Child {
        let script = "while read number; do i=0; while [ $i -lt $number ]; do i=$((i+1)); done; echo .; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn work(shell: &mut Child, number: u32) {
        shell.stdin.as_mut().unwrap().write_all(format!("{number}\n").as_bytes()).unwrap();
        shell.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    }

    #[test]
    fn a_process_is_counted_while_the_counter_is_started_and_more_work_is_more() {
        let Some(event) = event() else { return };
        let mut shell = shell();
        let mut counted = |number| {
            let mut counter = InstructionCounter::of_thread(event, shell.id()).unwrap();
            work(&mut shell, 20_000);
            assert_eq!(counter.read().unwrap(), 0, "it is not started");
            counter.start().unwrap();
            work(&mut shell, number);
            counter.stop().unwrap();
            let counted = counter.read().unwrap();
            work(&mut shell, 20_000);
            assert_eq!(counter.read().unwrap(), counted, "it is stopped");
            counted
        };
        let (less, more) = (counted(1_000), counted(100_000));
        assert!(less > 0 && more > 10 * less, "{less} {more}");
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }

    #[test]
    fn another_thread_of_a_process_is_counted_alone() {
        let Some(event) = event() else { return };
        let (tell, told) = channel();
        let (go, wait) = channel::<()>();
        let idle = thread::spawn(move || {
            tell.send(nix::unistd::gettid().as_raw().unsigned_abs()).unwrap();
            // It ends with its channel.
            let _ = wait.recv();
        });
        let thread = told.recv().unwrap();
        let sleeps = || {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
            stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"))
        };
        while !sleeps() {
            thread::yield_now();
        }
        let mut other = InstructionCounter::of_thread(event, thread).unwrap();
        let mut own = InstructionCounter::of_this_thread(event).unwrap();
        other.start().unwrap();
        own.start().unwrap();
        black_box((0..3_000_000_u64).fold(0, |sum, number| black_box(sum ^ number)));
        let (own, other) = (own.read().unwrap(), other.read().unwrap());
        assert!(own > 100 * other.max(1) || other == 0, "{own} {other}");
        drop(go);
        idle.join().unwrap();
    }

    #[test]
    fn a_count_of_a_part_of_the_time_is_none() {
        let read = |time_enabled, time_running| CountAndTime { count: 7, time_enabled, time_running };
        let told = |read| whole(CounterEvent::Instructions, &read).map_err(|error| error.to_string());
        assert_eq!(told(read(0, 0)), Ok(7));
        assert_eq!(told(read(10, 10)), Ok(7));
        let said = told(read(40, 10)).unwrap_err();
        assert!(said.starts_with("instructions were counted for 25.0 % of the time only\nhint: "), "{said}");
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        // The first of them the kernel is asked for, which may be forbidden.
        let numbers = [1 << 23, u32::MAX, 0].into_iter().skip(usize::from(event().is_none()));
        for number in numbers {
            let refused = InstructionCounter::of_thread(CounterEvent::TaskClock, number);
            assert!(matches!(refused, Err(PerfError::Process(found)) if found == number), "{refused:?}");
        }
    }

    #[test]
    fn events_are_found_by_their_names() {
        for event in CounterEvent::ALL {
            assert_eq!(CounterEvent::named(event.name()), Some(event));
        }
        assert_eq!(CounterEvent::named("cycles"), None);
    }
}
