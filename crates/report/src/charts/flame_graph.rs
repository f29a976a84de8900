//! Flame graphs: pictures of stacks, as wide as the time spent in them.
//!
//! They are self-contained SVG files: a click on a frame enlarges it, and functions can be searched by name.

use std::collections::BTreeMap;

use basecase_analysis::{stacks, total};
use basecase_model::{Profile, ProfileKind};
use inferno::flamegraph::{Options, from_lines};

use crate::error::Error;

/// Parts into which all time is divided when comparing two profiles, because the picture counts in whole numbers.
const PARTS: f64 = 1e7;

/// The picture of one profile; `None` if it has no samples.
///
/// # Errors
/// When the stacks are not in folded form.
pub(crate) fn plain(profile: &Profile, title: &str) -> Result<Option<String>, Error> {
    if total(profile) == 0 {
        return Ok(None);
    }
    let mut options = options(title);
    match profile.kind {
        ProfileKind::Cpu => options.count_name = "samples".to_owned(),
        ProfileKind::OffCpu => {
            options.count_name = "ms".to_owned();
            options.factor = 1e-3;
        }
    }
    draw(&mut options, profile.stacks.lines()).map(Some)
}

/// The picture of how `candidate` differs from `base`; `None` if one of them has no samples.
///
/// It shows shares of all time, so that profiles of different length can be compared. Frames are as wide as in the candidate, red if
/// their share grew and blue if it shrank. Frames that only the base has are missing; the picture with both exchanged shows them.
///
/// # Errors
/// When the stacks are not in folded form.
pub(crate) fn differential(
    base: &Profile,
    candidate: &Profile,
    title: &str,
) -> Result<Option<String>, Error> {
    let (base_total, candidate_total) = (total(base), total(candidate));
    if base_total == 0 || candidate_total == 0 {
        return Ok(None);
    }
    let mut both: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    stacks(base).for_each(|(stack, amount)| both.entry(stack).or_default().0 += amount);
    stacks(candidate).for_each(|(stack, amount)| both.entry(stack).or_default().1 += amount);
    let parts = |amount: u64, total: u64| (amount as f64 / total as f64 * PARTS).round();
    let line = |(stack, (before, after)): (&str, (u64, u64))| {
        format!("{stack} {} {}", parts(before, base_total), parts(after, candidate_total))
    };
    let lines: Vec<String> = both.into_iter().map(line).collect();
    let mut options = options(title);
    options.count_name = "percent".to_owned();
    options.factor = 100.0 / PARTS;
    draw(&mut options, lines.iter().map(String::as_str)).map(Some)
}

fn options(title: &str) -> Options<'static> {
    let mut options = Options::default();
    options.title = title.to_owned();
    // A function has the same colour in every picture.
    options.hash = true;
    options.deterministic = true;
    options
}

fn draw<'a>(options: &mut Options<'_>, lines: impl Iterator<Item = &'a str>) -> Result<String, Error> {
    let mut picture = Vec::new();
    from_lines(options, lines, &mut picture).map_err(Error::FlameGraph)?;
    String::from_utf8(picture).map_err(|error| Error::FlameGraph(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(kind: ProfileKind, stacks: &str) -> Profile {
        Profile { kind, frequency_hz: 333, samples: 3, lost: 0, stacks: stacks.into(), modules: Vec::new() }
    }

    #[test]
    fn a_picture_is_self_contained_and_deterministic() {
        let profile = profile(ProfileKind::Cpu, "postgres;main;ExecScan 3\npostgres;main;operator<< 1\n");
        let picture = plain(&profile, "a <script> & b").unwrap().unwrap();
        assert!(picture.contains("a &lt;script&gt; &amp; b"));
        assert!(picture.contains("operator&lt;&lt; (1 samples, 25.00%)"), "{picture}");
        for fetched in ["href=\"http", "src=", "@import", "url('http", "fetch("] {
            assert!(!picture.contains(fetched), "{fetched} in {picture}");
        }
        assert_eq!(plain(&profile, "a <script> & b").unwrap().unwrap(), picture);
    }

    #[test]
    fn time_off_the_processors_is_shown_in_milliseconds() {
        let picture = plain(&profile(ProfileKind::OffCpu, "mysqld;futex 12345\n"), "t").unwrap().unwrap();
        assert!(picture.contains("futex (12.35 ms") || picture.contains("futex (12 ms"), "{picture}");
    }

    #[test]
    fn a_difference_compares_shares() {
        let base = profile(ProfileKind::Cpu, "p;same 50\np;less 40\np;more 10\n");
        let candidate = profile(ProfileKind::Cpu, "p;same 500\np;less 100\np;more 400\n");
        let picture = differential(&base, &candidate, "t").unwrap().unwrap();
        let colour = |function: &str| {
            let after = picture.split(&format!("<title>{function} (")).nth(1).unwrap();
            let fill = after.split("fill=\"rgb(").nth(1).unwrap();
            fill.split(')').next().unwrap().split(',').map(|part| part.parse().unwrap()).collect::<Vec<u8>>()
        };
        assert_eq!(colour("same"), [250, 250, 250]);
        assert!(colour("more")[0] > colour("more")[2], "{picture}");
        assert!(colour("less")[2] > colour("less")[0], "{picture}");
    }

    #[test]
    fn without_samples_there_is_no_picture() {
        let (empty, one) = (profile(ProfileKind::Cpu, ""), profile(ProfileKind::Cpu, "p;f 1\n"));
        assert!(plain(&empty, "t").unwrap().is_none());
        assert!(differential(&empty, &one, "t").unwrap().is_none());
        assert!(differential(&one, &empty, "t").unwrap().is_none());
    }
}
