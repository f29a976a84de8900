//! Judges which candidates got slower: repeated intervals, p-values, verdicts, changes over many versions, and the random orders of an
//! experiment.
//!
//! It only computes: no input, no output, no clock, no threads. The same rounds and the same seed give the same decisions. All effects are
//! natural logarithms of the ratio of contender to base, above 0 where the contender is better; the independent unit is the round.

mod allocation;
mod analysis_plan;
mod anytime;
mod autocorrelation;
mod bisection;
mod boundary;
mod change_point;
mod comparison;
mod debt;
mod decision;
mod discovery;
mod distribution;
mod fleet;
mod fleet_judgement;
mod interim_analyses;
mod interim_data;
mod interval;
mod judge;
mod judgement;
mod layers;
mod load_correlation;
mod luck;
mod missed_rate;
mod modes;
mod orders;
mod pair;
mod quadrature;
mod reading;
mod recovery;
mod round_conditions;
mod run_noise;
mod sample;
mod scatter;
mod scheduled;
mod sessions;
mod signed_rank;
mod suite;
#[cfg(test)]
mod tests;
mod trend;
mod variance;
mod verdict;
mod work;

pub use allocation::{Allocation, StepVariances, UnitCosts};
pub use analysis_plan::{AnalysisPlan, AnalysisPlanError, Sequential};
pub use bisection::{BisectedChange, Bisection, BisectionEnd, BisectionEvidence, BisectionProbe, ChangeKind};
pub use change_point::{
    AnchorHandover, Change, History, HistoryError, HistoryPoint, calibrated_penalty, change_points,
    divisive_change_points, usual_penalty,
};
pub use comparison::{Comparison, ComparisonError, Round};
pub use decision::{Decision, Flag};
pub use discovery::Dependence;
pub use fleet::{FleetComparison, FleetDecision, FleetRound, Heterogeneity, KindEffect, NodeEffect};
pub use fleet_judgement::{FleetJudgement, NodeTrials};
pub use interim_analyses::{InterimAnalyses, InterimAnalysesError};
pub use interval::{Estimator, Interval};
pub use judge::Judge;
pub use judgement::{JudgedMetric, Judgement, JudgementError, RoundEffect};
pub use luck::{Luck, LuckComponent};
pub use missed_rate::MissedRate;
pub use modes::Modes;
pub use orders::Orders;
pub use pair::{NOISY_CANARY, NOISY_CORES, NOISY_STEAL, usual_canary_ns};
pub use reading::Estimate;
pub use recovery::{Recovery, Replay};
pub use round_conditions::RoundConditions;
pub use run_noise::RunNoise;
pub use sessions::{CounterPrice, SessionMode, SessionModes, Sessions, Telltale};
pub use suite::{NoiseFloor, Suite};
pub use variance::{Components, detectable_effect};
pub use verdict::{Outlook, Qualifier, Verdict};
pub use work::{
    Agreement, WorkComparison, WorkCourse, WorkDecision, WorkError, WorkKind, WorkPlan, WorkShift,
    WorkShifts, WorkSide, WorkVerdict, WorkWindow, needs_more_windows,
};
