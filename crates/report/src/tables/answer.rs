//! What changed, at a glance: one row for a step, with its interval drawn, or a matrix of steps and candidates.

use basecase_analysis::{Effect, Judged, Results, Work};
use basecase_stats::{Outlook, Verdict};

use super::relative::decided;
use super::{Column, MISSING, Row, Table, TableCell, number, work};
use crate::words::{
    EffectWords as _, JudgedWords as _, cause, changed_work, distinctive, duration, instructions,
    largest_mover, margin, measured_change, work_percent, work_words,
};

/// Letters of the narrowest and of the widest drawing.
const DRAWING: [usize; 2] = [13, 31];
/// Letters of a terminal that has room for the narrowest drawing.
const NARROW: usize = 80;
/// Letters of the narrowest column of a matrix.
const NARROWEST: usize = 9;
/// Letters of the label of a step, as a rule.
const LONGEST_LABEL: usize = 24;
/// Ends of a drawing's axis, as shares.
const REACHES: [f64; 10] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0];

/// The room for a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// Letters of a line.
    pub(crate) letters: usize,
    /// Most rows.
    pub(crate) rows: usize,
}

/// The table of what changed; `None` if there is nothing to show. The number is that of the changes left out.
pub(crate) fn table(results: &Results<'_>, room: Room) -> Option<(Table, usize)> {
    match results.experiment.candidates.len() {
        0 => None,
        1 => alone(results, room),
        2 => steps(results, 1, room),
        _ => matrix(results, room),
    }
}

/// What a single candidate did, for there is nothing to compare it with.
fn alone(results: &Results<'_>, room: Room) -> Option<(Table, usize)> {
    let row = |step: usize| {
        let (value, unit) = match results.headline(step, 0) {
            Some(rate) => (number(Some(rate), 0), results.experiment.steps[step].headline.unit()),
            None => (instructions(results.counts?.instructions(step, 0)?), "instructions per operation"),
        };
        let cells = vec![TableCell::plain(value), TableCell::plain(unit)];
        Some(Row { step: Some(step), ..Row::new(short_label(results, step), cells) })
    };
    let mut rows: Vec<Row> = compared(results).filter_map(row).collect();
    let left_out = rows.len().saturating_sub(room.rows);
    rows.truncate(room.rows);
    let columns = vec![Column::numbers("measured", ""), Column::words("unit")];
    (!rows.is_empty()).then(|| (Table { corner: "step", columns, rows, ..Table::default() }, left_out))
}

/// All steps and contenders as a matrix; `None` of fewer than two contenders, or if nothing is judged.
pub(crate) fn whole_matrix(results: &Results<'_>) -> Option<Table> {
    let room = Room { letters: usize::MAX, rows: usize::MAX };
    let has_several = results.experiment.candidates.len() > 2;
    let (table, _) = matrix(results, room).filter(|_| has_several)?;
    Some(Table { caption: "Changes".to_owned(), ..table })
}

/// What is known of a contender on a step.
struct Known<'r, 'a> {
    results: &'r Results<'a>,
    step: usize,
    candidate: usize,
    judged: Option<Judged<'a>>,
    work: Option<&'a Work>,
}

impl<'r, 'a> Known<'r, 'a> {
    /// `None` if nothing is.
    fn of(results: &'r Results<'a>, step: usize, candidate: usize) -> Option<Self> {
        let (judged, work) = (results.judged(step, candidate), results.work(step, candidate));
        let known = Known { results, step, candidate, judged, work };
        known.effect().is_some().then_some(known)
    }

    /// The change that the row is about: that in time, or of what was only counted that of work.
    fn effect(&self) -> Option<Effect> {
        match (&self.judged, self.work) {
            (Some(judged), _) => measured_change(judged),
            (None, Some(work)) if self.results.has_counts_only() => Some(work.effect()),
            (None, _) => {
                let relative = self.results.relative_effect(self.step, self.candidate);
                let alone = || {
                    let ratio = self.results.relative(self.step, self.candidate)?;
                    Some(Effect { ratio, interval: None })
                };
                relative.or_else(alone)
            }
        }
    }

    /// Changes in time come first, then those of work, then what is open, then what is unchanged; of single runs the largest.
    fn order(&self) -> (u8, f64) {
        let size = self.effect().map_or(0.0, |effect| effect.ratio.ln().abs());
        let has_other_work = self.work.is_some_and(|work| work.verdict().is_change());
        let rank = match self.judged.map(|judged| judged.throughput.verdict) {
            Some(verdict) if verdict.is_change() => 0,
            _ if has_other_work => 1,
            Some(Verdict::NoChange) => 3,
            _ => 2,
        };
        (rank, -size)
    }

