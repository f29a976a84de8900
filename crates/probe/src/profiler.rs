//! The stacks of a process tree, sampled while it works.
//!
//! The kernel samples each processor some hundred times a second, and writes each sample into a buffer for that processor:
//! kernel addresses, user registers, and a piece of the user stack. A thread empties the buffers, unwinds the stacks of the
//! tree's processes by the tables that every program has for exceptions (`.eh_frame`), and counts equal stacks. So builds
//! need no frame pointers. Frames get their names at the end.

mod address_space;
mod family;
mod frame;
mod module;
mod reader;
mod record;
mod registers;
mod source;
mod symbols;
mod tally;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use basecase_model::{Profile, ProfileKind};

use self::family::Family;
use self::frame::Frame;
use self::module::Modules;
use self::reader::Reader;
use self::source::Source;
use self::tally::{Stack, Tally};
use crate::panic::panic_message;
use crate::perf::{PerfError, most_samples_per_second};

/// Samples the stacks of a process tree from its start until it is finished.
///
/// Dropping it ends the profile without a result.
pub struct Profiler {
    frequency_hz: u32,
    events: Vec<(ProfileKind, &'static str)>,
    stop: Sender<()>,
    reader: JoinHandle<(Vec<Tally>, Modules)>,
}

impl Profiler {
    /// Samples per second and processor, at little cost: see `docs/performance.md`. The number is odd, so that samples do
    /// not run in lockstep with anything that happens every hundredth of a second.
    pub const USUAL_FREQUENCY_HZ: u32 = 333;

    /// Starts to sample the stacks of all processes and threads of the tree under `root`, and of those that they start,
    /// `frequency_hz` times a second on each processor.
    ///
    /// # Errors
    /// If there is no such process, or the kernel does not let this user observe whole processors. That takes root, the
    /// capability `CAP_PERFMON`, or `kernel.perf_event_paranoid` of 0 or less.
    pub fn start(root: u32, kinds: &[ProfileKind], frequency_hz: u32) -> Result<Profiler, PerfError> {
        if let Some(most) = most_samples_per_second().filter(|most| *most < frequency_hz) {
            return Err(PerfError::Rate { asked: frequency_hz, most });
        }
        if !Path::new(&format!("/proc/{root}")).exists() {
            return Err(PerfError::Process(root));
        }
        let open = |kind: &ProfileKind| Source::open(*kind, frequency_hz);
        let sources = kinds.iter().map(open).collect::<Result<Vec<Source>, PerfError>>()?;
        // Only after the events are open, so that no child is missed: the events report those that start from now on.
        let family = Family::of(root);
        let events = sources.iter().map(|source| (source.kind, source.event)).collect();
        let (stop, stopped) = channel();
        let reader = Reader::new(sources, family);
        let reader = thread::Builder::new()
            .name("profiler".to_owned())
            .spawn(move || reader.run(&stopped))
            .map_err(|error| PerfError::Reader(error.to_string()))?;
        Ok(Profiler { frequency_hz, events, stop, reader })
    }

