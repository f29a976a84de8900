//! What changed, at a glance: one row for a step, with its interval drawn, or a matrix of steps and candidates.

use basecase_analysis::{Effect, Judged, Results, Work};
use basecase_model::StepFacts;
use basecase_stats::{Outlook, Verdict};

use super::relative::decided;
use super::{Column, MISSING, Row, Table, TableCell, number, work};
use crate::axis;
use crate::words::{
    EffectWords as _, cause, changed_work, distinctive, duration, instructions, largest_mover, margin,
    missed_rate, work_percent, work_words,
};

/// Letters of the narrowest and of the widest drawing.
const DRAWING: [usize; 2] = [13, 31];
/// Letters of a terminal that has room for the narrowest drawing.
const NARROW: usize = 80;
/// Letters of the narrowest column of a matrix.
const NARROWEST: usize = 9;
/// Stands in the place of a size.
const MISSED_RATE: &str = "missed rate";
/// Letters between two columns.
const GAP: usize = 2;
/// Letters of the heading of changes.
const CHANGE_HEADING: usize = 8;
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
    let row = |(step, facts): (usize, &StepFacts)| {
        let (value, unit) = match results.headline(step, 0) {
            Some(rate) => (number(Some(rate), 0), facts.headline.unit()),
            None => (instructions(results.counts?.instructions(step, 0)?), "instructions per operation"),
        };
        let cells = vec![TableCell::plain(value), TableCell::plain(unit)];
        Some(Row { step: Some(step), ..Row::new(short_label(results, step), cells) })
    };
    let mut rows: Vec<Row> = results.compared_steps().filter_map(row).collect();
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
    found: Found<'a>,
    /// `None` where a missed target rate decided.
    effect: Option<Effect>,
}

/// What a row is about.
enum Found<'a> {
    /// Its time in rounds.
    Time(Judged<'a>),
    /// Its work, where nothing is timed.
    Work(&'a Work),
    /// Its rate in single runs.
    Rate,
}

impl<'r, 'a> Known<'r, 'a> {
    /// `None` with neither a size nor a missed target rate.
    fn of(results: &'r Results<'a>, step: usize, candidate: usize) -> Option<Self> {
        let (found, effect) = if let Some(judged) = results.judged(step, candidate) {
            let effect = judged.effect();
            if effect.is_none() && !judged.has_missed_rate() {
                return None;
            }
            (Found::Time(judged), effect)
        } else if results.has_counts_only() {
            let work = results.work(step, candidate)?;
            (Found::Work(work), Some(work.effect()))
        } else {
            let alone = || Some(Effect { ratio: results.relative(step, candidate)?, interval: None });
            (Found::Rate, Some(results.relative_effect(step, candidate).or_else(alone)?))
        };
        Some(Known { results, step, candidate, found, effect })
    }

    /// How far it is from the base case, as a logarithm. What missed its rate comes first.
    fn size(&self) -> f64 {
        self.effect.map_or(f64::INFINITY, |effect| effect.ratio.ln().abs())
    }

    /// Changes in time come first, then those of work, then what is open, then what is unchanged.
    fn rank(&self) -> u8 {
        let verdict = match &self.found {
            Found::Time(judged) => Some(judged.throughput.verdict),
            Found::Work(_) | Found::Rate => None,
        };
        let work = self.results.work(self.step, self.candidate);
        match verdict {
            Some(verdict) if verdict.is_change() => 0,
            _ if work.is_some_and(|work| work.verdict().is_change()) => 1,
            Some(Verdict::NoChange) => 3,
            _ => 2,
        }
    }

    fn is_changed(&self) -> bool {
        self.rank() < 2
    }

    fn cell(&self) -> TableCell {
        let text =
            |of: fn(&Effect) -> String| self.effect.as_ref().map_or_else(|| MISSED_RATE.to_owned(), of);
        match &self.found {
            Found::Time(judged) => TableCell::marked(text(compact), decided(judged.throughput.verdict)),
            Found::Work(work) => TableCell::marked(text(work_percent), work::mark(work.verdict())),
            Found::Rate => TableCell::plain(text(compact)),
        }
    }

    /// What moved with a change, or what is known where nothing did.
    fn words(&self) -> String {
        let Known { results, step, candidate, .. } = *self;
        match &self.found {
            Found::Time(judged) => self.words_of_time(judged),
            Found::Work(work) => {
                let causes = results.counts.and_then(|counts| counts.causes(step, candidate));
                let mover = causes.as_ref().and_then(largest_mover);
                mover.filter(|_| work.verdict().is_change()).unwrap_or_else(|| work_words(work))
            }
            Found::Rate if results.missed_sla(step, 0) || results.missed_sla(step, candidate) => {
                "not compared: target rate missed".to_owned()
            }
            Found::Rate => self.cause().unwrap_or_default(),
        }
    }

    fn words_of_time(&self, judged: &Judged<'_>) -> String {
        let decision = judged.throughput;
        if judged.has_missed_rate() {
            return missed_rate(decision);
        }
        let state = match (decision.verdict, decision.outlook, judged.round_s) {
            (Verdict::Regression | Verdict::Improvement, ..) => {
                return self.cause().unwrap_or_else(|| "cause not known".to_owned());
            }
            (Verdict::NoChange, ..) => format!("same within {}", margin(decision.margin)),
            (Verdict::NotEnoughData, Outlook::MoreRounds(more), Some(round_s)) => {
                format!("open: {} more", duration(more as f64 * round_s))
            }
            (Verdict::NotEnoughData, Outlook::OnTheMargin, _) => "close to the margin".to_owned(),
            (Verdict::NotEnoughData, ..) => "open".to_owned(),
        };
        match changed_work(self.results, self.step, self.candidate) {
            Some(work) => format!("{state}; {work}"),
            None => state,
        }
    }

    /// What explains the change, or else how its work changed.
    fn cause(&self) -> Option<String> {
        let Known { results, step, candidate, .. } = *self;
        cause(results, step, candidate).or_else(|| changed_work(results, step, candidate))
    }
}

/// E.g. `+6.1 ±1.1`: half the width of its interval.
pub(super) fn compact(effect: &Effect) -> String {
    let half = effect.half_interval(1).map(|half| format!(" {half}"));
    format!("{}{}", effect.percent_text(), half.unwrap_or_default())
}

/// A step's label without its range, where that leaves it unique.
fn short_label<'a>(results: &Results<'a>, step: usize) -> &'a str {
    let short = |label: &'a str| label.split_once("_range=").map_or(label, |(name, _)| name);
    let own = short(&results.experiment.steps[step].label);
    let of_same_name = results.compared_steps().filter(|(_, facts)| short(&facts.label) == own);
    if of_same_name.count() > 1 { &results.experiment.steps[step].label } else { own }
}

