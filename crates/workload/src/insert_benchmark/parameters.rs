//! Sizes and options of one run of the Insert Benchmark.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How the background writers of the read-write steps keep their rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// The reference's rule: a second's rows in one burst.
    #[default]
    Bursts,
    /// Spread evenly over the second.
    Even,
}

/// Sizes and options of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename = "Parameters", deny_unknown_fields)]
pub struct InsertBenchmarkParameters {
    /// Number of clients `N`, each with a table of its own.
    pub clients: u32,
    /// Rows loaded into each table by `l.i0`: `X`.
    pub rows: u64,
    /// Rows inserted and deleted by each client in `l.i1` (4/5) and `l.i2` (1/5) together: `W`.
    pub writes: u64,
    /// Rows of `writes` that belong to `l.i1`, where that is not 4/5; the others belong to `l.i2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub li1_rows: Option<u64>,
    /// Nominal seconds of each read-write step: `T`.
    pub seconds: u64,
    /// How the background writers keep their rate.
    #[serde(default)]
    pub pace: Pace,
    /// Seed of every random stream.
    pub seed: u64,
}

/// The default seed, which is also the reference's.
pub const DEFAULT_SEED: u64 = 3_221_223_452;

/// A size used by published results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Whether its database was larger than the memory of the published server.
    pub is_io_bound: bool,
    clients: u32,
    rows: u64,
    writes: u64,
    seconds: u64,
}

const MILLION: u64 = 1_000_000;

/// Sizes of published results, by server, and `small`, which shows every step in a minute.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "small",
        about: "every step in a minute, to try things out",
        is_io_bound: false,
        clients: 1,
        rows: 100_000,
        writes: 20_000,
        seconds: 5,
    },
    Preset {
        name: "cached-c8",
        about: "cached, 8 cores",
        is_io_bound: false,
        clients: 1,
        rows: 30 * MILLION,
        writes: 50 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "io-c8",
        about: "IO-bound, 8 cores",
        is_io_bound: true,
        clients: 1,
        rows: 800 * MILLION,
        writes: 5 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "cached-c24",
        about: "cached, 24 cores",
        is_io_bound: false,
        clients: 16,
        rows: 20 * MILLION,
        writes: 20 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "io-c24",
        about: "IO-bound, 24 cores",
        is_io_bound: true,
        clients: 8,
        rows: 250 * MILLION,
        writes: 5 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "io-c32",
        about: "IO-bound, 32 cores",
        is_io_bound: true,
        clients: 12,
        rows: 300 * MILLION,
        writes: 5 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "cached-c48",
        about: "cached, 48 cores",
        is_io_bound: false,
        clients: 20,
        rows: 10 * MILLION,
        writes: 50 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "less-io-c48",
        about: "less IO-bound, 48 cores",
        is_io_bound: true,
        clients: 20,
        rows: 64 * MILLION,
        writes: 5 * MILLION,
        seconds: 1800,
    },
    Preset {
        name: "more-io-c48",
        about: "more IO-bound, 48 cores",
        is_io_bound: true,
        clients: 20,
        rows: 200 * MILLION,
        writes: 5 * MILLION,
        seconds: 1800,
    },
];

impl Preset {
    /// The preset's parameters with the default seed.
    pub fn parameters(&self) -> InsertBenchmarkParameters {
        InsertBenchmarkParameters {
            clients: self.clients,
            rows: self.rows,
            writes: self.writes,
            li1_rows: None,
            seconds: self.seconds,
            pace: Pace::Bursts,
            seed: DEFAULT_SEED,
        }
    }

    /// The preset of this name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

/// Why parameters were refused.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParametersError {
    /// A size is outside its range.
    #[error(
        "{name} is {value}, which is outside {least} to {most}\nhint: give a number in this range; {hint}"
    )]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: u64,
        /// The least allowed value.
        least: u64,
        /// The largest allowed value.
        most: u64,
        /// What to do.
        hint: &'static str,
    },
    /// `--scale` is not a positive number.
    #[error(
        "scale is {0}, which is not a positive number\nhint: give a number above 0; 0.01 makes every size a hundredth"
    )]
    Scale(String),
}

impl InsertBenchmarkParameters {
    /// Multiplies rows, writes and seconds by `scale`, but keeps each large enough for a step to do anything.
    ///
    /// # Errors
    /// When `scale` is not a positive number.
    pub fn scaled(&self, scale: f64) -> Result<InsertBenchmarkParameters, ParametersError> {
        if !(scale.is_finite() && scale > 0.0) {
            return Err(ParametersError::Scale(scale.to_string()));
        }
        let times = |size: u64, least: u64| ((size as f64 * scale).round() as u64).max(least);
        let scaled = InsertBenchmarkParameters {
            rows: times(self.rows, 1_000),
            writes: times(self.writes, 500),
            seconds: times(self.seconds, 1),
            ..self.clone()
        };
        Ok(match self.li1_rows {
            None => scaled,
            Some(li1_rows) => scaled.with_rows_apart(times(li1_rows, 400), times(self.li2_rows(), 100)),
        })
    }

