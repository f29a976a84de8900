//! Stores as a whole, against real files.

mod content;
mod crash;
mod merging;
mod opening;
mod round_trip;
mod sample;
