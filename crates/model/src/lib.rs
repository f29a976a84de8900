//! basecase's terms as types: what is run, what is measured, what is stored.
//!
//! This crate only defines values. It reads no file, talks to no server and computes no statistic.

mod candidate;
mod cell;
mod commit;
mod experiment;
mod facts;
mod hexadecimal;
mod histogram;
mod measures;
mod name;
mod operation;
mod packed_histogram;
mod plan;
mod printable;
mod profile;
mod series;
mod server_readings;
mod session_record;
mod slice;
mod state;
mod statement;
mod step;
mod step_count;
mod track;
mod trial;
mod tried_setting;
mod version;

pub use candidate::{CandidateName, Dbms, Engine};
pub use cell::{Cell, PROTOCOL_REVISION};
pub use commit::Commit;
pub use experiment::{
    CalendarTime, CandidateFacts, Experiment, FleetNode, Group, INSERT_BENCHMARK, Schedule,
};
pub use facts::{BuildFacts, ConfigFacts, HostFacts, optimisation_flag};
pub use hexadecimal::hexadecimal;
pub use histogram::{Histogram, HistogramError};
pub use measures::{Measures, names};
pub use name::{NAME_CHARACTERS, TABLE_MARK, is_plain_name};
pub use operation::{Expectation, Operation, Parameter, ParameterType, Reply, Value};
pub use packed_histogram::PackedHistogram;
pub use plan::{PlanKind, PlanUses, StatementPlan, name_in_execute};
pub use printable::{printable, printable_json};
pub use profile::{Observation, Profile, ProfileKind};
pub use series::{Sample, Series};
pub use server_readings::ServerReadings;
pub use session_record::SessionRecord;
pub use slice::Slice;
pub use state::{Check, State, TableState};
pub use statement::{StatementClass, StatementCounts, StatementRecord};
pub use step::{Headline, SLA_TOLERANCE, StepFacts};
pub use step_count::{CountEngine, CountWindow, FunctionCount, StepCount};
pub use track::{Track, TrackKind};
pub use trial::{Aside, OperationClass, Place, RoleRecord, Trial, TrialStatus};
pub use tried_setting::{TriedSetting, ValueOrigin};
pub use version::{Version, release_number};