    fn is_changed(&self) -> bool {
        self.order().0 < 2
    }

    fn cell(&self) -> TableCell {
        let mark = match (&self.judged, self.work) {
            (Some(judged), _) => decided(judged.throughput.verdict),
            (None, Some(found)) if self.results.has_counts_only() => work::mark(found.verdict()),
            (None, _) => super::Highlight::None,
        };
        let text = match (self.effect(), self.judged.is_none() && self.results.has_counts_only()) {
            (Some(effect), true) => work_percent(&effect),
            (Some(effect), false) => compact(&effect),
            (None, _) => MISSING.to_owned(),
        };
        TableCell::marked(text, mark)
    }

    /// What moved with a change, or what is known where nothing did.
    fn words(&self) -> String {
        let other_work = || changed_work(self.results, self.step, self.candidate);
        if self.results.has_counts_only() {
            let causes = self.results.counts.and_then(|counts| counts.causes(self.step, self.candidate));
            let is_changed = self.work.is_some_and(|work| work.verdict().is_change());
            let mover = causes.as_ref().and_then(largest_mover).filter(|_| is_changed);
            return mover.or_else(|| self.work.map(work_words)).unwrap_or_default();
        }
        let misses = |candidate| self.results.missed_sla(self.step, candidate);
        let Some(judged) = &self.judged else {
            if misses(0) || misses(self.candidate) {
                return "not compared: target rate missed".to_owned();
            }
            return cause(self.results, self.step, self.candidate).or_else(other_work).unwrap_or_default();
        };
        let decision = judged.throughput;
        let state = match decision.verdict {
            Verdict::Regression | Verdict::Improvement if measured_change(judged).is_none() => {
                judged.verdict()
            }
            Verdict::Regression | Verdict::Improvement => {
                return cause(self.results, self.step, self.candidate)
                    .or_else(other_work)
                    .unwrap_or_else(|| "cause not known".to_owned());
            }
            Verdict::NoChange => format!("same within {}", margin(decision.margin)),
            Verdict::NotEnoughData => match (decision.outlook, judged.round_s) {
                (Outlook::MoreRounds(more), Some(round_s)) => {
                    format!("open: {} more", duration(more as f64 * round_s))
                }
                (Outlook::OnTheMargin, _) => "close to the margin".to_owned(),
                _ => "open".to_owned(),
            },
        };
        other_work().map_or(state.clone(), |work| format!("{state}; {work}"))
    }
}

/// E.g. `+6.1 ±1.1`: half the width of its interval.
fn compact(effect: &Effect) -> String {
    let half = |[low, high]: [f64; 2]| format!(" ±{:.1}", 50.0 * (high - low));
    format!("{}{}", effect.percent_text(), effect.interval.map(half).unwrap_or_default())
}

/// A step's label without its range, where that leaves it unique.
fn short_label<'a>(results: &Results<'a>, step: usize) -> &'a str {
    let short = |label: &'a str| label.split_once("_range=").map_or(label, |(name, _)| name);
    let own = short(&results.experiment.steps[step].label);
    let others = results.steps().filter(|(_, facts)| facts.is_compared() && short(&facts.label) == own);
    if others.count() > 1 { &results.experiment.steps[step].label } else { own }
}

/// A row for each step of a contender.
fn steps(results: &Results<'_>, candidate: usize, room: Room) -> Option<(Table, usize)> {
    let mut all: Vec<Known<'_, '_>> =
        compared(results).filter_map(|step| Known::of(results, step, candidate)).collect();
    all.sort_by(|one, other| {
        let ((rank, size), (other_rank, other_size)) = (one.order(), other.order());
        rank.cmp(&other_rank).then(size.total_cmp(&other_size))
    });
    if all.len() > room.rows && all.iter().any(Known::is_changed) {
        all.retain(Known::is_changed);
    }
    let left_out = all.len().saturating_sub(room.rows);
    all.truncate(room.rows);
    let drawing = Drawing::of(all.iter().filter_map(Known::effect), room.letters);
    let row = |known: &Known<'_, '_>| {
        let cells = vec![
            known.cell(),
            TableCell::plain(known.effect().map_or_else(String::new, |effect| drawing.line(&effect))),
            TableCell::plain(known.words()),
        ];
        Row { step: Some(known.step), ..Row::new(short_label(results, known.step), cells) }
    };
    let rows: Vec<Row> = all.iter().map(row).collect();
    let heading = if results.has_counts_only() { "work %" } else { "change %" };
    (!rows.is_empty()).then(|| {
        let columns =
            vec![Column::numbers(heading, ""), Column::words(drawing.axis()), Column::words("because")];
        (Table { corner: "step", columns, rows, ..Table::default() }, left_out)
    })
}

