//! Commands that measure two candidates of a bisection again.

use basecase_analysis::{Bisected, Found};
use basecase_repository::Range;

/// Options that say how to search or where results go; they say nothing of what is measured. Those with a value have `true`.
const LEFT_OUT: [(&str, bool); 17] = [
    ("--step", true),
    ("--paths", true),
    ("--broken", true),
    ("--fix", true),
    ("--even-if-equal", false),
    ("--clean", false),
    ("--keep-builds", true),
    ("--builds", true),
    ("--no-confirmation", false),
    ("--counts", false),
    ("--budget", true),
    ("--more", true),
    ("--store", true),
    ("--out", true),
    ("--data", true),
    ("--progress", true),
    ("--json", false),
];

/// Options with which a comparison is in rounds, and has verdicts; and the one that it gets if it has none of them.
const IN_ROUNDS: [&str; 2] = ["--detect", "--rounds"];
const BUDGET: &str = " --budget 20m";

/// The commands that compare these two candidates as the search did: in work, if it was one by work, and in time.
pub(crate) fn repetition(bisected: &Bisected<'_>, command: &str, [before, since]: [usize; 2]) -> Vec<String> {
    let pair = [before, since].map(|candidate| shell_word(bisected.name(candidate))).join(" ");
    let options = options(bisected, command);
    let is_in_rounds =
        IN_ROUNDS.iter().any(|option| shell_words(&options).iter().any(|word| word.starts_with(option)));
    let limit = if is_in_rounds { "" } else { BUDGET };
    let in_time = format!("basecase compare {pair}{options}{limit}");
    match bisected.found {
        Found::Work(_) => vec![format!("basecase count {pair}{options}"), in_time],
        Found::Throughput(_) => vec![in_time],
    }
}

/// The options of a command that say what is measured, each after a space.
fn options(bisected: &Bisected<'_>, command: &str) -> String {
    let mut kept = String::new();
    // Candidates come first, and there may be some between options.
    let mut words =
        shell_words(command).into_iter().skip(2).skip_while(|word| !word.starts_with('-')).peekable();
    while let Some(word) = words.next() {
        let (name, has_value) = word.split_once('=').map_or((word, false), |(name, _)| (name, true));
        if let Some((_, takes_value)) = LEFT_OUT.iter().find(|(option, _)| *option == name) {
            if *takes_value && !has_value {
                words.next();
            }
            continue;
        }
        let is_repository = words.peek().is_some_and(|next| Range::is_one(next)) && !word.starts_with('-');
        let is_candidate = bisected.candidates.iter().any(|candidate| candidate == word);
        if !is_repository && !Range::is_one(word) && !is_candidate {
            kept.push(' ');
            kept.push_str(word);
        }
    }
    kept
}

/// The words of a command as they stand, with their quotes.
fn shell_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (place, letter) in command.char_indices() {
        match (quote, letter) {
            (None, letter) if letter.is_whitespace() => {
                words.extend(start.take().and_then(|start: usize| command.get(start..place)));
                continue;
            }
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
        start.get_or_insert(place);
    }
    words.extend(start.and_then(|start| command.get(start..)));
    words
}

/// A word as a shell reads it back.
fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@=+,%^~".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invented::{InventedRounds, InventedWork};

    #[test]
    fn commands_keep_what_is_measured_and_leave_out_how_it_was_searched() {
        let search = InventedWork::of_commits(&[0, 0, 1], &[], 9);
        let begun = "basecase bisect --counts git:~/postgres REL_17_0..REL_17_2 --workload microbenchmarks --build-flags '-O1 -g' \
                     --paths 'src/backend src/include' --store=s.db --out /tmp/a --fix 'a..b=x y.patch' --no-confirmation --keep-builds 5G --rows 2000";
        let kept = " --workload microbenchmarks --build-flags '-O1 -g' --rows 2000";
        let pair = "git:~/postgres@5a0e1f31 git:~/postgres@5a0e1f32";
        assert_eq!(
            repetition(&search.bisected(), begun, [1, 2]),
            [format!("basecase count {pair}{kept}"), format!("basecase compare {pair}{kept} --budget 20m")]
        );
        let search = InventedRounds::search(&[0.0, -0.06, -0.06]);
        let begun = "basecase bisect postgres:17.0 postgres:17.1 postgres:17.2 --budget 20m --detect 2%";
        assert_eq!(
            repetition(&search.bisected(), begun, [0, 1]),
            ["basecase compare postgres:17.0 postgres:17.1 --detect 2%"]
        );
    }

    #[test]
    fn candidates_of_an_earlier_command_are_left_out() {
        let search = InventedWork::of_commits(&[0, 0, 1], &[], 9);
        assert_eq!(options(&search.bisected(), "basecase count a b --rows 5 --json"), " --rows 5");
        assert_eq!(options(&search.bisected(), "basecase"), "");
    }

    #[test]
    fn a_name_is_one_word_to_a_shell() {
        assert_eq!(shell_word("git:/a b@v1;rm 'x'"), "'git:/a b@v1;rm '\\''x'\\'''");
        assert_eq!(shell_word("git:~/r@v1^"), "git:~/r@v1^");
    }
}
