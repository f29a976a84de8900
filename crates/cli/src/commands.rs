//! One file for each subcommand.

pub(crate) mod bisect;
pub(crate) mod calibrate;
pub(crate) mod config;
pub(crate) mod count;
pub(crate) mod demo;
pub(crate) mod doctor;
mod dry_run;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod history;
mod perform;
pub(crate) mod report;
pub(crate) mod server;
pub(crate) mod shell;
pub(crate) mod store;
mod try_setting;
pub(crate) mod workload;