/// The steps that are not only preparation.
fn compared<'a>(results: &Results<'a>) -> impl Iterator<Item = usize> + use<'a> {
    results.steps().filter(|(_, facts)| facts.is_compared()).map(|(step, _)| step)
}

/// Intervals drawn with letters.
struct Drawing {
    width: usize,
    reach: f64,
}

impl Drawing {
    fn of(effects: impl Iterator<Item = Effect>, width: usize) -> Self {
        let ends = |effect: Effect| {
            let [low, high] = effect.interval.unwrap_or([effect.ratio; 2]);
            (low - 1.0).abs().max((high - 1.0).abs())
        };
        let largest = effects.map(ends).fold(0.0, f64::max);
        let reach = REACHES.into_iter().find(|reach| largest <= *reach).unwrap_or(REACHES[REACHES.len() - 1]);
        let [least, most] = DRAWING;
        let room = (least + width.saturating_sub(NARROW) / 2).clamp(least, most);
        Drawing { width: room - (room + 1) % 2, reach }
    }

    /// The column at which a ratio is drawn; beyond the ends, at the end.
    fn column(&self, ratio: f64) -> usize {
        let half = (self.width / 2) as f64;
        let offset = (ratio - 1.0) / self.reach * half;
        (half + offset.clamp(-half, half)).round() as usize
    }

    /// E.g. `      ¦ ├●─┤ `.
    fn line(&self, effect: &Effect) -> String {
        let mut letters = vec![' '; self.width];
        letters[self.width / 2] = '¦';
        if let Some(ends) = effect.interval {
            let [low, high] = ends.map(|end| self.column(end));
            letters[low..=high].fill('─');
            (letters[low], letters[high]) = if low < high { ('├', '┤') } else { ('│', '│') };
        }
        letters[self.column(effect.ratio)] = '●';
        letters.into_iter().collect()
    }

    /// The ends of the axis and 0.
    fn axis(&self) -> String {
        let end = 100.0 * self.reach;
        let (low, high) = (format!("-{end}%"), format!("+{end}%"));
        let rest = self.width.saturating_sub(low.len() + high.len());
        let before = (self.width / 2).saturating_sub(low.len());
        if rest < 3 || before == 0 {
            return format!("{low}{}{high}", " ".repeat(rest));
        }
        format!("{low}{}0{}{high}", " ".repeat(before), " ".repeat(rest - before - 1))
    }
}

