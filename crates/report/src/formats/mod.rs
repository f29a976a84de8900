//! One file for each form of a report.

pub(crate) mod blog;
pub(crate) mod csv;
pub(crate) mod gate_summary;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod markdown;
pub(crate) mod text;
