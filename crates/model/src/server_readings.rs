//! What a server reported before and after a step.

use crate::Measures;

/// All counters and levels that the server reported, in its own names under its prefix: what MySQL shows as `GLOBAL STATUS`, and Postgres in
/// its statistics views. Empty where the server was not asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerReadings {
    /// Before its first statement.
    pub start: Measures,
    /// After the last, when its counters were at rest.
    pub end: Measures,
}