    /// The kinds of profile, each with the event that causes a sample: the hardware's `cycles`, or `cpu-clock` if the
    /// machine has none, and `context-switches`.
    pub fn events(&self) -> &[(ProfileKind, &'static str)] {
        &self.events
    }

    /// Ends sampling, resolves the names of frames, and returns a profile for each kind, in the order of the request.
    ///
    /// # Errors
    /// If the thread that reads samples has failed.
    pub fn finish(self) -> Result<Vec<Profile>, PerfError> {
        drop(self.stop);
        let panicked = |payload: Box<dyn Any + Send>| {
            PerfError::Reader(format!("it ended by a panic: {}", panic_message(&*payload)))
        };
        let (tallies, modules) = self.reader.join().map_err(panicked)?;
        let kinds = self.events.iter().map(|(kind, _)| *kind);
        let profile = |(kind, tally)| profile(kind, self.frequency_hz, &tally, &modules);
        Ok(kinds.zip(tallies).map(profile).collect())
    }
}

fn profile(kind: ProfileKind, frequency_hz: u32, tally: &Tally, modules: &Modules) -> Profile {
    let frames: HashSet<Frame> = tally.stacks.keys().flat_map(|stack| &stack.frames).copied().collect();
    let names = symbols::names(&frames, modules);
    let numbers: BTreeSet<u32> = frames
        .iter()
        .filter_map(|frame| match frame {
            Frame::Code { module, .. } => Some(*module),
            _ => None,
        })
        .collect();
    let module = |number| modules.get(number).map(|it| (it.name().to_owned(), it.build_id.clone()));
    Profile {
        kind,
        frequency_hz,
        samples: tally.samples,
        lost: tally.lost,
        stacks: fold(kind, &tally.stacks, &names),
        modules: numbers.into_iter().filter_map(module).collect(),
    }
}

/// The stacks as text. Stacks whose frames have the same names are merged.
fn fold(kind: ProfileKind, stacks: &HashMap<Stack, u64>, names: &HashMap<Frame, String>) -> String {
    let mut folded: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, amount) in stacks {
        let frames =
            stack.frames.iter().rev().map(|frame| names.get(frame).map_or("[unknown]", String::as_str));
        let mut line: Vec<&str> = std::iter::once(&*stack.command).chain(frames).collect();
        // The number of nameless functions that called one another means nothing, and would keep equal stacks apart.
        line.dedup_by(|inner, outer| inner == outer && outer.starts_with('['));
        *folded.entry(line.join(";")).or_insert(0) += amount;
    }
    let unit = match kind {
        ProfileKind::Cpu => 1,
        // Nanoseconds to microseconds.
        ProfileKind::OffCpu => 1_000,
    };
    let amounts = folded.into_iter().map(|(stack, amount)| (stack, amount / unit));
    amounts.filter(|(_, amount)| *amount > 0).map(|(stack, amount)| format!("{stack} {amount}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// Profiles `work`; `None`, with the reason printed, if this machine forbids it.
    fn observe(root: u32, kind: ProfileKind, meanwhile: impl FnOnce()) -> Option<Profile> {
        // So often that hardly any context switch is missed.
        let frequency_hz = if kind == ProfileKind::OffCpu { 20_000 } else { 499 };
        match Profiler::start(root, &[kind], frequency_hz) {
            Ok(profiler) => {
                meanwhile();
                Some(profiler.finish().unwrap().remove(0))
            }
            Err(error) => {
                assert!(error.to_string().contains("\nhint: "));
                println!("skipped: {error}");
                None
            }
        }
    }

    fn shell(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    fn pause() {
        thread::sleep(Duration::from_millis(500));
    }

    #[inline(never)]
    fn burn(until: Instant) -> u64 {
        let mut count = 0u64;
        while Instant::now() < until {
            count = std::hint::black_box(count.wrapping_mul(31) + 1);
        }
        count
    }

    /// Does more after it, so that its frame stays below that of `burn`.
    #[inline(never)]
    fn burn_and_check(until: Instant) {
        assert!(std::hint::black_box(burn(until)) > 0);
    }

    #[test]
    fn a_function_of_this_program_is_found() {
        let until = Instant::now() + Duration::from_millis(500);
        let observed = observe(std::process::id(), ProfileKind::Cpu, || burn_and_check(until));
        let Some(profile) = observed else { return };
        let burning: Vec<&str> = profile.stacks.lines().filter(|line| line.contains("::burn")).collect();
        let has_its_caller = |line: &&&str| line.contains("::burn_and_check");
        assert!(
            burning.iter().filter(has_its_caller).count() * 10 >= burning.len() * 8,
            "{}",
            profile.stacks
        );
        assert!(!burning.is_empty() && profile.samples > 20, "{}", profile.stacks);
        assert!(profile.modules.iter().any(|(name, _)| name.starts_with("basecase_probe")));
    }

    #[test]
    fn children_that_come_later_are_found_by_their_command() {
        let shell = shell("sleep 0.1; i=0; (while :; do i=$((i+1)); done) & wait");
        let observed = observe(shell.id(), ProfileKind::Cpu, pause);
        for pid in crate::process::server_processes(shell.id()).into_iter().skip(1) {
            Command::new("sh").args(["-c", &format!("kill {pid}")]).status().unwrap();
        }
        end(shell);
        let Some(profile) = observed else { return };
        assert!(profile.samples > 10, "{}", profile.stacks);
        assert!(profile.stacks.lines().all(|line| line.starts_with("sh;") || line.starts_with("sleep;")));
        assert!(profile.stacks.lines().any(|line| line.starts_with("sh;")), "{}", profile.stacks);
    }

    #[test]
    fn sleep_is_time_off_the_processors() {
        // So long that the time to start the next one is small in comparison, even on a busy machine.
        let shell = shell("while :; do sleep 0.3; done");
        let start = Instant::now();
        let observed = observe(shell.id(), ProfileKind::OffCpu, || thread::sleep(Duration::from_secs(3)));
        let window_us = start.elapsed().as_micros() as u64;
        end(shell);
        let Some(profile) = observed else { return };
        let asleep_us = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap();
        let sleeping =
            profile.stacks.lines().filter(|line| line.starts_with("sleep;") && line.contains("nanosleep"));
        let elsewhere = profile.stacks.lines().filter(|line| {
            line.starts_with("sleep;") && (line.contains("[preempted]") || line.contains("[not sampled]"))
        });
        let elsewhere_us: u64 = elsewhere.map(asleep_us).sum();
        let asleep_us: u64 = sleeping.map(asleep_us).sum();
        // On a busy machine a new process waits for its processor.
        let least_us = window_us.saturating_sub(elsewhere_us) / 2;
        assert!(asleep_us > least_us && asleep_us <= window_us, "{asleep_us}\n{}", profile.stacks);
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        let error = Profiler::start(1 << 23, &[ProfileKind::Cpu], 99).err().unwrap();
        assert!(matches!(error, PerfError::Process(_)), "{error}");
    }

    #[test]
    fn stacks_of_the_same_names_are_one() {
        let stack = |frames: &[Frame]| Stack { command: "postgres".into(), frames: frames.to_vec() };
        let stacks = HashMap::from([
            (stack(&[Frame::Kernel(1), Frame::Unknown]), 2),
            (stack(&[Frame::Kernel(2), Frame::Unknown]), 3),
            (stack(&[Frame::Unknown, Frame::Unknown]), 1_000),
        ]);
        let names = HashMap::from([
            (Frame::Kernel(1), "schedule_[k]".to_owned()),
            (Frame::Kernel(2), "schedule_[k]".to_owned()),
        ]);
        let text = fold(ProfileKind::Cpu, &stacks, &names);
        assert_eq!(text, "postgres;[unknown] 1000\npostgres;[unknown];schedule_[k] 5\n");
        assert_eq!(fold(ProfileKind::OffCpu, &stacks, &names), "postgres;[unknown] 1\n");
    }
}
