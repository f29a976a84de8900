//! Charts: series packed for a page, and flame graphs.

pub(crate) mod flame_graph;
pub(crate) mod heat_map;
pub(crate) mod packing;
pub(crate) mod step;
pub(crate) mod sweep;
pub(crate) mod track;
