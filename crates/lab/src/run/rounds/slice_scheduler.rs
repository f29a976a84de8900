//! Which candidate runs next, and for how long: the slices of one step in one round.

use std::collections::VecDeque;
use std::time::Duration;

use basecase_load::{SliceEnd, SliceResult, SliceSpec};
use basecase_model::StepFacts;
use basecase_stats::{Allocation, Orders, StepVariances, UnitCosts};

use crate::request::Timing;

const MS: Duration = Duration::from_millis(1);

/// With more candidates than this, the base case has two slices each way of a pass, because its noise affects every comparison.
const MANY: usize = 4;
/// How long operations do not count after a switch. By then the processors' caches are filled.
const SETTLE: Duration = MS.saturating_mul(2);
/// Shortest and longest slices of steps that read.
const LENGTHS: (Duration, Duration) = (MS.saturating_mul(30), MS.saturating_mul(3_000));
/// Events for which a slice of a step that reads has time. The first does not count, and the others are timed from answer to answer, so a
/// small number does no harm: with 1, 5 and 17 counted scans, rounds of a base case against itself scattered by 1.0, 1.8 and 2.3 %.
const EVENTS: f64 = 2.0;
/// How many times as long as its ending a slice of several connections is at least: while the last answers come in, fewer and fewer of
/// them share the machine.
const ENDINGS: u32 = 50;
/// How long each candidate works for a step in a round, when all have had their slices.
pub(crate) const WORK: Duration = MS.saturating_mul(1_500);
/// The same at most, where the rounds before tell how the time is best spent.
pub(crate) const MOST_WORK: Duration = MS.saturating_mul(6_000);
/// The least share of their usual times that a step's work and warm-up are given where a budget would end before its rounds can be judged.
pub(crate) const LEAST_SHARE: f64 = 0.2;
/// Fewest and most passes.
const PASSES: (u32, u32) = (2, 50);
/// From this many passes it is known what is typical of them, if slices are shorter than [`LONG`].
const TYPICAL_PASSES: u32 = 6;
/// From this length on, slices have as few passes as possible, and wait for a quiet machine. Other work during shorter slices hits all
/// candidates alike.
pub(crate) const LONG: Duration = MS.saturating_mul(1_000);
/// How long each candidate warms up for a step: half of it, then the others, then the other half.
pub(crate) const WARM_UP: Duration = MS.saturating_mul(600);
/// The same for the first step after a start: the sessions' processes have to find their way to the server's cache.
pub(crate) const FIRST_WARM_UP: Duration = MS.saturating_mul(2_600);
/// How long the candidate that warms up first works to find out how many events that is, in a step that writes.
const PROBE: Duration = MS.saturating_mul(50);
/// How long a slice of a step that writes takes the slowest candidate. With 0.3 s, and a sixth as many, rounds of a base case against itself
/// scattered by 6 % on a machine with neighbours; with these by 1.2 %.
const WRITING: Duration = MS.saturating_mul(50);
const WRITING_PASSES: u32 = 24;

/// How long a candidate works in one session before all have new ones. What a session did before decides how it fares, so that a round of
/// one session tells of that session.
const SESSION: Duration = MS.saturating_mul(300);
/// How many times as long a session may be where sessions differ little.
const LONGER_SESSION: u32 = 2;
/// Fewest sessions of a round, where it has several: each is a draw.
const LEAST_SESSIONS: f64 = 2.0;
/// Fewest passes of a session.
const SESSION_PASSES: u32 = 2;
/// How long a new session warms up, and for how many events at least: Postgres plans the first five executions of a statement one by one.
const SESSION_WARM_UP: Duration = MS.saturating_mul(100);
const SESSION_EVENTS: f64 = 8.0;
/// From this length of its warm-up on, a new session costs more than it tells.
const LONG_WARM_UP: Duration = MS.saturating_mul(400);

/// How long a step of a round takes each candidate about, where nothing tells better.
pub(crate) fn usual_time(writes: bool) -> Duration {
    WARM_UP + if writes { 2 * WRITING_PASSES * WRITING } else { WORK }
}

