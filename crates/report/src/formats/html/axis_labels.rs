//! Names below an axis of candidates, as many as a phone has room for.

use basecase_analysis::Bisected;

use crate::words::{named, short_name};

/// Most rows of names.
const ROWS: usize = 3;
/// Width of a letter, and the distance between names, in per cent of the chart on a phone.
const LETTER: f64 = 2.1;
const GAP: f64 = 3.0;
/// Longest name, in letters.
const LONGEST: usize = 20;

/// The name of a candidate.
pub(super) struct Label {
    pub(super) candidate: usize,
    pub(super) text: String,
    /// What it is about.
    pub(super) title: String,
    /// The row, and the CSS class of how it is aligned; `None` where there is no room.
    pub(super) place: Option<(usize, &'static str)>,
}

/// The names of first and last and of all with tags, and how many rows they have. `shares` are the places of all candidates, in per cent.
pub(super) fn labels(bisected: &Bisected<'_>, shares: &[f64]) -> (Vec<Label>, usize) {
    let last = shares.len().saturating_sub(1);
    let is_tagged =
        |candidate: &usize| bisected.commit(*candidate).is_some_and(|commit| !commit.tags.is_empty());
    // First and last take the room that they need; few candidates that are no commits have names as well.
    let others: Vec<usize> = match bisected.commits {
        Some(_) => (1..last).filter(is_tagged).collect(),
        None => (1..last).collect(),
    };
    let mut rows: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ROWS];
    let mut used = 1;
    let label = |candidate: usize| {
        let text = cut(short_name(bisected, candidate));
        let (anchor, span) = aligned(shares[candidate], LETTER * text.chars().count() as f64);
        let is_free =
            |row: &Vec<(f64, f64)>| row.iter().all(|taken| span.1 + GAP < taken.0 || taken.1 + GAP < span.0);
        let row = rows.iter().position(is_free);
        if let Some(row) = row {
            rows[row].push(span);
            used = used.max(row + 1);
        }
        let title = match bisected.commit(candidate) {
            Some(commit) if !commit.tags.is_empty() => {
                format!("{}: {}", commit.tags.join(", "), commit.subject)
            }
            _ => named(bisected, candidate),
        };
        Label { candidate, text, title, place: row.map(|row| (row, anchor)) }
    };
    let ends = if last == 0 { vec![0] } else { vec![0, last] };
    let labels = ends.into_iter().chain(others).map(label).collect();
    (labels, used)
}

/// How a name of this width is aligned to a place, so that it stays on the chart, and from where to where it reaches.
fn aligned(place: f64, width: f64) -> (&'static str, (f64, f64)) {
    if place + width / 2.0 > 100.0 {
        ("end", (place - width, place))
    } else if place - width / 2.0 < 0.0 {
        ("start", (place, place + width))
    } else {
        ("middle", (place - width / 2.0, place + width / 2.0))
    }
}

fn cut(name: &str) -> String {
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    format!("{}…", name.chars().take(LONGEST - 1).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invented::InventedWork;

    #[test]
    fn names_never_overlap_and_the_ends_come_first() {
        let mut search = InventedWork::of_commits(&[0; 60], &[], 1);
        for (number, commit) in search.commits.iter_mut().flatten().enumerate() {
            commit.tags = vec![format!("REL_17_{number}")];
        }
        let bisected = search.bisected();
        let shares: Vec<f64> = (0..60).map(|number| 17.0 + 80.0 * f64::from(number) / 59.0).collect();
        let (labels, rows) = labels(&bisected, &shares);
        let placed: Vec<&Label> = labels.iter().filter(|label| label.place.is_some()).collect();
        assert_eq!((labels.len(), rows), (60, ROWS), "those without room have a title");
        assert_eq!((placed[0].text.as_str(), placed[1].text.as_str()), ("REL_17_0", "REL_17_59"));
        assert!((6..=15).contains(&placed.len()), "{}", placed.len());
    }

    #[test]
    fn names_stay_on_the_chart() {
        assert_eq!(aligned(97.0, 20.0), ("end", (77.0, 97.0)));
        assert_eq!(aligned(5.0, 20.0), ("start", (5.0, 25.0)));
        assert_eq!(aligned(50.0, 20.0).0, "middle");
        assert_eq!(cut(&"x".repeat(30)).chars().count(), LONGEST);
    }
}
