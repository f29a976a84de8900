//! What one role did: counts, histograms, per-second samples.

use std::time::Instant;

use basecase_model::{Aside, Operation, Reply, RoleRecord, Sample};
use basecase_workload::RolePlan;

/// Length of a sample.
const INTERVAL_MS: u32 = 1_000;

/// Fills a [`RoleRecord`] while the role runs.
pub(crate) struct Recorder {
    record: RoleRecord,
    origin: Instant,
}

/// When an operation was sent and when its last row was fetched.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) sent: Instant,
    pub(crate) answered: Instant,
}

impl Recorder {
    pub(crate) fn new(plan: &RolePlan, origin: Instant) -> Self {
        let record = RoleRecord::idle(plan.client, plan.name, plan.class, INTERVAL_MS);
        Recorder { record, origin }
    }

    /// Counts one main operation.
    #[inline]
    pub(crate) fn count(
        &mut self,
        operation: &Operation,
        reply: &Reply,
        span: Span,
        intended: Option<Instant>,
    ) {
        let service_ns = nanoseconds(span.sent, span.answered);
        let ended_us = self.mark(span);
        let record = &mut self.record;
        record.statements += 1;
        record.items += u64::from(operation.items);
        record.affected += reply.affected;
        record.fetched += reply.fetched;
        record.mismatches += u64::from(!operation.expectation.is_met_by(reply));
        record.service.record_ns(service_ns);
        if let Some(intended) = intended {
            record.response.get_or_insert_default().record_ns(nanoseconds(intended, span.answered));
        }
        let interval = (ended_us / (u64::from(INTERVAL_MS) * 1_000)) as usize;
        let samples = &mut record.series.samples;
        if interval >= samples.len() {
            samples.resize(interval + 1, Sample::default());
        }
        let sample = &mut samples[interval];
        sample.items += operation.items;
        sample.max_us = sample.max_us.max(u32::try_from(service_ns / 1_000).unwrap_or(u32::MAX));
    }

    /// Counts one operation beside the main ones.
    pub(crate) fn count_aside(&mut self, name: &str, span: Span) {
        self.mark(span);
        let time_us = nanoseconds(span.sent, span.answered) / 1_000;
        let asides = &mut self.record.asides;
        match asides.iter_mut().find(|aside| aside.name == name) {
            Some(aside) => {
                aside.count += 1;
                aside.total_us += time_us;
                aside.max_us = aside.max_us.max(time_us);
            }
            None => {
                asides.push(Aside { name: name.to_owned(), count: 1, total_us: time_us, max_us: time_us });
            }
        }
    }

    pub(crate) fn count_retry(&mut self) {
        self.record.retries += 1;
    }

    /// Keeps the role's first and last instant; returns the last in µs after the window opened.
    #[inline]
    fn mark(&mut self, span: Span) -> u64 {
        if self.record.ended_us == 0 {
            self.record.started_us = nanoseconds(self.origin, span.sent) / 1_000;
        }
        // At least 1, for 0 stands for a role that did nothing.
        self.record.ended_us = (nanoseconds(self.origin, span.answered) / 1_000).max(1);
        self.record.ended_us
    }

    pub(crate) fn finish(mut self, client_cpu_us: f64, server_cpu_us: Option<f64>) -> RoleRecord {
        self.record.client_cpu_us = client_cpu_us;
        self.record.server_cpu_us = server_cpu_us;
        self.record
    }
}

/// Nanoseconds from `start` to `end`, 0 when it lies before.
#[inline]
fn nanoseconds(start: Instant, end: Instant) -> u64 {
    let elapsed = end.saturating_duration_since(start);
    elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
}