/// A row for each step of a contender.
fn steps(results: &Results<'_>, candidate: usize, room: Room) -> Option<(Table, usize)> {
    let mut all: Vec<Known<'_, '_>> =
        results.compared_steps().filter_map(|(step, _)| Known::of(results, step, candidate)).collect();
    all.sort_by(|one, other| one.rank().cmp(&other.rank()).then(other.size().total_cmp(&one.size())));
    if all.len() > room.rows && all.iter().any(Known::is_changed) {
        all.retain(Known::is_changed);
    }
    let left_out = all.len().saturating_sub(room.rows);
    all.truncate(room.rows);
    let drawing = Drawing::of(all.iter().filter_map(|known| known.effect), room.letters);
    let row = |known: &Known<'_, '_>| {
        let cells = vec![
            known.cell(),
            TableCell::plain(drawing.line(known.effect.as_ref())),
            TableCell::plain(known.words()),
        ];
        Row { step: Some(known.step), ..Row::new(short_label(results, known.step), cells) }
    };
    let rows = on_two_lines(all.iter().map(row).collect(), &drawing, room);
    let heading = if results.has_counts_only() { "work %" } else { "change %" };
    (!rows.is_empty()).then(|| {
        let columns =
            vec![Column::numbers(heading, ""), Column::words(drawing.axis()), Column::words("because")];
        (Table { corner: "step", columns, rows, ..Table::default() }, left_out)
    })
}

/// The rows, with a second line for each whose last words are too long for their column, if there is room for all of these lines.
fn on_two_lines(rows: Vec<Row>, drawing: &Drawing, room: Room) -> Vec<Row> {
    let width = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0);
    let others = width(|row| &row.name)
        + width(|row| &row.cells[0].text).max(CHANGE_HEADING)
        + width(|row| &row.cells[1].text)
        + 3 * GAP;
    let letters = room.letters.saturating_sub(others);
    let lines: Vec<Row> = rows.iter().flat_map(|row| lines(row, drawing, letters)).collect();
    if lines.len() > room.rows { rows } else { lines }
}

/// A row on two lines if its last words are longer than so many letters and can be divided.
fn lines(row: &Row, drawing: &Drawing, letters: usize) -> Vec<Row> {
    let [change, drawn, words] = row.cells.as_slice() else { return vec![row.clone()] };
    let Some((first, second)) = divided(&words.text, letters) else { return vec![row.clone()] };
    let of = |text: &str| TableCell::plain(text);
    vec![
        Row { cells: vec![change.clone(), drawn.clone(), of(first)], ..row.clone() },
        Row::new("", vec![of(""), of(&drawing.line(None)), of(second)]),
    ]
}