/// A row for each step with a change, and a column for each contender.
fn matrix(results: &Results<'_>, room: Room) -> Option<(Table, usize)> {
    let contenders = results.candidates().skip(1).map(|(candidate, _)| candidate);
    // The last ones, which usually are the newest, where there is no room for all.
    let most = (room.letters.saturating_sub(LONGEST_LABEL) / (NARROWEST + 2)).max(1);
    let left = (results.experiment.candidates.len() - 1).saturating_sub(most);
    let contenders: Vec<usize> = contenders.skip(left).collect();
    let mut rows: Vec<Vec<Option<Known<'_, '_>>>> = compared(results)
        .map(|step| contenders.iter().map(|one| Known::of(results, step, *one)).collect())
        .collect();
    rows.retain(|row: &Vec<Option<Known<'_, '_>>>| row.iter().flatten().next().is_some());
    let is_decided = results.rounds.is_some() || results.has_counts_only();
    if rows.len() > room.rows && is_decided {
        rows.retain(|row| row.iter().flatten().any(Known::is_changed));
    }
    let left_out = rows.len().saturating_sub(room.rows);
    let largest = |row: &Vec<Option<Known<'_, '_>>>| {
        let sizes = row.iter().flatten().filter_map(Known::effect).map(|effect| effect.ratio.ln().abs());
        sizes.fold(0.0, f64::max)
    };
    rows.sort_by(|one, other| largest(other).total_cmp(&largest(one)));
    rows.truncate(room.rows);
    rows.sort_by_key(|row| row.iter().flatten().next().map(|known| known.step));
    let step_of = |row: &[Option<Known<'_, '_>>]| row.iter().flatten().next().map(|known| known.step);
    let label = |step: usize| short_label(results, step);
    let names = rows.iter().filter_map(|row| step_of(row)).map(|step| label(step).chars().count()).max()?;
    let cells = |has_intervals: bool| -> Vec<Vec<TableCell>> {
        let cell = |known: &Option<Known<'_, '_>>| {
            known
                .as_ref()
                .map_or_else(|| TableCell::plain(MISSING), |known| matrix_cell(known, has_intervals))
        };
        rows.iter().map(|row| row.iter().map(cell).collect()).collect()
    };
    // A heading is cut to its share of the line.
    let share =
        (room.letters.saturating_sub(names) / contenders.len().max(1)).saturating_sub(2).max(NARROWEST);
    let heading = |one: &usize| {
        let name = distinctive(results, *one);
        let is_long = name.chars().count() > share;
        if is_long { name.chars().take(share - 1).chain(['…']).collect() } else { name }
    };
    let headings: Vec<String> = contenders.iter().map(heading).collect();
    let fits = |cells: &[Vec<TableCell>]| {
        let of_column = |column: usize| {
            let cells = cells.iter().map(|row| row[column].text.chars().count());
            2 + cells.chain([headings[column].chars().count()]).max().unwrap_or(0)
        };
        names + (0..headings.len()).map(of_column).sum::<usize>() <= room.letters
    };
    let with_intervals = cells(true);
    let cells = if fits(&with_intervals) { with_intervals } else { cells(false) };
    let of_step = |(row, cells): (&Vec<Option<Known<'_, '_>>>, Vec<TableCell>)| {
        let step = step_of(row)?;
        Some(Row { step: Some(step), ..Row::new(label(step), cells) })
    };
    let rows: Vec<Row> = rows.iter().zip(cells).filter_map(of_step).collect();
    let columns = headings.into_iter().map(|name| Column::numbers(name, "")).collect();
    let reading = match results.rounds {
        _ if results.has_counts_only() => WORK_MATRIX,
        Some(_) => MATRIX,
        None => SINGLE_RUNS,
    };
    let table = Table { reading: reading.to_owned(), corner: "step", columns, rows, ..Table::default() };
    (!table.rows.is_empty()).then_some((table, left_out))
}

/// How to read a matrix.
const MATRIX: &str = "Change in per cent of the base case: + is an improvement, - a regression, = no change; ? is not settled.";
const SINGLE_RUNS: &str = "Change in per cent of the base case.";
const WORK_MATRIX: &str =
    "Change of work in per cent of the base case: + is less, - is more, = is the same; ? is not settled.";

fn matrix_cell(known: &Known<'_, '_>, has_interval: bool) -> TableCell {
    let cell = known.cell();
    let sign = match (&known.judged, known.work) {
        (Some(judged), _) => match judged.throughput.verdict {
            Verdict::NoChange => "=",
            Verdict::NotEnoughData => "?",
            _ => cell.mark.sign(),
        },
        (None, Some(work)) if known.results.has_counts_only() => match work.verdict().is_change() {
            true => cell.mark.sign(),
            false => "=",
        },
        (None, _) => "",
    };
    let text = if has_interval { cell.text.clone() } else { first_word(&cell.text).to_owned() };
    TableCell { text: format!("{text} {sign}").trim_end().to_owned(), ..cell }
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(ratio: f64, interval: [f64; 2]) -> Effect {
        Effect { ratio, interval: Some(interval) }
    }

    #[test]
    fn intervals_are_drawn_where_they_are() {
        let effects = [effect(1.1, [1.05, 1.15]), effect(0.9, [0.82, 0.98]), effect(1.0, [1.0, 1.0])];
        let drawing = Drawing::of(effects.iter().copied(), 80);
        assert_eq!(drawing.axis(), "-20%  0  +20%");
        let lines = effects.map(|effect| drawing.line(&effect));
        assert_eq!(lines, ["      ¦ ├●┤  ", " ├─●─┤¦      ", "      ●      "]);
    }

    #[test]
    fn what_is_beyond_the_axis_is_drawn_at_its_end() {
        let drawing = Drawing { width: 13, reach: 0.1 };
        assert_eq!((drawing.column(9.0), drawing.column(0.0), drawing.column(1.0)), (12, 0, 6));
    }
}
