//! Whether background writers kept their rate.

use basecase_model::{SLA_TOLERANCE, StepFacts};

/// A step's rate of background inserts against its target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sla {
    /// Rows per second over all clients, `R × N`.
    pub target: f64,
    /// Whether the rate over the whole step reached 95 % of it.
    pub met: bool,
}

/// The seconds of a step in which the target rate was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Seconds that missed it.
    pub missed: usize,
    /// Seconds that were judged.
    pub judged: usize,
}

impl Sla {
    /// For a step; `None` if it has no background writers that must keep a rate.
    pub fn judge(step: &StepFacts, inserts_per_second: f64) -> Option<Sla> {
        Some(Sla { target: step.sla_target?, met: step.keeps_rate(inserts_per_second)? })
    }
}

impl Shortfall {
    /// Judges every second together with its two neighbours, because bursty writers move a whole second's rows at once. The first second is
    /// not judged: the reference's limiter starts with a single statement.
    ///
    /// `rows` are the rows inserted by all clients in each full second. `None` if fewer than four were measured.
    pub fn judge(target: f64, rows: &[u64]) -> Option<Shortfall> {
        let rows = rows.get(1..).filter(|rows| rows.len() >= 3)?;
        let missed = (0..rows.len()).filter(|&second| {
            let around = &rows[second.saturating_sub(1)..rows.len().min(second + 2)];
            (around.iter().sum::<u64>() as f64) < SLA_TOLERANCE * target * around.len() as f64
        });
        Some(Shortfall { missed: missed.count(), judged: rows.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_move_between_neighbouring_seconds_are_no_shortfall() {
        let shortfall = |rows: &[u64]| Shortfall::judge(100.0, rows).unwrap();
        assert_eq!(shortfall(&[50, 100, 100, 100, 100]), Shortfall { missed: 0, judged: 4 });
        assert_eq!(shortfall(&[50, 150, 50, 100, 150, 50]).missed, 0);
        assert_eq!(shortfall(&[50, 80, 80, 80, 80, 80]).missed, 5);
    }

    #[test]
    fn a_stall_counts_with_its_edges_and_catching_up_is_not_held_against_it() {
        let rows = [50, 100, 100, 100, 0, 0, 0, 100, 100, 100];
        assert_eq!(Shortfall::judge(100.0, &rows), Some(Shortfall { missed: 5, judged: 9 }));
        assert_eq!(Shortfall::judge(100.0, &[100, 100, 100]), None);
    }
}