/// The settings of the slices of a step in a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceSettings {
    /// The number of the base case among the candidates.
    pub(crate) base: usize,
    /// Length of slices that was asked for.
    pub(crate) slice: Option<Duration>,
    /// What the rounds before tell of this step, if there were enough of them.
    pub(crate) experience: Option<Experience>,
    /// How long each candidate may work at most, where that tells more than another start.
    pub(crate) most_work: Duration,
    /// How many sessions each connection has at most, one after the other.
    pub(crate) most_sessions: u32,
    /// The factor on all fixed durations.
    pub(crate) timing: Timing,
}

/// What earlier rounds tell of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Experience {
    /// Where its scatter comes from.
    pub(crate) variances: StepVariances,
    /// How long a step of a round takes each candidate besides the slices that count: its share of the start, and the warm-up.
    pub(crate) fixed_time: Duration,
}

/// A slice that warms up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WarmUp {
    /// For this time.
    Time(Duration),
    /// For a moment, which shows how many events fit in it.
    Probe,
    /// For this many events.
    Probed,
    /// As many events as the slowest has in this time.
    Slowest(Duration),
}

/// How fast a candidate was in its last slice that warmed up.
#[derive(Debug, Clone, Copy, Default)]
struct Speed {
    events: f64,
    seconds: f64,
}

/// The slices that count.
#[derive(Debug, Clone, Copy)]
struct Kept {
    end: SliceEnd,
    passes: u32,
    /// Passes of each session; `None` if there is one for the whole round.
    passes_of_session: Option<u32>,
}

/// Decides after each slice which one comes next.
///
/// Steps that read alternate slices of the same length. Steps that write alternate slices of the same number of events, so that the
/// tables of all candidates are equally old.
///
/// How many passes and sessions a step that reads has is decided before its first: where earlier rounds tell how far passes, sessions and
/// starts scatter, the time of the round is divided among them for the sake of the mean over rounds.
pub(crate) struct SliceScheduler {
    orders: Orders,
    /// What tells its orders from those of other steps and rounds.
    name: String,
    /// Who has the slices of one way of a pass.
    seats: Vec<usize>,
    writes: bool,
    has_several_connections: bool,
    /// Length that was asked for.
    slice: Option<Duration>,
    timing: Timing,
    /// What warms up, not begun yet, and who.
    warm_up: VecDeque<(WarmUp, usize)>,
    /// Of each candidate's last slice that warmed up.
    speeds: Vec<Speed>,
    /// Events of the last slice that counted them.
    probed: u64,
    /// Of slices that warmed up and ended by the clock: from then on to the last answer.
    endings: Vec<Duration>,
    kept: Option<Kept>,
    experience: Option<Experience>,
    most_work: Duration,
    /// The share of their usual times that work and warm-up have, 0 to 1.
    share: f64,
    pass: u32,
    /// The number of the present sessions.
    session: u32,
    most_sessions: u32,
    specs: VecDeque<usize>,
}

impl SliceScheduler {
    /// Of so many candidates; `is_first` when the servers have just been started.
    pub(crate) fn new(
        orders: Orders,
        name: String,
        candidates: usize,
        step: &StepFacts,
        is_first: bool,
        settings: SliceSettings,
    ) -> Self {
        let SliceSettings { base, slice, experience, most_work, most_sessions, timing } = settings;
        let writes = step.writes;
        let share = most_work.as_secs_f64() / timing.of(usual_time(writes) - WARM_UP).as_secs_f64();
        let share = share.clamp(LEAST_SHARE, 1.0);
        let time = timing.of(if is_first { FIRST_WARM_UP } else { WARM_UP }).mul_f64(share / 2.0);
        let order = orders.shuffled(&name, 0, candidates);
        let half = |nth: usize| match (writes, nth) {
            (true, 0) => WarmUp::Probe,
            (true, nth) if nth < candidates => WarmUp::Probed,
            (true, _) => WarmUp::Slowest(time),
            (false, _) => WarmUp::Time(time),
        };
        // A table that is written twice as often would be older than the others.
        let again = (candidates > MANY && !writes).then_some(base);
        let halves = order.iter().chain(&order).enumerate();
        let warm_up = halves.map(|(nth, candidate)| (half(nth), *candidate)).collect();
        SliceScheduler {
            orders,
            name,
            seats: (0..candidates).chain(again).collect(),
            writes,
            has_several_connections: step.threads.is_some_and(|threads| threads > 1),
            slice,
            timing,
            warm_up,
            speeds: vec![Speed::default(); candidates],
            probed: 0,
            endings: Vec::new(),
            kept: None,
            experience,
            most_work,
            share,
            pass: 0,
            session: 0,
            most_sessions,
            specs: VecDeque::new(),
        }
    }

