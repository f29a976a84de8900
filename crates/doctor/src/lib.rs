//! What on this machine disturbs or limits measurements, and what to do about it.
//!
//! Each file has the findings of one subject, most of them functions of a [`Host`]. It is the machine as the kernel's files show it below some
//! root, so that tests can invent one. What can be measured is: [`examine`] watches the machine for twenty seconds. [`disturbances`] reads
//! files alone, and so costs a run nothing.
//!
//! What cannot be found out is a [`Finding`] too, with the reason: a container without rights is examined as far as it can be.

mod disk;
mod examination;
mod finding;
mod host;
mod memory;
mod neighbours;
mod processor;
mod quota;
mod rights;
mod text;
mod tools;
mod watch;
mod words;

pub use examination::{Examination, disturbances, examine};
pub use finding::{Finding, Severity};
pub use host::Host;
