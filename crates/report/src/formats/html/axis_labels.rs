//! Names below an axis, as many as a phone has room for.

/// Most rows of names.
const ROWS: usize = 3;
/// Width of a letter, and the distance between names, in per cent of the chart on a phone.
const LETTER: f64 = 2.1;
const GAP: f64 = 3.0;
/// Longest name, in letters.
const LONGEST: usize = 20;

/// A name that a place should have.
pub(super) struct Name {
    pub(super) place: usize,
    pub(super) text: String,
    /// What it is about.
    pub(super) title: String,
}

/// A name, and where it is shown.
pub(super) struct Label<'n> {
    pub(super) name: &'n Name,
    /// The row, and the CSS class of how it is aligned; `None` where there is no room.
    pub(super) place: Option<(usize, &'static str)>,
}

impl Name {
    /// As much of it as is shown.
    pub(super) fn shown(&self) -> String {
        if self.text.chars().count() <= LONGEST {
            return self.text.clone();
        }
        format!("{}…", self.text.chars().take(LONGEST - 1).collect::<String>())
    }
}

/// Where these names are shown, and how many rows they have. Each takes the first room that those before it leave. `share` is where a place
/// is, in per cent.
pub(super) fn labels(names: &[Name], share: impl Fn(usize) -> f64) -> (Vec<Label<'_>>, usize) {
    let mut rows: Vec<Vec<(f64, f64)>> = vec![Vec::new(); ROWS];
    let mut used = 1;
    let label = |name: &'_ Name| {
        let (anchor, span) = aligned(share(name.place), LETTER * name.shown().chars().count() as f64);
        let is_free =
            |row: &Vec<(f64, f64)>| row.iter().all(|taken| span.1 + GAP < taken.0 || taken.1 + GAP < span.0);
        let row = rows.iter().position(is_free)?;
        rows[row].push(span);
        used = used.max(row + 1);
        Some((row, anchor))
    };
    let places: Vec<Option<(usize, &'static str)>> = names.iter().map(label).collect();
    (names.iter().zip(places).map(|(name, place)| Label { name, place }).collect(), used)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn name(place: usize, text: String) -> Name {
        Name { place, text, title: String::new() }
    }

    #[test]
    fn names_never_overlap_and_the_first_have_room() {
        let places = [0, 59].into_iter().chain(1..59);
        let names: Vec<Name> = places.map(|place| name(place, format!("REL_17_{place}"))).collect();
        let (labels, rows) = labels(&names, |place| 17.0 + 80.0 * place as f64 / 59.0);
        let placed: Vec<&Label<'_>> = labels.iter().filter(|label| label.place.is_some()).collect();
        assert_eq!((labels.len(), rows), (60, ROWS), "those without room have a title");
        assert_eq!((placed[0].name.place, placed[1].name.place), (0, 59));
        assert!((6..=15).contains(&placed.len()), "{}", placed.len());
    }

    #[test]
    fn names_stay_on_the_chart() {
        assert_eq!(aligned(97.0, 20.0), ("end", (77.0, 97.0)));
        assert_eq!(aligned(5.0, 20.0), ("start", (5.0, 25.0)));
        assert_eq!(aligned(50.0, 20.0).0, "middle");
        assert_eq!(name(0, "x".repeat(30)).shown().chars().count(), LONGEST);
    }
}
