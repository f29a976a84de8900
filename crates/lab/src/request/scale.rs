//! A factor on the sizes in an experiment file.

use std::str::FromStr;

use basecase_workload::Workload;
use basecase_workload::insert_benchmark::{InsertBenchmarkParameters, ParametersError};

/// The fewest rows per table to which a workload file is scaled down.
const LEAST_ROWS: f64 = 100.0;
/// The fewest seconds to which a step of a workload file is scaled down.
const LEAST_SECONDS: f64 = 1.0;

/// A factor on the sizes of an experiment, above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale(f64);

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let factor = text.parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 0.0);
        factor.map(Scale).ok_or_else(|| "give a number above 0; 0.01 makes every size a hundredth".to_owned())
    }
}

impl Scale {
    /// Rows, writes and seconds of the Insert Benchmark, times the factor.
    ///
    /// # Errors
    /// Never for a factor above 0.
    pub(crate) fn parameters(
        self,
        parameters: &InsertBenchmarkParameters,
    ) -> Result<InsertBenchmarkParameters, ParametersError> {
        parameters.scaled(self.0)
    }

    /// Rows per table of a workload file, whether they are named or not, and the seconds that are, times the factor.
    /// A value that is not a number stays as it is, and is refused later.
    pub(crate) fn options(
        self,
        workload: &Workload,
        mut options: Vec<(String, String)>,
    ) -> Vec<(String, String)> {
        let rows = workload.rows_option();
        let is_rows = |name: &str| rows.is_some_and(|option| option.name == name.replace('-', "_"));
        let is_named = options.iter().any(|(name, _)| is_rows(name));
        options.extend(
            rows.filter(|_| !is_named).map(|option| (option.name.clone(), option.default.to_string())),
        );
        for (name, value) in &mut options {
            let least = match name.replace('-', "_").as_str() {
                name if is_rows(name) => LEAST_ROWS,
                "seconds" | "time" | "write_seconds" => LEAST_SECONDS,
                _ => continue,
            };
            if let Ok(number) = value.replace('_', "").parse::<f64>() {
                // A value that is already smaller does not grow.
                *value = (number * self.0).round().max(least.min(number)).to_string();
            }
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_above_0() {
        let read = |text: &str| text.parse::<Scale>().ok();
        assert_eq!(["0.01", "1", "2"].map(read), [0.01, 1.0, 2.0].map(|factor| Some(Scale(factor))));
        assert_eq!(["0", "-1", "NaN", "inf", "a tenth", ""].map(read), [None; 6]);
    }

    #[test]
    fn rows_and_named_seconds_shrink_and_nothing_else() {
        let options = |name: &str, scale: f64, given: &[(&str, &str)]| -> Vec<String> {
            let workload = Workload::builtin(name).unwrap().unwrap();
            let given = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let scaled = Scale(scale).options(&workload, given);
            scaled.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let published =
            [("rows", "10_000_000"), ("seconds", "600"), ("write-seconds", "900"), ("tables", "8")];
        assert_eq!(
            options("microbenchmarks", 0.001, &published),
            ["rows=10000", "seconds=1", "write-seconds=1", "tables=8"]
        );
        assert_eq!(options("oltp_read_write", 0.5, &[("table-size", "3000")]), ["table-size=1500"]);
        assert_eq!(options("oltp_read_write", 0.5, &[]), ["table_size=5000"], "the default");
        assert_eq!(
            options("microbenchmarks", 0.001, &[("rows", "50"), ("seconds", "0.2")]),
            ["rows=50", "seconds=0.2"]
        );
        assert_eq!(options("microbenchmarks", 0.5, &[("rows", "many")]), ["rows=many"]);
    }
}
