//! What counts the instructions of a plan.

use anyhow::{Result, anyhow};
use basecase_model::{CountEngine, HostFacts};
use basecase_probe::{CounterEvent, InstructionCounter, PerfError};
use basecase_server::{Callgrind, NoCallgrind};

use crate::request::CountsEngine;

/// What counts instructions, as it was found on this machine.
#[derive(Debug, Clone)]
pub(crate) enum InstructionMeter {
    /// Valgrind's tool.
    Callgrind(Callgrind),
    /// The processor.
    Hardware(CounterEvent),
}

impl InstructionMeter {
    /// Finds what is asked for, and tries it.
    ///
    /// # Errors
    /// When it is missing or does not work.
    pub(crate) fn find(asked: CountsEngine) -> Result<Self> {
        match asked {
            CountsEngine::Callgrind => Ok(InstructionMeter::Callgrind(Callgrind::find()?)),
            CountsEngine::Hardware => {
                InstructionMeter::counter(CounterEvent::Instructions).map_err(|problem| no_counter(&problem))
            }
            CountsEngine::TaskClock => {
                InstructionMeter::counter(CounterEvent::TaskClock).map_err(|problem| no_counter(&problem))
            }
            CountsEngine::Auto => InstructionMeter::counter(CounterEvent::Instructions).or_else(|problem| {
                Callgrind::find()
                    .map(InstructionMeter::Callgrind)
                    .map_err(|missing| nothing_counts(&missing, &problem))
            }),
        }
    }

    fn counter(event: CounterEvent) -> Result<Self, PerfError> {
        InstructionCounter::try_event(event).map(|()| InstructionMeter::Hardware(event))
    }

    /// What was found, as it can be asked for.
    pub(crate) fn asked(&self) -> CountsEngine {
        match self {
            InstructionMeter::Callgrind(_) => CountsEngine::Callgrind,
            InstructionMeter::Hardware(CounterEvent::Instructions) => CountsEngine::Hardware,
            InstructionMeter::Hardware(CounterEvent::TaskClock) => CountsEngine::TaskClock,
        }
    }

    /// As counts have it.
    pub(crate) fn engine(&self) -> CountEngine {
        match self {
            InstructionMeter::Callgrind(_) => CountEngine::Callgrind,
            InstructionMeter::Hardware(_) => CountEngine::Hardware,
        }
    }

    /// Its version: of the processor's counter, what counts and who reads it.
    pub(crate) fn version(&self, host: &HostFacts) -> String {
        match self {
            InstructionMeter::Callgrind(callgrind) => callgrind.version().to_owned(),
            InstructionMeter::Hardware(event) => {
                let other = match event {
                    CounterEvent::Instructions => "",
                    CounterEvent::TaskClock => ", nanoseconds instead of instructions",
                };
                format!("{}, Linux {}{other}", host.cpu_model, host.kernel)
            }
        }
    }

    /// Callgrind, if that counts.
    pub(crate) fn callgrind(&self) -> Option<&Callgrind> {
        match self {
            InstructionMeter::Callgrind(callgrind) => Some(callgrind),
            InstructionMeter::Hardware(_) => None,
        }
    }
}

/// A message and its hint.
fn parts(text: &str) -> (&str, &str) {
    text.split_once("\nhint: ").unwrap_or((text, "see the message"))
}

/// Why the processor cannot count.
fn no_counter(problem: &PerfError) -> anyhow::Error {
    let text = problem.to_string();
    let (what, hint) = parts(&text);
    let hint = match problem {
        PerfError::Event { .. } => "few virtual machines have the processor's counters",
        _ => hint,
    };
    anyhow!(
        "the processor cannot count instructions here: {what}\nhint: {hint}; --counts-engine callgrind needs none"
    )
}

/// Why nothing can count.
fn nothing_counts(missing: &NoCallgrind, problem: &PerfError) -> anyhow::Error {
    let (missing, problem) = (missing.to_string(), problem.to_string());
    let (what, hint) = parts(&missing);
    anyhow!("{what}; nor can the processor count them: {}\nhint: {hint}", parts(&problem).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_the_counter_and_without_valgrind_says_what_to_install() {
        let said =
            nothing_counts(&NoCallgrind::Missing, &PerfError::Event { event: "instructions" }).to_string();
        assert_eq!(
            said,
            "instructions cannot be counted: there is no program valgrind in PATH; nor can the processor count them: the kernel cannot \
             count instructions\nhint: install it (Debian and Ubuntu: apt-get install valgrind), or add its folder to PATH"
        );
    }

    #[test]
    fn a_machine_without_the_counter_says_why_and_what_else_there_is() {
        let said = no_counter(&PerfError::Event { event: "instructions" }).to_string();
        assert_eq!(
            said,
            "the processor cannot count instructions here: the kernel cannot count instructions\n\
             hint: few virtual machines have the processor's counters; --counts-engine callgrind needs none"
        );
        let setting =
            PerfError::Setting { purpose: "count the instructions of its processes", setting: 3, enough: 2 };
        let said = no_counter(&setting).to_string();
        assert!(said.contains("paranoid is 3\nhint: run as root, or"), "{said}");
    }

    #[test]
    fn what_was_found_can_be_asked_for_again() {
        for asked in [CountsEngine::Callgrind, CountsEngine::Hardware, CountsEngine::TaskClock] {
            match InstructionMeter::find(asked) {
                Ok(meter) => assert_eq!(meter.asked(), asked),
                Err(refusal) => assert!(refusal.to_string().contains("\nhint: "), "{refusal}"),
            }
        }
        let auto = InstructionMeter::find(CountsEngine::Auto).map(|meter| meter.engine()).ok();
        let hardware = InstructionMeter::find(CountsEngine::Hardware).map(|meter| meter.engine()).ok();
        assert_eq!(auto == Some(CountEngine::Hardware), hardware.is_some());
    }
}