/// Words that are longer than so many letters in two parts: before what stands after a semicolon, or before the function in parentheses,
/// or else at the last space where the first part fits.
fn divided(words: &str, letters: usize) -> Option<(&str, &str)> {
    let is_short = |text: &str| text.chars().count() <= letters;
    let signs = ["; ", " ("].into_iter().filter_map(|sign| words.find(sign).map(|at| at + 1));
    // A number keeps its per cent sign.
    let spaces = words.rmatch_indices(' ').map(|(at, _)| at).filter(|at| !words[at + 1..].starts_with('%'));
    let mut parts = signs
        .chain(spaces)
        .map(|at| words.split_at(at))
        .map(|(first, second)| (first.trim_end(), second.trim_start()));
    parts.find(|(first, second)| !is_short(words) && is_short(first) && is_short(second))
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
        let largest = axis::reach(effects.map(ends));
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

    /// E.g. `      ¦ ├●─┤ `, and of no size `      ¦      `.
    fn line(&self, effect: Option<&Effect>) -> String {
        let mut letters = vec![' '; self.width];
        letters[self.width / 2] = '¦';
        let Some(effect) = effect else { return letters.into_iter().collect() };
        if let Some(ends) = effect.interval {
            let [low, high] = ends.map(|end| self.column(end));
            letters[low..=high].fill('─');
            (letters[low], letters[high]) = if low < high { ('├', '┤') } else { ('│', '│') };
        }
        letters[self.column(effect.ratio)] = match effect.ratio - 1.0 {
            change if change > self.reach => '▶',
            change if change < -self.reach => '◀',
            _ => '●',
        };
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

/// A step of a matrix, with what is known of each contender that is shown.
struct MatrixRow<'r, 'a> {
    step: usize,
    label: &'a str,
    known: Vec<Option<Known<'r, 'a>>>,
}

impl<'r, 'a> MatrixRow<'r, 'a> {
    /// `None` if nothing is known of any of them.
    fn of(results: &'r Results<'a>, step: usize, contenders: &[usize]) -> Option<Self> {
        let known: Vec<_> = contenders.iter().map(|one| Known::of(results, step, *one)).collect();
        let is_known = known.iter().any(Option::is_some);
        is_known.then(|| MatrixRow { step, label: short_label(results, step), known })
    }

    fn all(&self) -> impl Iterator<Item = &Known<'r, 'a>> {
        self.known.iter().flatten()
    }

    fn largest(&self) -> f64 {
        self.all().map(Known::size).fold(0.0, f64::max)
    }

    fn cells(&self, has_intervals: bool) -> Vec<TableCell> {
        let cell = |known: &Option<Known<'_, '_>>| match known {
            Some(known) => matrix_cell(known, has_intervals),
            None => TableCell::plain(MISSING),
        };
        self.known.iter().map(cell).collect()
    }
}

/// A row for each step with a change, and a column for each contender.
fn matrix(results: &Results<'_>, room: Room) -> Option<(Table, usize)> {
    let contenders = shown_contenders(results, room);
    let mut rows: Vec<MatrixRow<'_, '_>> =
        results.compared_steps().filter_map(|(step, _)| MatrixRow::of(results, step, &contenders)).collect();
    let is_decided = results.rounds.is_some() || results.has_counts_only();
    if rows.len() > room.rows && is_decided {
        rows.retain(|row| row.all().any(Known::is_changed));
    }
    let left_out = rows.len().saturating_sub(room.rows);
    rows.sort_by(|one, other| other.largest().total_cmp(&one.largest()));
    rows.truncate(room.rows);
    rows.sort_by_key(|row| row.step);
    let names = rows.iter().map(|row| row.label.chars().count()).max()?;
    let headings = headings(results, &contenders, room.letters.saturating_sub(names));
    let cells = |has_intervals| rows.iter().map(|row| row.cells(has_intervals)).collect();
    let with_intervals: Vec<Vec<TableCell>> = cells(true);
    let is_fitting = names + width_of(&headings, &with_intervals) <= room.letters;
    let cells = if is_fitting { with_intervals } else { cells(false) };
    let row = |(row, cells): (&MatrixRow<'_, '_>, Vec<TableCell>)| Row {
        step: Some(row.step),
        ..Row::new(row.label, cells)
    };
    let reading = match results.rounds {
        _ if results.has_counts_only() => WORK_MATRIX,
        Some(_) => MATRIX,
        None => SINGLE_RUNS,
    };
    let all = results.experiment.candidates.len() - 1;
    let reading = match contenders.len() {
        shown if shown < all => format!("{reading} The last {shown} of {all} are shown; --full has all."),
        _ => reading.to_owned(),
    };
    let table = Table {
        reading,
        corner: "step",
        rows: rows.iter().zip(cells).map(row).collect(),
        columns: headings.into_iter().map(|name| Column::numbers(name, "")).collect(),
        ..Table::default()
    };
    Some((table, left_out))
}

/// All contenders, or the last ones, which usually are the newest, where there is no room for all.
fn shown_contenders(results: &Results<'_>, room: Room) -> Vec<usize> {
    let most = (room.letters.saturating_sub(LONGEST_LABEL) / (NARROWEST + GAP)).max(1);
    let all = results.experiment.candidates.len();
    (1..all).skip((all - 1).saturating_sub(most)).collect()
}

/// Names of contenders, each cut to its share of so many letters.
fn headings(results: &Results<'_>, contenders: &[usize], letters: usize) -> Vec<String> {
    let share = (letters / contenders.len().max(1)).saturating_sub(GAP).max(NARROWEST);
    let heading = |one: &usize| {
        let name = distinctive(results, *one);
        let is_long = name.chars().count() > share;
        if is_long { name.chars().take(share - 1).chain(['…']).collect() } else { name }
    };
    contenders.iter().map(heading).collect()
}

/// How many letters columns take.
fn width_of(headings: &[String], rows: &[Vec<TableCell>]) -> usize {
    let width = |(column, heading): (usize, &String)| {
        let cells = rows.iter().map(|row| row[column].text.chars().count());
        GAP + cells.chain([heading.chars().count()]).max().unwrap_or(0)
    };
    headings.iter().enumerate().map(width).sum()
}

/// How to read a matrix.
const MATRIX: &str = "Change in per cent of the base case: + is an improvement, - a regression, = no change; ? is not settled.";
const SINGLE_RUNS: &str = "Change in per cent of the base case.";
const WORK_MATRIX: &str =
    "Change of work in per cent of the base case: + is less, - is more, = is the same; ? is not settled.";

fn matrix_cell(known: &Known<'_, '_>, has_interval: bool) -> TableCell {
    let cell = known.cell();
    let sign = match &known.found {
        Found::Time(judged) if judged.throughput.verdict == Verdict::NoChange => "=",
        Found::Time(judged) if judged.throughput.verdict == Verdict::NotEnoughData => "?",
        Found::Work(work) if !work.verdict().is_change() => "=",
        Found::Time(_) | Found::Work(_) | Found::Rate => cell.mark.sign(),
    };
    let number = if has_interval { &cell.text } else { cell.text.split(' ').next().unwrap_or_default() };
    TableCell { text: format!("{number} {sign}").trim_end().to_owned(), ..cell }
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
        let lines = effects.map(|effect| drawing.line(Some(&effect)));
        assert_eq!(lines, ["      ¦ ├●┤  ", " ├─●─┤¦      ", "      ●      "]);
        assert_eq!(drawing.line(None), "      ¦      ");
    }

    #[test]
    fn long_words_are_divided_where_they_fit_then() {
        let words = "open: 18 s more; 11.8 % less work (sqlite3VdbeExec)";
        assert_eq!(divided(words, 35), Some(("open: 18 s more;", "11.8 % less work (sqlite3VdbeExec)")));
        let words = "8.6 % less work (sqlite3BtreeMovetoUnpacked)";
        assert_eq!(divided(words, 35), Some(("8.6 % less work", "(sqlite3BtreeMovetoUnpacked)")));
        assert_eq!(divided(words, 44), None);
        assert_eq!(divided(words, 20), None);
        let words = "less CPU time of the client per operation";
        assert_eq!(divided(words, 32), Some(("less CPU time of the client per", "operation")));
        let words = "more reads of the server and 12 % of idle";
        assert_eq!(divided(words, 32), Some(("more reads of the server and", "12 % of idle")));
    }

    #[test]
    fn what_is_beyond_the_axis_is_drawn_at_its_end() {
        let drawing = Drawing { width: 13, reach: 0.1 };
        assert_eq!((drawing.column(9.0), drawing.column(0.0), drawing.column(1.0)), (12, 0, 6));
        let drawn = [9.0, 0.5].map(|ratio| drawing.line(Some(&Effect { ratio, interval: None })));
        assert_eq!(drawn, ["      ¦     ▶", "◀     ¦      "]);
    }
}
