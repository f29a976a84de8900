//! The command that every node runs: the user's, without what is the coordinator's.

use crate::configuration::LEFT_OUT;
use crate::output;

/// Options with a value that are the coordinator's.
const VALUED: [&str; 6] = ["--fleet", "--nodes", "--sbatch", "--store", "--out", "--progress"];
/// Options without one.
const FLAGS: [&str; 4] = ["--cancel", "--json", "--full", LEFT_OUT];

/// The words behind `basecase`, with what the user's files add to them.
pub(crate) fn of_nodes() -> Vec<String> {
    of(output::words())
}

fn of(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let name = word.split('=').next().unwrap_or_default();
        if VALUED.contains(&word.as_str()) {
            // Its value.
            words.next();
        } else if !FLAGS.contains(&word.as_str()) && !VALUED.contains(&name) {
            kept.push(word);
        }
    }
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
        let words = words.split(' ').map(str::to_owned).collect();
        assert_eq!(of(words).join(" "), "compare a b --budget 1h --option fleet=1 --no-config");
    }
}
