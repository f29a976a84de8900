//! The progress of a running step, for display.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use basecase_model::{Measures, OperationClass};

/// Latencies below 2^10 ns are in the first bucket; each doubling above has this many buckets.
const BUCKETS_PER_DOUBLING: usize = 4;
/// The last bucket ends beyond an hour.
const BUCKETS: usize = 32 * BUCKETS_PER_DOUBLING;

/// How many statements had which latency so far, in coarse buckets: for display, not for results.
pub type LatencyCounts = [u64; BUCKETS];

/// The progress of one role.
#[derive(Debug)]
pub struct RoleProgress {
    /// Its client, counted from 1.
    pub client: u32,
    /// Its name.
    pub role: &'static str,
    /// What its statements do.
    pub class: OperationClass,
    /// Items that it will finish, if known.
    pub planned_items: Option<u64>,
    items: AtomicU64,
    latencies: [AtomicU64; BUCKETS],
}

impl RoleProgress {
    pub(crate) fn new(
        client: u32,
        role: &'static str,
        class: OperationClass,
        planned_items: Option<u64>,
    ) -> Self {
        RoleProgress {
            client,
            role,
            class,
            planned_items,
            items: AtomicU64::new(0),
            latencies: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }

    /// Counts a statement. Only the role itself may call this: concurrent calls would lose counts.
    #[inline]
    pub(crate) fn add(&self, items: u32, latency: Duration) {
        add(&self.items, u64::from(items));
        if let Some(bucket) = self.latencies.get(bucket_of(latency)) {
            add(bucket, 1);
        }
    }

    /// Items finished so far.
    pub fn items(&self) -> u64 {
        self.items.load(Ordering::Relaxed)
    }
}

/// Adds to a counter that one thread writes and others read, without the locked instruction of an atomic addition.
#[inline]
fn add(to: &AtomicU64, count: u64) {
    to.store(to.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

#[inline]
fn bucket_of(latency: Duration) -> usize {
    let ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX).max(1 << 10);
    let doubling = ns.ilog2() as usize;
    let part = (ns >> (doubling - 2)) as usize % BUCKETS_PER_DOUBLING;
    ((doubling - 10) * BUCKETS_PER_DOUBLING + part).min(BUCKETS - 1)
}

/// The upper end of a bucket of [`LatencyCounts`].
pub fn end_of(bucket: usize) -> Duration {
    let (doubling, part) = (bucket / BUCKETS_PER_DOUBLING + 10, bucket % BUCKETS_PER_DOUBLING);
    Duration::from_nanos(((BUCKETS_PER_DOUBLING + part + 1) as u64) << (doubling - 2))
}

/// The latency that this share (0 to 1) of the statements between two counts did not exceed, accurate to a quarter; `None` without
/// statements.
pub fn latency_between(before: &LatencyCounts, after: &LatencyCounts, share: f64) -> Option<Duration> {
    let counts = || after.iter().zip(before).map(|(after, before)| after.saturating_sub(*before));
    let all: u64 = counts().sum();
    let wanted = (all as f64 * share).ceil().max(1.0) as u64;
    let mut sum = 0;
    let reaches = |count: u64| {
        sum += count;
        sum >= wanted
    };
    counts().map(reaches).position(|reached| reached).map(end_of)
}

/// How far a step is.
#[derive(Debug)]
pub struct Progress {
    /// Its roles in the order of the plan.
    pub roles: Vec<RoleProgress>,
    is_open: AtomicBool,
    vitals: Mutex<Measures>,
}

impl Progress {
    pub(crate) fn new(roles: Vec<RoleProgress>) -> Self {
        Progress { roles, is_open: AtomicBool::new(false), vitals: Mutex::default() }
    }

    /// Whether the window is open, or has been. The windows of slices are not reported.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Records that the window opens.
    pub(crate) fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }

    /// What machine and server used in the last second: counters per second, and levels. Empty before the first second.
    pub fn vitals(&self) -> Measures {
        self.vitals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Records what machine and server used in the last second.
    pub fn set_vitals(&self, vitals: Measures) {
        *self.vitals.lock().unwrap_or_else(PoisonError::into_inner) = vitals;
    }

    /// Latency counts of one class so far, over all clients.
    pub fn latencies(&self, class: OperationClass) -> LatencyCounts {
        let mut counts = [0; BUCKETS];
        for role in self.roles.iter().filter(|role| role.class == class) {
            for (sum, count) in counts.iter_mut().zip(&role.latencies) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        counts
    }

    /// Share of the planned items that is finished, 0 to 1, over all roles with a plan.
    pub fn share(&self) -> f64 {
        let planned =
            self.roles.iter().filter_map(|role| role.planned_items.map(|planned| (role.items(), planned)));
        let (done, all) = planned.fold((0, 0), |(done, all), (items, planned)| (done + items, all + planned));
        if all == 0 { 0.0 } else { done as f64 / all as f64 }
    }

    /// Items of one class finished so far, over all clients.
    pub fn items(&self, class: OperationClass) -> u64 {
        self.roles.iter().filter(|role| role.class == class).map(RoleProgress::items).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_told_within_a_quarter() {
        let role = RoleProgress::new(1, "client", OperationClass::Query, None);
        let progress = Progress::new(vec![role]);
        let before = progress.latencies(OperationClass::Query);
        assert_eq!(latency_between(&before, &before, 0.99), None);
        for ns in (1..=1000_u64).map(|number| number * 10_000) {
            progress.roles[0].add(1, Duration::from_nanos(ns));
        }
        let after = progress.latencies(OperationClass::Query);
        assert_eq!(progress.items(OperationClass::Query), 1000);
        let ms = |share| latency_between(&before, &after, share).unwrap().as_secs_f64() * 1e3;
        assert!(
            (5.0..6.25).contains(&ms(0.5)) && (9.9..12.4).contains(&ms(0.99)),
            "{} {}",
            ms(0.5),
            ms(0.99)
        );
        for latency in [Duration::ZERO, Duration::from_secs(1 << 20), Duration::MAX] {
            assert!(end_of(bucket_of(latency)) > Duration::ZERO);
        }
    }
}
