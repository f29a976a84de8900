//! The charts of a history: levels of time and of work over the versions.

use basecase_analysis::{Effect, RankedChange, StepHistory, VersionHistory, WorkHistory};
use maud::Markup;

use crate::formats::html::axis_labels::Name;
use crate::formats::html::level_chart::{Band, Level, LevelChart};
use crate::words::{EffectWords as _, instructions, since};

/// About how many versions have a name, beside the ends and changes, where not all have one.
const NAMED: usize = 6;
/// Up to so many versions all have one, if there is room.
const FEW: usize = 60;
/// Length of a date at the beginning of RFC 3339.
const DATE: usize = 10;

/// The levels of throughput; `None` if no two versions were measured.
pub(super) fn of_time(
    history: &VersionHistory<'_>,
    step: &StepHistory<'_>,
    changes: &[RankedChange<'_, '_>],
) -> Option<Markup> {
    let band = |(number, change): (usize, &RankedChange<'_, '_>)| {
        let shift = change.time?;
        let title = format!("{} {}", shift.effect().difference(), since(history, change));
        let colour = if shift.change.magnitude < 0.0 { "loss" } else { "gain" };
        Some(Band { number, before: shift.before, since: shift.version, colour, title })
    };
    let bands = (1..).zip(changes).filter_map(band).collect();
    let base = history.versions.first().map_or("", String::as_str);
    chart(history, format!("Throughput in per cent of {base}; higher is faster"), &step.ratios, bands)
}

/// The levels of work; `None` if no two versions were counted.
pub(super) fn of_work(
    history: &VersionHistory<'_>,
    step: &WorkHistory<'_>,
    changes: &[RankedChange<'_, '_>],
) -> Option<Markup> {
    let band = |(number, change): (usize, &RankedChange<'_, '_>)| {
        let work = change.work?;
        let title = format!("{} {}", work.effect().work_difference(), since(history, change));
        let colour = if work.effect().ratio > 1.0 { "loss" } else { "gain" };
        Some(Band { number, before: work.shift.before, since: work.shift.version, colour, title })
    };
    let bands = (1..).zip(changes).filter_map(band).collect();
    let mut counted = step.instructions.iter().zip(&history.versions);
    let first = counted.find_map(|(count, name)| Some((instructions((*count)?), name)));
    let first = first.map(|(count, name)| format!(" of {name}, which needs {count}")).unwrap_or_default();
    let caption = format!("Instructions per operation in per cent{first}; higher is more work");
    chart(history, caption, &step.ratios, bands)
}

fn chart(
    history: &VersionHistory<'_>,
    caption: String,
    ratios: &[Option<Effect>],
    bands: Vec<Band>,
) -> Option<Markup> {
    let level = |(place, (effect, name)): (usize, (&Option<Effect>, &String))| {
        let effect = effect.filter(|effect| effect.ratio.is_finite())?;
        let size = match effect.interval {
            Some(_) => format!("{} % {}", effect.percent_text(), effect.percent_interval()),
            None if place == 0 => "the first".to_owned(),
            None => format!("{} %", effect.percent_text()),
        };
        Some(Level { place, effect, title: format!("{name}: {size}") })
    };
    let levels: Vec<Level> = ratios.iter().zip(&history.versions).enumerate().filter_map(level).collect();
    (levels.len() > 1).then(|| {
        let names = names(history, &bands);
        let chart = LevelChart {
            description: caption.clone(),
            caption,
            last: history.versions.len().saturating_sub(1),
            levels,
            bands,
            names,
            skipped: Vec::new(),
        };
        chart.render()
    })
}

/// First and last, then those at which a change began, then others: all of few versions, or some at even distances.
fn names(history: &VersionHistory<'_>, bands: &[Band]) -> Vec<Name> {
    let last = history.versions.len().saturating_sub(1);
    let stride = if last < FEW { 1 } else { last.div_ceil(NAMED) };
    let wanted = [0, last].into_iter().chain(bands.iter().map(|band| band.since));
    let mut places: Vec<usize> = Vec::new();
    for place in wanted.chain((0..last).step_by(stride)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.truncate(FEW.max(2));
    places.into_iter().filter_map(|place| name(history, place)).collect()
}

/// The name of a version; of one that has a date, only that, because many have the same name.
fn name(history: &VersionHistory<'_>, place: usize) -> Option<Name> {
    let title = history.versions.get(place)?.clone();
    let date = history.since.get(place).and_then(|since| since.get(..DATE));
    let text = match date.filter(|_| history.joined.is_some() && place > 0) {
        Some(date) => date.to_owned(),
        None => without_config(history, &title).to_owned(),
    };
    Some(Name { place, text, title })
}

/// The name of a candidate without its config, if all have the same.
fn without_config<'n>(history: &VersionHistory<'_>, name: &'n str) -> &'n str {
    let mut configs = history.experiment.candidates.iter().map(|facts| &facts.config.name);
    let first = configs.next();
    let is_same = configs.all(|config| Some(config) == first);
    let config = first.filter(|_| is_same).map_or("", String::as_str);
    name.strip_suffix(config).and_then(|build| build.strip_suffix('.')).unwrap_or(name)
}