    /// The next slice after `result`; `None` when there is none.
    pub(crate) fn next(&mut self, result: Option<&SliceResult>) -> Option<SliceSpec> {
        if let Some(result) = result.filter(|result| result.spec.pass.is_none()) {
            self.learn(result);
        }
        if let Some(spec) = self.next_warm_up() {
            return Some(spec);
        }
        let kept = self.kept.unwrap_or_else(|| self.choose());
        self.kept = Some(kept);
        if self.specs.is_empty() {
            if self.pass == kept.passes {
                return None;
            }
            if self.is_session_over(&kept) {
                self.renew_sessions();
                return self.next_warm_up();
            }
            self.pass += 1;
            let order = self.orders.pass(&self.name, self.pass as usize - 1, self.seats.len());
            self.specs.extend(order.into_iter().filter_map(|seat| self.seats.get(seat)));
        }
        let settle = if self.writes { Duration::ZERO } else { self.timing.of(SETTLE) };
        self.specs.pop_front().map(|runner| SliceSpec {
            runner,
            session: self.session,
            pass: Some(self.pass - 1),
            settle,
            end: kept.end,
        })
    }

    /// The next slice that warms up.
    fn next_warm_up(&mut self) -> Option<SliceSpec> {
        let (warm_up, runner) = self.warm_up.pop_front()?;
        let end = match warm_up {
            WarmUp::Time(time) => SliceEnd::Counted(time),
            WarmUp::Probe => SliceEnd::Counted(self.timing.of(PROBE)),
            WarmUp::Probed => SliceEnd::Events(self.probed),
            WarmUp::Slowest(time) => SliceEnd::Events(self.events_of_slowest(time)),
        };
        Some(SliceSpec { runner, session: self.session, pass: None, settle: Duration::ZERO, end })
    }

    /// Whether the present sessions have had all their passes, and further passes follow.
    fn is_session_over(&self, kept: &Kept) -> bool {
        kept.passes_of_session
            .is_some_and(|passes| self.pass / passes > self.session && self.session + 1 < self.most_sessions)
    }

    /// Goes over to new sessions, which warm up first.
    fn renew_sessions(&mut self) {
        self.session += 1;
        let time = self.session_warm_up();
        let warm_up = if self.writes { WarmUp::Slowest(time) } else { WarmUp::Time(time) };
        let name = format!("sessions of {}", self.name);
        let order = self.orders.shuffled(&name, self.session as usize, self.speeds.len());
        self.warm_up.extend(order.into_iter().map(|runner| (warm_up, runner)));
    }

    /// How long a new session warms up.
    fn session_warm_up(&self) -> Duration {
        let events = Duration::try_from_secs_f64(SESSION_EVENTS / self.slowest()).unwrap_or(Duration::MAX);
        self.timing.of(SESSION_WARM_UP).max(events)
    }

    /// How many passes of this length a session has; `None` if one session has all.
    fn passes_of_session(&self, length: Duration) -> Option<u32> {
        let is_worth_it = self.most_sessions > 1 && self.session_warm_up() < self.timing.of(LONG_WARM_UP);
        is_worth_it.then(|| passes_of(self.timing.of(SESSION), length).max(SESSION_PASSES))
    }

    fn learn(&mut self, result: &SliceResult) {
        if self.kept.is_some() {
            // It began with opening a session.
            return;
        }
        let events = match result.spec.end {
            SliceEnd::Counted(time) => {
                self.endings.push(result.time.saturating_sub(time));
                self.probed = result.events.max(1);
                self.probed
            }
            SliceEnd::Events(events) => events,
            SliceEnd::After(_) | SliceEnd::Cut(_) => 0,
        };
        if let Some(speed) = self.speeds.get_mut(result.spec.runner) {
            *speed = Speed { events: events as f64, seconds: result.time.as_secs_f64().max(1e-6) };
        }
    }

