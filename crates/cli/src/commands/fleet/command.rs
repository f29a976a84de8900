//! The command that every node runs: the user's, without what is the coordinator's.

use crate::configuration::LEFT_OUT;
use crate::output;

/// Options with a value that are the coordinator's.
const VALUED: [&str; 6] = ["--fleet", "--nodes", "--sbatch", "--store", "--out", "--progress"];
/// Options without one.
const FLAGS: [&str; 4] = ["--cancel", "--json", "--full", LEFT_OUT];

/// The option that says how long nodes measure, by both of its names.
const BUDGET: [&str; 2] = ["--budget", "--more"];

/// The words behind `basecase`, with what the user's files add to them.
pub(crate) fn of_nodes() -> Vec<String> {
    of(&output::words())
}

/// Whether two commands of nodes differ in their budgets alone.
pub(super) fn differ_in_budget(one: &[String], other: &[String]) -> bool {
    one != other && without(one, &BUDGET) == without(other, &BUDGET)
}

/// The words without these options and their values.
fn without(words: &[String], options: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if options.contains(&word.as_str()) {
            // Its value.
            words.next();
        } else if !options.contains(&name) {
            kept.push(word.clone());
        }
    }
    kept
}

fn of(words: &[String]) -> Vec<String> {
    let mut kept = without(words, &VALUED);
    kept.retain(|word| !FLAGS.contains(&word.as_str()));
    // What stands in the user's files stands here now, whatever stands in those of the nodes.
    kept.push(LEFT_OUT.to_owned());
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_coordinators_is_left_out() {
        let words = "compare a b --fleet slurm --nodes=8 --sbatch --exclusive --budget 1h --store=x --out y --cancel --full --json --progress json --option fleet=1";
        assert_eq!(of(&split(words)).join(" "), "compare a b --budget 1h --option fleet=1 --no-config");
    }

    #[test]
    fn a_command_with_another_budget_is_the_same_but_for_that() {
        let differ = |one: &str, other: &str| differ_in_budget(&split(one), &split(other));
        assert!(differ("compare a b --budget 1h --rows 5", "compare a b --rows 5 --more=2h"));
        assert!(differ("compare a b", "compare a b --budget 1h"));
        assert!(!differ("compare a b --budget 1h", "compare a b --budget 1h"));
        assert!(!differ("compare a b --budget 1h", "compare a c --budget 2h"));
    }

    fn split(words: &str) -> Vec<String> {
        words.split(' ').map(str::to_owned).collect()
    }
}
