//! From finished trials to findings, as values.
//!
//! An [`Experiment`] and its trials go in; numbers, verdicts and causes come out. Nothing here is laid out for a reader: `report` makes
//! tables, documents and charts from the findings. The only words here are names, such as those of metrics and classes, and errors.

mod bisection;
mod calibration;
mod compaction;
mod configs;
mod context;
mod counts;
mod dry_run;
mod effect;
mod error;
mod explanation;
mod failures;
mod findings;
mod fleet;
mod function_share;
mod gate;
mod history;
mod judged;
mod judged_experiment;
mod known_noise;
mod latencies;
mod latency_ratio;
mod luck;
mod measured;
mod measured_session;
pub mod metrics;
mod pool;
mod quarters;
mod results;
mod roles;
mod rounds;
mod setting_effect;
mod settings;
mod shape;
mod sla;
mod storage;
mod tally;
mod thresholds;
mod throughput;
mod work_and_time;

#[doc(hidden)]
pub mod fixture;

use basecase_model::{Experiment, Trial};

pub use bisection::{
    Bisected, BisectedCounts, CandidateState, Confirmation, ConfirmedTime, Found, Probed, Reversal,
};
pub use calibration::{CalibrationRun, REPLAYED_SERIES, RecoveryGroup, grouped};
pub use compaction::{CompactionLevel, Stalls, compaction_levels};
pub use configs::{DistinctConfig, differing_settings, distinct_builds, distinct_configs};
pub use context::{Warning, kept_apart, replicates, toolchains, warnings};
pub use counts::{
    Causes, CellCount, Counted, Counts, FunctionSide, FunctionWork, Luck, Mover, MoverKind, SHOWN_SHARE,
    Work, WorkSummary, without_parameters,
};
pub use dry_run::{
    DryRun, DryStep, Expected, MissingBuild, Planned, PlannedDisk, PlannedMemory, PlannedProtocol,
    PlannedStep, StoredStep,
};
pub use effect::{Effect, percent, percent_of_logarithm};
pub use error::Error;
pub use explanation::{
    Absent, Cause, CellNumbers, Cost, CostKind, CostRatio, Disturbance, Explanation, FunctionShares,
    Hardware, HardwareAbsence, HardwareCount, MOVED, MeasuredPrice, MovedCounter, OperationTime, PLANNING,
    PlanChange, PlannedStatement, SettingChange, SettingTopic, Specificity, cells, changed, hardware_absence,
    operation,
};
pub use failures::{Failure, failures};
pub use findings::Finding;
pub use fleet::{Fleet, FleetJudged, MachineKind, Member, fleet_of, joined};
pub use function_share::{FunctionShare, stacks, total};
pub use gate::{Conclusion, Gate, GateCase, WorkVerdicts};
pub use history::{
    Joined, Misfit, MisfitReason, RankedChange, Shift, StepHistory, VersionHistory, WorkChange, WorkHistory,
};
pub use judged::{Attribution, Judged, JudgedSuite, NOISY_MACHINE, UNPINNED};
pub use judged_experiment::{Basis, JudgedExperiment};
pub use known_noise::{Known, KnownNoise, Server, server};
pub use latencies::{BUCKETS, Clock, Latencies, PERCENTILES, counts, latencies};
pub use latency_ratio::{LEAST_BEYOND, LatencyRatio};
pub use luck::luck_of_steps;
pub use measured::CpuModes;
pub use measured_session::MeasuredSession;
pub use pool::Pooled;
pub use quarters::{Shown, Standing, quarters, quarters_least_is_best};
pub use results::{Measured, Paired, Results, quotient};
pub use roles::{RoleSum, Spread, roles};
pub use rounds::{Conduct, Level, Rounds};
pub use setting_effect::{SettingConclusion, SettingEffect};
pub use settings::{BOUND_TO_DIFFER, is_bound_to_differ, sets};
pub use shape::{StepGroup, Sweep, timed_name};
pub use sla::{Shortfall, Sla};
pub use storage::{IO_BOUND_READS, IO_BOUND_WAITING};
pub use tally::{Tally, seconds_to_settle};
pub use thresholds::{Direction, Preset, Thresholds, UnknownThresholds};
pub use throughput::Throughput;
pub use work_and_time::TimeChange;

/// An experiment with its trials, as a store holds them.
pub type Stored = (Experiment, Vec<Trial>);