    /// Events per second of the slowest candidate.
    fn slowest(&self) -> f64 {
        self.speeds.iter().map(|speed| speed.events / speed.seconds).fold(f64::MAX, f64::min)
    }

    /// Events that the slowest candidate has in so long a time.
    fn events_of_slowest(&self, time: Duration) -> u64 {
        ((self.slowest() * time.as_secs_f64()) as u64).max(1)
    }

    /// How long slices have to be for the sake of their endings, the median of which is taken as usual.
    fn shortest(&self) -> Duration {
        let mut endings = self.endings.clone();
        endings.sort_unstable();
        let usual = endings.get(endings.len() / 2).filter(|_| self.has_several_connections);
        usual.map_or(Duration::ZERO, |ending| (ENDINGS * *ending).min(self.timing.of(LONG)))
    }

    /// How the slices that count end, and how many passes there are as a rule.
    fn choose(&self) -> Kept {
        let shortest = self.shortest();
        if self.writes {
            let usual = self.timing.of(WRITING);
            let length = usual.max(shortest);
            let passes =
                passes_of((2 * WRITING_PASSES * usual).mul_f64(self.share), length).max(TYPICAL_PASSES);
            let passes_of_session = self.passes_of_session(length);
            let end = SliceEnd::Events(self.events_of_slowest(length));
            return Kept { end, passes, passes_of_session };
        }
        let length = self.slice.unwrap_or_else(|| length_at(self.slowest(), shortest, self.timing));
        let fewest = if length < self.timing.of(LONG) { TYPICAL_PASSES } else { PASSES.0 };
        let passes = passes_of(self.timing.of(WORK).mul_f64(self.share), length).clamp(fewest, PASSES.1);
        let passes_of_session = self.passes_of_session(length);
        let usual = Kept { end: SliceEnd::After(length), passes, passes_of_session };
        match self.experience.filter(|_| length < self.timing.of(LONG)) {
            Some(experience) => self.allocated(experience, length, usual),
            None => usual,
        }
    }

    /// The usual passes and sessions, divided anew by what is known of their scatter.
    fn allocated(&self, experience: Experience, length: Duration, usual: Kept) -> Kept {
        let Experience { variances, fixed_time } = experience;
        let costs = UnitCosts {
            pass: 2.0 * length.as_secs_f64(),
            session: self.session_warm_up().as_secs_f64(),
            start: fixed_time.as_secs_f64(),
        };
        let most = passes_of(self.most_work, length).max(usual.passes);
        let within = |passes: f64| (passes.ceil() as u32).clamp(TYPICAL_PASSES, most.max(TYPICAL_PASSES));
        match usual.passes_of_session {
            None => Kept { passes: within(Allocation::passes_of_one_session(variances, costs)), ..usual },
            Some(usual_of_session) => {
                let wanted = Allocation::best(variances, costs).passes_of_session.round() as u32;
                let of_session = wanted.clamp(SESSION_PASSES, LONGER_SESSION * usual_of_session);
                let sessions = Allocation::sessions_of(f64::from(of_session), variances, costs).ceil();
                let passes = within(sessions.max(LEAST_SESSIONS) * f64::from(of_session));
                Kept { passes, passes_of_session: Some(of_session), ..usual }
            }
        }
    }
}

/// Passes of slices of that length in which a candidate works for so long.
fn passes_of(work: Duration, length: Duration) -> u32 {
    (work.as_secs_f64() / (2.0 * length.as_secs_f64())).ceil() as u32
}

/// Length of slices at so many events per second, of this length at least.
fn length_at(rate: f64, shortest: Duration, timing: Timing) -> Duration {
    let (least, most) = (timing.of(LENGTHS.0), timing.of(LENGTHS.1));
    let has_events = Duration::try_from_secs_f64(EVENTS / rate).unwrap_or(most);
    has_events.max(shortest).clamp(least, most)
}

#[cfg(test)]
mod tests;
