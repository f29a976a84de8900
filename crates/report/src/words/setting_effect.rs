//! What is left of a change once one setting is as in the base case, in words.

use basecase_analysis::{SettingConclusion, SettingEffect};
use basecase_model::{TriedSetting, ValueOrigin};

use super::EffectWords as _;

/// E.g. `pg1519.x10a with jit=off as in the base case: +0.3 % (-0.9 to +1.5) of the +6.2 % are left: the setting explains the change`.
pub(crate) fn left_of_change(effect: &SettingEffect, tried: &TriedSetting, contender: &str) -> String {
    let varied = format!("{contender} with {}", told(tried));
    let Some([change, left, _]) = effect.effects() else {
        return format!("{varied}: no round was measured");
    };
    let (left_percent, left_interval) = (left.percent_text(), left.percent_interval());
    let (percent, interval) = (change.percent_text(), change.percent_interval());
    let conclusion = effect.conclusion();
    match conclusion {
        SettingConclusion::NoChange => {
            format!(
                "{contender} differs from the base case by {percent} % {interval} in these rounds, which is no change that a setting could \
                 explain; {varied}: {left_percent} % {left_interval}"
            )
        }
        _ => format!(
            "{varied}: {left_percent} % {left_interval} of the {percent} % are left: {}",
            conclusion_words(conclusion)
        ),
    }
}

fn conclusion_words(conclusion: SettingConclusion) -> &'static str {
    match conclusion {
        SettingConclusion::Explains => "the setting explains the change",
        SettingConclusion::ExplainsPart => "the setting explains a part of the change",
        SettingConclusion::NotAll => {
            "the setting does not explain all of the change, and whether it explains a part is not decided"
        }
        SettingConclusion::DoesNot => "the setting does not explain the change",
        SettingConclusion::Hides => {
            "the setting does not explain the change, which is larger without the contender's own value"
        }
        SettingConclusion::Reverses => "the setting explains the change and more, which is reversed",
        SettingConclusion::NoChange => "there is no change that a setting could explain",
        SettingConclusion::Open => "not enough data to tell whether the setting explains the change",
    }
}

/// The setting, and where its value comes from.
fn told(tried: &TriedSetting) -> String {
    match tried.origin {
        ValueOrigin::User => tried.to_string(),
        ValueOrigin::BaseCase => format!("{tried} as in the base case"),
        ValueOrigin::Default => {
            format!("{} at the server's default, since the base case does not have it", tried.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use basecase_analysis::fixture;
    use basecase_stats::{Decision, Interval, Verdict};

    use super::*;

    fn tried(value: Option<&str>, origin: ValueOrigin) -> TriedSetting {
        TriedSetting { name: "jit".into(), value: value.map(str::to_owned), origin }
    }

    /// A decision on a change in per cent, with the ends of its interval.
    fn decision(known: &Decision, verdict: Verdict, percent: [f64; 3]) -> Decision {
        let [estimate, lower, upper] = percent.map(|percent| (percent / 100.0).ln_1p());
        let interval = Some(Interval { lower, upper });
        Decision { verdict, estimate: Some(estimate), interval, ..known.clone() }
    }

    #[test]
    fn what_is_left_is_told_with_what_it_means() {
        let (experiment, trials) = fixture::in_rounds();
        let found = experiment
            .steps
            .iter()
            .find_map(|step| SettingEffect::of(&experiment, &trials, &step.name).unwrap());
        let known = found.unwrap();
        let effect = |left: [f64; 3], left_verdict, difference_verdict| SettingEffect {
            change: decision(&known.change, Verdict::Improvement, [6.2, 5.0, 7.4]),
            left: decision(&known.left, left_verdict, left),
            difference: decision(&known.difference, difference_verdict, [0.0, -1.0, 1.0]),
        };
        let explained = effect([0.3, -0.9, 1.5], Verdict::NoChange, Verdict::Regression);
        let of_base = tried(Some("off"), ValueOrigin::BaseCase);
        assert_eq!(
            left_of_change(&explained, &of_base, "pg1519.x10a"),
            "pg1519.x10a with jit=off as in the base case: +0.3 % (-0.9 to +1.5) of the +6.2 % are left: the setting explains the change"
        );
        let unexplained = effect([6.0, 4.9, 7.1], Verdict::Improvement, Verdict::NoChange);
        assert_eq!(
            left_of_change(&unexplained, &tried(Some("0"), ValueOrigin::User), "pg1519.x10a"),
            "pg1519.x10a with jit=0: +6.0 % (+4.9 to +7.1) of the +6.2 % are left: the setting does not explain the change"
        );
        let default = tried(None, ValueOrigin::Default);
        let text = left_of_change(&unexplained, &default, "pg1519.x10a");
        assert!(
            text.starts_with(
                "pg1519.x10a with jit at the server's default, since the base case does not have it: "
            ),
            "{text}"
        );
        let gone = SettingEffect {
            change: decision(&known.change, Verdict::NoChange, [0.4, -0.9, 1.5]),
            ..explained
        };
        assert_eq!(
            left_of_change(&gone, &of_base, "pg1519.x10a"),
            "pg1519.x10a differs from the base case by +0.4 % (-0.9 to +1.5) in these rounds, which is no change that a setting could \
             explain; pg1519.x10a with jit=off as in the base case: +0.3 % (-0.9 to +1.5)"
        );
    }
}
