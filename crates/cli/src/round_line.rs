//! Where rounds stand, as a line for people.

use std::time::Instant;

use basecase_lab::Standing;
use basecase_report::duration;

/// The round that goes on.
pub(crate) struct RoundLine {
    round: u32,
    /// Where those before it stand.
    standing: Standing,
    began: Instant,
}

impl RoundLine {
    /// A round that begins now, counted from 0.
    pub(crate) fn new(round: u32, standing: Standing) -> RoundLine {
        RoundLine { round, standing, began: Instant::now() }
    }

    /// Seconds since it began.
    pub(crate) fn passed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// E.g. `round 6/12 · 4 min left · 3 faster, 1 slower, 5 same, 3 open`, so many seconds after it began: short, because what is measured
    /// follows on the same line.
    pub(crate) fn line(&self, passed: f64) -> String {
        let Standing { faster, slower, unchanged, open, .. } = self.standing;
        let kinds = [(faster, "faster"), (slower, "slower"), (unchanged, "same"), (open, "open")];
        let left = self.standing.seconds_left.map(|seconds| left(seconds - passed));
        let name = name(self.round, &self.standing, "/");
        let verdicts = Some(listed(&kinds)).filter(|verdicts| !verdicts.is_empty());
        [Some(name), left, verdicts].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// A round that is over, counted from 0, which leaves so many steps open: `round 6 of about 12: 31 s · 4 min left · in: …`.
pub(crate) fn round_end(round: u32, seconds: f64, open: usize, standing: Standing) -> String {
    let first = format!("{}: {seconds:.0} s", name(round, &standing, " of about "));
    let left = standing.seconds_left.filter(|_| open > 0).map(left);
    let parts = [Some(first), left, Some(verdicts(&standing))];
    let line = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    match (open, standing.open) {
        (0, _) | (_, 1..) => line,
        (1, 0) => format!("{line}; the size of a change is measured on in 1 step"),
        (steps, 0) => format!("{line}; the size of a change is measured on in {steps} steps"),
    }
}

fn left(seconds: f64) -> String {
    format!("{} left", duration(seconds.max(0.0)))
}

/// E.g. `3 faster, 5 unchanged`, without what there is none of.
fn listed(kinds: &[(usize, &str)]) -> String {
    let there: Vec<String> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    there.join(", ")
}

/// E.g. `round 6 of about 12`, with these words before how many rounds there will be.
fn name(round: u32, standing: &Standing, of: &str) -> String {
    let number = round + 1;
    match standing.rounds.filter(|all| *all > number) {
        Some(all) => format!("round {number}{of}{all}"),
        None => format!("round {number}"),
    }
}

/// Which verdicts are in, and how many are not.
fn verdicts(standing: &Standing) -> String {
    let Standing { faster, slower, unchanged, open, .. } = *standing;
    let known = listed(&[(faster, "faster"), (slower, "slower"), (unchanged, "unchanged")]);
    let open = if open == 0 { "none open".to_owned() } else { format!("{open} open") };
    if known.is_empty() { format!("no verdict yet, {open}") } else { format!("in: {known}; {open}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDING: Standing =
        Standing { faster: 3, slower: 1, unchanged: 5, open: 3, rounds: Some(12), seconds_left: Some(250.0) };

    #[test]
    fn a_round_that_goes_on() {
        let line = |standing, passed| RoundLine::new(5, standing).line(passed);
        assert_eq!(line(STANDING, 10.0), "round 6/12 · 4 min left · 3 faster, 1 slower, 5 same, 3 open");
        let with_step = format!("{} · scan_range=100", line(STANDING, 10.0));
        assert!(with_step.chars().count() <= 78, "the step's name is on the line as well");
        assert!(line(STANDING, 300.0).contains("0 s left"), "later than it was thought");
        let first = Standing { open: 9, ..Standing::default() };
        assert_eq!(RoundLine::new(0, first).line(0.0), "round 1 · 9 open");
    }

    #[test]
    fn a_round_that_is_over() {
        assert_eq!(
            round_end(5, 31.2, 2, STANDING),
            "round 6 of about 12: 31 s · 4 min left · in: 3 faster, 1 slower, 5 unchanged; 3 open"
        );
        let decided = Standing { faster: 0, open: 0, rounds: Some(6), seconds_left: Some(0.0), ..STANDING };
        assert_eq!(round_end(5, 31.2, 0, decided), "round 6: 31 s · in: 1 slower, 5 unchanged; none open");
        assert!(round_end(5, 31.2, 2, decided).ends_with("; the size of a change is measured on in 2 steps"));
    }
}