    /// With so many rows in `l.i1` and in `l.i2`. The usual shares have one form only, so that they are the same results however they
    /// were asked for.
    #[must_use]
    pub fn with_rows_apart(self, li1_rows: u64, li2_rows: u64) -> InsertBenchmarkParameters {
        let writes = li1_rows.saturating_add(li2_rows);
        let usual = InsertBenchmarkParameters { writes, li1_rows: None, ..self };
        if usual.li1_rows() == li1_rows {
            return usual;
        }
        InsertBenchmarkParameters { li1_rows: Some(li1_rows), ..usual }
    }

    /// Rows that each client inserts and deletes in `l.i1`.
    pub fn li1_rows(&self) -> u64 {
        self.li1_rows.unwrap_or(self.writes / 5 * 4 + self.writes % 5 * 4 / 5)
    }

    /// Rows that each client inserts and deletes in `l.i2`.
    pub fn li2_rows(&self) -> u64 {
        self.writes.saturating_sub(self.li1_rows())
    }

    /// Refuses sizes that no run can have.
    ///
    /// # Errors
    /// When a size is outside its range, or the steps together would delete more rows than were loaded.
    pub fn check(&self) -> Result<(), ParametersError> {
        let range = |name, value, least, most, hint| {
            if (least..=most).contains(&value) {
                Ok(())
            } else {
                Err(ParametersError::OutOfRange { name, value, least, most, hint })
            }
        };
        range(
            "clients",
            u64::from(self.clients),
            1,
            1_000,
            "each client has a table and up to four connections of its own",
        )?;
        range("rows", self.rows, 1_000, 1_000_000_000_000, "rows are counted per table")?;
        range("writes", self.writes, 10, 1_000_000_000_000, "4/5 of the writes go to l.i1 and 1/5 to l.i2")?;
        if self.li1_rows.is_some() {
            let hint = "each of the two steps needs a row at least";
            range("li1_rows", self.li1_rows(), 1, 1_000_000_000_000, hint)?;
            range("li2_rows", self.li2_rows(), 1, 1_000_000_000_000, hint)?;
        }
        range("seconds", self.seconds, 1, 1_000_000, "a read-write step inserts rate × seconds rows")
    }

    /// Rows that `l.i0` loads into all tables together.
    pub fn loaded_rows(&self) -> u64 {
        self.rows.div_ceil(100) * 100 * u64::from(self.clients)
    }

    /// Names and values in the order in which reports show them.
    pub fn facts(&self) -> Vec<(String, String)> {
        let pace = match self.pace {
            Pace::Bursts => "bursts",
            Pace::Even => "even",
        };
        let writes = match self.li1_rows {
            None => self.writes.to_string(),
            Some(li1_rows) => format!("{li1_rows} in l.i1, {} in l.i2", self.li2_rows()),
        };
        [
            ("clients", self.clients.to_string()),
            ("rows per table", self.rows.to_string()),
            ("writes per client", writes),
            ("seconds per read-write step", self.seconds.to_string()),
            ("pace of background writers", pace.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_valid_at_every_scale() {
        for preset in PRESETS {
            for scale in [1.0, 0.001, 2.0] {
                preset.parameters().scaled(scale).unwrap().check().unwrap();
            }
        }
        assert!(Preset::find("small").unwrap().parameters().scaled(0.0).is_err());
        assert!(Preset::find("small").unwrap().parameters().scaled(f64::NAN).is_err());
    }

    #[test]
    fn rows_of_l_i1_and_l_i2_are_set_apart() {
        let apart = |li1_rows, li2_rows| PRESETS[1].parameters().with_rows_apart(li1_rows, li2_rows);
        let equal = apart(50 * MILLION, 50 * MILLION);
        assert_eq!(
            (equal.writes, equal.li1_rows(), equal.li2_rows()),
            (100 * MILLION, 50 * MILLION, 50 * MILLION)
        );
        assert_eq!(equal.facts()[2].1, "50000000 in l.i1, 50000000 in l.i2");
        let small = equal.scaled(0.000_001).unwrap();
        assert_eq!((small.li1_rows(), small.li2_rows()), (400, 100), "what is left is the usual shares");
        assert_eq!(equal.scaled(0.01).unwrap().li2_rows(), 500_000);
        // The usual shares are the same parameters, and so the same cells.
        assert_eq!(apart(40 * MILLION, 10 * MILLION), PRESETS[1].parameters());
        let none = apart(50, 0).check().unwrap_err().to_string();
        assert!(none.starts_with("li2_rows is 0"), "{none}");
    }

    #[test]
    fn a_refusal_names_the_parameter() {
        let parameters = InsertBenchmarkParameters { clients: 0, ..PRESETS[0].parameters() };
        assert!(parameters.check().unwrap_err().to_string().starts_with("clients is 0"));
    }
}
