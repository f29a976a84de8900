//! Fleets: one experiment on many machines, and everything about it that does not measure.
//!
//! A *node run* measures on one machine and knows no scheduler. It writes its store to its local disk and hands over whole copies
//! of it ([`Delivery`]). Nodes and the coordinator share one folder ([`FleetFolder`]). A [`Scheduler`], of which [`Slurm`] is
//! built in, starts the nodes ([`submit`]). The [`Coordinator`] watches them, collects what they delivered ([`collect`]), has it
//! judged by its caller, and tells the nodes which steps need no more rounds ([`write_decided`]).
//!
//! For other schedulers there are manifests: [`kubernetes`] and [`github`].

mod coordinator;
mod decided;
mod delivery;
mod error;
mod failure;
mod file;
mod folder;
mod job_script;
mod manifest;
mod scheduler;
mod skipped;
mod slurm;
mod submission;

pub use coordinator::{Coordinator, Ending, Judged, NodeStanding, Standing};
pub use decided::{read_decided, write_decided};
pub use delivery::{Collected, Delivery, collect};
pub use error::FleetError;
pub use folder::FleetFolder;
pub use manifest::{ManifestRequest, github, kubernetes};
pub use scheduler::{Element, ElementState, Job, Scheduler};
pub use skipped::{read_skipped, write_skipped};
pub use slurm::Slurm;
pub use submission::{Order, Submission, recover, submit};
