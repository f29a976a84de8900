//! The chart of a bisection: the level of each candidate that was measured, and where changes lie.

use basecase_analysis::{Bisected, Effect};
use basecase_stats::{BisectedChange, ChangeKind};
use maud::Markup;

use super::axis_labels::Name;
use super::level_chart::{Band, Level, LevelChart};
use crate::documents::bisection::line;
use crate::tables::bisection::is_worse;
use crate::words::{EffectWords as _, brief_reason, named, short_name};

/// The chart; `None` if nothing was compared.
pub(super) fn chart(bisected: &Bisected<'_>) -> Option<Markup> {
    let last = bisected.candidates.len().checked_sub(1)?;
    let level = |place: usize| {
        let effect = bisected.level(place)?;
        let size = format!("{} % {}", effect.percent_text(), effect.percent_interval());
        Some(Level { place, effect, title: format!("{}: {size}", named(bisected, place)) })
    };
    let compared: Vec<Level> =
        (1..=last).filter(|candidate| bisected.is_measured(*candidate)).filter_map(level).collect();
    if compared.is_empty() {
        return None;
    }
    let effect = Effect { ratio: 1.0, interval: None };
    let first = Level { place: 0, effect, title: format!("{}: the first", named(bisected, 0)) };
    let skipped = bisected.skipped.iter().map(|(place, reason)| {
        (*place, format!("{}, skipped: {}", named(bisected, *place), brief_reason(reason)))
    });
    let chart = LevelChart {
        caption: format!("Level of each {} that was measured, in per cent of the first", kind(bisected)),
        description: "levels in per cent of the first, in order".into(),
        last,
        levels: std::iter::once(first).chain(compared).collect(),
        bands: (1..).zip(bisected.bisection.changes()).map(|change| band(bisected, change)).collect(),
        names: names(bisected, last),
        skipped: skipped.collect(),
    };
    Some(chart.render())
}

/// What the candidates are.
pub(super) fn kind(bisected: &Bisected<'_>) -> &'static str {
    if bisected.commits.is_some() { "commit" } else { "candidate" }
}

fn band(bisected: &Bisected<'_>, (number, change): (usize, &BisectedChange)) -> Band {
    let BisectedChange { before, since, kind, .. } = *change;
    let colour = match bisected.effect(change) {
        _ if kind != ChangeKind::Began => "open",
        Some(effect) if is_worse(bisected, &effect) => "loss",
        _ => "gain",
    };
    Band { number, before, since, colour, title: line(bisected, change) }
}

/// First and last, then all with tags. Few candidates that are no commits have names as well.
fn names(bisected: &Bisected<'_>, last: usize) -> Vec<Name> {
    let is_tagged =
        |candidate: &usize| bisected.commit(*candidate).is_some_and(|commit| !commit.tags.is_empty());
    let others: Vec<usize> = match bisected.commits {
        Some(_) => (1..last).filter(is_tagged).collect(),
        None => (1..last).collect(),
    };
    let ends = if last == 0 { vec![0] } else { vec![0, last] };
    let name = |place: usize| {
        let title = match bisected.commit(place) {
            Some(commit) if !commit.tags.is_empty() => {
                format!("{}: {}", commit.tags.join(", "), commit.subject)
            }
            _ => named(bisected, place),
        };
        Name { place, text: short_name(bisected, place).to_owned(), title }
    };
    ends.into_iter().chain(others).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invented::InventedWork;

    #[test]
    fn the_ends_come_first_and_then_all_with_tags() {
        let mut search = InventedWork::of_commits(&[0; 60], &[], 1);
        for (number, commit) in search.commits.iter_mut().flatten().enumerate() {
            commit.tags = vec![format!("REL_17_{number}")];
        }
        let names = names(&search.bisected(), 59);
        let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        assert_eq!((names.len(), &texts[..3]), (60, &["REL_17_0", "REL_17_59", "REL_17_1"][..]));
    }
}
