//! Sizes of the Insert Benchmark as a user gives them.

use basecase_workload::insert_benchmark::{DEFAULT_SEED, InsertBenchmarkParameters, PRESETS, Pace, Preset};
use serde::Deserialize;

/// Sizes as they are written: a preset, and what differs from it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Name of a preset.
    pub preset: Option<String>,
    /// Factor on the preset's rows, writes and seconds.
    pub scale: Option<f64>,
    /// Number of clients.
    pub clients: Option<u32>,
    /// Rows per table in `l.i0`.
    pub rows: Option<u64>,
    /// Writes per client in `l.i1` and `l.i2` together.
    pub writes: Option<u64>,
    /// Rows per client in `l.i1`, in place of 4/5 of the writes.
    pub li1_rows: Option<u64>,
    /// Rows per client in `l.i2`, in place of 1/5 of the writes.
    pub li2_rows: Option<u64>,
    /// Seconds of each read-write step.
    pub seconds: Option<u64>,
}

impl Sizes {
    /// These sizes, completed from `base`.
    pub(crate) fn over(self, base: &Sizes) -> Sizes {
        Sizes {
            preset: self.preset.or_else(|| base.preset.clone()),
            scale: self.scale.or(base.scale),
            clients: self.clients.or(base.clients),
            rows: self.rows.or(base.rows),
            writes: self.writes.or(base.writes),
            li1_rows: self.li1_rows.or(base.li1_rows),
            li2_rows: self.li2_rows.or(base.li2_rows),
            seconds: self.seconds.or(base.seconds),
        }
    }

    /// Whether they are of a published size that is bound by input and output.
    pub fn is_io_bound(&self) -> bool {
        self.preset.as_deref().and_then(Preset::find).is_some_and(|preset| preset.is_io_bound)
    }

    /// The parameters that these sizes stand for.
    ///
    /// # Errors
    /// When the preset is unknown or a size is outside its range; the text says what to do.
    pub fn parameters(&self, pace: Pace, seed: Option<u64>) -> Result<InsertBenchmarkParameters, String> {
        let preset = match &self.preset {
            None => &PRESETS[0],
            Some(name) => Preset::find(name).ok_or_else(|| {
                let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                format!("there is no preset {name:?}\nhint: the presets are {}", known.join(", "))
            })?,
        };
        let scaled =
            preset.parameters().scaled(self.scale.unwrap_or(1.0)).map_err(|error| error.to_string())?;
        let together = InsertBenchmarkParameters {
            clients: self.clients.unwrap_or(scaled.clients),
            rows: self.rows.unwrap_or(scaled.rows),
            writes: self.writes.unwrap_or(scaled.writes),
            li1_rows: None,
            seconds: self.seconds.unwrap_or(scaled.seconds),
            pace,
            seed: seed.unwrap_or(DEFAULT_SEED),
        };
        if let (Some(_), Some(_), Some(writes)) = (self.li1_rows, self.li2_rows, self.writes) {
            return Err(format!(
                "writes is {writes}, and li1_rows and li2_rows are given as well\nhint: leave out writes, which is the rows of both together"
            ));
        }
        let li1_rows = self.li1_rows.unwrap_or(together.li1_rows());
        let li2_rows = self.li2_rows.unwrap_or(together.li2_rows());
        let parameters = together.with_rows_apart(li1_rows, li2_rows);
        parameters.check().map_err(|error| error.to_string())?;
        Ok(parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_l_i1_and_l_i2_stand_in_place_of_their_shares() {
        let rows = |sizes: Sizes| {
            let parameters = sizes.parameters(Pace::Bursts, None)?;
            Ok::<_, String>((parameters.li1_rows(), parameters.li2_rows()))
        };
        let sizes = Sizes { writes: Some(1000), ..Sizes::default() };
        assert_eq!(rows(sizes.clone()), Ok((800, 200)));
        let one = Sizes { li2_rows: Some(900), ..sizes.clone() };
        assert_eq!(rows(one.clone()), Ok((800, 900)));
        assert_eq!(rows(Sizes { li1_rows: Some(7), ..Sizes::default() }.over(&one)), Err(
            "writes is 1000, and li1_rows and li2_rows are given as well\nhint: leave out writes, which is the rows of both together".to_owned()
        ));
        assert_eq!(rows(Sizes { li1_rows: Some(50), li2_rows: Some(50), ..Sizes::default() }), Ok((50, 50)));
    }
}
