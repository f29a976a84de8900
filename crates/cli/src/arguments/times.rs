//! Options that only times have, which `count` takes none of.

use basecase_analysis::Preset;
use clap::Arg;

use super::{Compare, ProbeArgument};

/// Whether an option was given.
type IsGiven = fn(&Compare) -> bool;

/// Each with how to see that it was given.
const OPTIONS: [(&str, IsGiven); 12] = [
    ("detect", |given| given.detect.is_some()),
    ("rounds", |given| given.rounds.is_some()),
    ("slice", |given| given.slice.is_some()),
    ("budget", |given| given.places.budget.is_some()),
    ("memory", |given| given.places.memory.is_some()),
    ("profile", |given| !given.places.profile.is_empty()),
    ("profile_measured", |given| given.places.profile_measured),
    ("probe", |given| given.places.probe != ProbeArgument::On),
    ("thresholds", |given| given.places.thresholds != Preset::default().thresholds()),
    ("write_seconds", |given| given.workload.choice.write_seconds.is_some()),
    ("warm_up_seconds", |given| given.workload.choice.warm_up_seconds.is_some()),
    // It asks for what is done anyway.
    ("counts", |_| false),
];

/// Hides an argument from the help if it is one of times.
pub(super) fn hide(argument: Arg) -> Arg {
    let is_of_times = OPTIONS.iter().any(|(id, _)| argument.get_id() == id);
    if is_of_times { argument.hide(true) } else { argument }
}

/// The first option of times that was given, as it is typed, but for those of `taken`.
pub(crate) fn option_of_times(given: &Compare, taken: &[&str]) -> Option<String> {
    let typed = OPTIONS
        .iter()
        .filter(|(_, is_given)| is_given(given))
        .map(|(id, _)| format!("--{}", id.replace('_', "-")));
    typed.into_iter().find(|option| !taken.contains(&option.as_str()))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::arguments::{Arguments, Command};

    #[test]
    fn help_of_count_has_no_option_of_times_and_that_of_compare_has_all() {
        let command = Arguments::command();
        let shown = |name: &str, id: &str| {
            let arguments = command.find_subcommand(name).unwrap().get_arguments();
            arguments.filter(|argument| argument.get_id() == id && !argument.is_hide_set()).count()
        };
        for (id, _) in OPTIONS {
            assert_eq!((shown("compare", id), shown("count", id)), (1, 0), "{id}");
        }
        assert_eq!(shown("count", "counts_detect"), 1);
    }

    #[test]
    fn the_option_that_was_given_is_named() {
        let named = |words: &[&str]| {
            let words = ["basecase", "count", "sqlite:3.45.0"].iter().chain(words);
            let Command::Count(given) = Arguments::try_parse_from(words).unwrap().command else {
                panic!("it is another command");
            };
            option_of_times(&given, &[])
        };
        assert_eq!(named(&["--counts"]), None);
        assert_eq!(named(&["--more", "1m"]).as_deref(), Some("--budget"));
        assert_eq!(named(&["--warm-up-seconds", "1"]).as_deref(), Some("--warm-up-seconds"));
        assert_eq!(named(&["--probe", "off"]).as_deref(), Some("--probe"));
    }
}
