//! The part of a profile that some functions did, with what they called.

use super::graph::{CallGraph, shared};
use super::{CountedCall, CountedFunction};

/// Sweeps over the functions, at most. Each lets shares pass all calls to functions that are told later.
const MOST_SWEEPS: usize = 200;
/// Shares that move less than this are settled.
const SETTLED: f64 = 1e-9;

/// What some functions and everything that they called did.
#[derive(Debug, Clone, PartialEq)]
pub struct CountedPart {
    /// The instructions between entering the functions and leaving them.
    pub instructions: u64,
    /// How often they were entered by others.
    pub calls: u64,
    /// What each function did within the part, those that executed most themselves first. What others called as well, as `malloc`, has
    /// the share of its instructions that calls from the part had (as in gprof: Graham, Kessler & McKusick 1982), so that the sum may
    /// differ a little from `instructions`.
    pub functions: Vec<CountedFunction>,
    /// Who called whom in it, by places in `functions`. Calls of a function by itself are left out.
    pub inner_calls: Vec<CountedCall>,
}

impl CallGraph {
    /// The part of those functions.
    pub(super) fn part(&self, members: &[bool]) -> CountedPart {
        let whole = vec![1.0; self.functions.len()];
        let every_call = vec![1.0; self.edges.len()];
        let shares = self.shares(members, &whole, &every_call);
        let edge_shares: Vec<f64> = self
            .edges
            .iter()
            .map(|edge| if members[edge.callee] { 1.0 } else { shares[edge.caller] })
            .collect();
        let entered = self
            .edges
            .iter()
            .filter(|edge| members[edge.callee] && !members[edge.caller])
            .fold(0_u64, |sum, edge| sum.saturating_add(shared(edge.calls, 1.0 - shares[edge.caller])));
        let instructions = self.enclosed_by(members, &shares, &whole);
        let (functions, inner_calls) = self.merged_by(&shares, &edge_shares);
        CountedPart { instructions, calls: entered, functions, inner_calls }
    }

    /// The instructions of some functions and of what they called, of a part of the profile.
    pub(super) fn enclosed(&self, members: &[bool], part: &[f64], edge_part: &[f64]) -> u64 {
        self.enclosed_by(members, &self.shares(members, part, edge_part), part)
    }

    /// Their own instructions, and those of their calls of others, less what these called back.
    fn enclosed_by(&self, members: &[bool], shares: &[f64], part: &[f64]) -> u64 {
        let (mut instructions, mut returned) = (0_u64, 0_u64);
        for ((function, is_member), part) in self.functions.iter().zip(members).zip(part) {
            if *is_member {
                instructions = instructions.saturating_add(shared(function.own, *part));
            }
        }
        for edge in &self.edges {
            let of_caller = |share: f64| shared(edge.instructions, part[edge.caller] * share);
            match (members[edge.caller], members[edge.callee]) {
                (true, false) => instructions = instructions.saturating_add(of_caller(1.0)),
                (false, true) => returned = returned.saturating_add(of_caller(shares[edge.caller])),
                _ => {}
            }
        }
        instructions.saturating_sub(returned)
    }

    /// The share of each function that some functions have: 1 of themselves, and of others the share of the instructions of all calls of
    /// them that come from these functions. All is of a part of the profile.
    fn shares(&self, members: &[bool], part: &[f64], edge_part: &[f64]) -> Vec<f64> {
        let mut shares: Vec<f64> = members.iter().map(|is_member| f64::from(u8::from(*is_member))).collect();
        let mut callers: Vec<Vec<(usize, f64)>> = vec![Vec::new(); members.len()];
        let mut all = vec![0.0; members.len()];
        for (edge, edge_part) in self.edges.iter().zip(edge_part) {
            // A call of a function by itself passes nothing on.
            if !members[edge.callee] && edge.callee != edge.caller {
                let instructions = edge.instructions as f64;
                callers[edge.callee].push((edge.caller, part[edge.caller] * instructions));
                all[edge.callee] += edge_part * instructions;
            }
        }
        for _ in 0..MOST_SWEEPS {
            let mut moved: f64 = 0.0;
            for (callee, callers) in callers.iter().enumerate().filter(|(callee, _)| all[*callee] > 0.0) {
                let ours: f64 =
                    callers.iter().map(|(caller, instructions)| shares[*caller] * instructions).sum();
                let share = (ours / all[callee]).min(1.0);
                moved = moved.max((share - shares[callee]).abs());
                shares[callee] = share;
            }
            if moved < SETTLED {
                break;
            }
        }
        shares
    }
}
