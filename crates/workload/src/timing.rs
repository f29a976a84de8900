//! How long the steps of a workload file are measured.

use std::time::Duration;

use crate::Window;

/// How long a step is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepDuration {
    /// As long as steps that read.
    Read,
    /// As long as steps that write.
    Write,
    /// A fixed number of seconds.
    Seconds(u32),
}

/// How long steps are measured, and what else limits or paces them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timing {
    /// Seconds of a step that reads: `R`.
    pub seconds: f64,
    /// Seconds of a step that writes, `W`; `None` means as long as one that reads.
    pub write_seconds: Option<f64>,
    /// Seconds before the window opens.
    pub warm_up_seconds: f64,
    /// Events after which a step ends early; `None` means no limit.
    pub events: Option<u64>,
    /// Events per second that all threads together begin; `None` means as many as possible.
    pub rate: Option<f64>,
}

/// Default seconds of a step.
const DEFAULT_SECONDS: f64 = 10.0;
/// The maximum of any time in seconds.
pub(crate) const MOST_SECONDS: f64 = 10_000_000.0;

/// The bounds of the rate, in events per second.
const LEAST_RATE: f64 = 0.001;
const MOST_RATE: f64 = 1_000_000_000.0;

/// The option names, as a user gives them. `time` is sysbench's word for seconds.
pub(crate) const NAMES: [&str; 6] = ["seconds", "time", "write_seconds", "warm_up_seconds", "events", "rate"];

impl Timing {
    /// The defaults.
    pub(crate) fn new(warm_up_seconds: f64) -> Self {
        Timing { seconds: DEFAULT_SECONDS, write_seconds: None, warm_up_seconds, events: None, rate: None }
    }

    /// Sets the option of this name if it is one of these. `Err` tells what it expects.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let number = |least: f64, most: f64| {
            let number = value.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
            number.ok_or_else(|| format!("a number from {least} to {most}"))
        };
        let seconds = |least| number(least, MOST_SECONDS);
        let result = match name {
            "seconds" | "time" => seconds(0.1).map(|seconds| self.seconds = seconds),
            "write_seconds" => seconds(0.1).map(|seconds| self.write_seconds = Some(seconds)),
            "warm_up_seconds" => seconds(0.0).map(|seconds| self.warm_up_seconds = seconds),
            // 0 means no limit or no rate, as in sysbench.
            "events" => match value.parse() {
                Ok(events) => {
                    self.events = Some(events).filter(|events| *events > 0);
                    Ok(())
                }
                Err(_) => Err("a number of events, or 0 for no limit".to_owned()),
            },
            "rate" => match value.parse::<f64>() {
                Ok(0.0) => {
                    self.rate = None;
                    Ok(())
                }
                _ => number(LEAST_RATE, MOST_RATE).map(|rate| self.rate = Some(rate)),
            },
            _ => return None,
        };
        Some(result)
    }

    /// Names and values.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let write_seconds = self.write_seconds.unwrap_or(self.seconds);
        let mut facts = vec![
            ("seconds", self.seconds.to_string()),
            ("write_seconds", write_seconds.to_string()),
            ("warm_up_seconds", self.warm_up_seconds.to_string()),
        ];
        facts.extend(self.events.map(|events| ("events", events.to_string())));
        facts.extend(self.rate.map(|rate| ("rate", rate.to_string())));
        facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Seconds of a step. A fixed time is meant for runs of published length; a shorter run shortens it.
    pub fn seconds_of(&self, duration: StepDuration) -> f64 {
        match duration {
            StepDuration::Read => self.seconds,
            StepDuration::Write => self.write_seconds.unwrap_or(self.seconds),
            StepDuration::Seconds(seconds) => self.seconds.min(f64::from(seconds)),
        }
    }

    pub(crate) fn window(&self, duration: StepDuration) -> Window {
        Window {
            warm_up: Duration::from_secs_f64(self.warm_up_seconds),
            time: Some(Duration::from_secs_f64(self.seconds_of(duration))),
            events: self.events,
            events_per_second: self.rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_17_times_and_rates_have_bounds() {
        let mut timing = Timing::new(5.0);
        assert!(timing.set("threads", "1").is_none());
        timing.set("time", "30").unwrap().unwrap();
        assert_eq!(timing.seconds_of(StepDuration::Write), 30.0);
        assert_eq!([10, 60].map(|seconds| timing.seconds_of(StepDuration::Seconds(seconds))), [10.0, 30.0]);
        timing.set("write_seconds", "45").unwrap().unwrap();
        assert_eq!(timing.window(StepDuration::Write).time, Some(Duration::from_secs(45)));
        assert_eq!(timing.window(StepDuration::Read).warm_up, Duration::from_secs(5));
        timing.set("events", "0").unwrap().unwrap();
        assert_eq!(timing.events, None);
        timing.set("rate", "-0").unwrap().unwrap();
        assert_eq!(timing.rate, None);
        for (name, value) in [
            ("seconds", "0"),
            ("seconds", "NaN"),
            ("events", "-1"),
            ("rate", "inf"),
            ("rate", "1e-20"),
            ("rate", "-1"),
        ] {
            assert!(timing.set(name, value).unwrap().is_err(), "{name}={value}");
        }
    }
}
