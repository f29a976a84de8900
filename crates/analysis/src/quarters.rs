//! Finds which of several values are in the best and in the worst quarter of their range.

/// Where a value is among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In the best quarter.
    Best,
    /// In neither, or there is no value.
    Between,
    /// In the worst quarter.
    Worst,
    /// Not to be compared.
    Ignored,
}

/// A value as shown, and whether it can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// The value, a whole number.
    pub value: i64,
    /// Whether the background writers missed their rate.
    pub ignored: bool,
}

/// The best and the worst quarter of the range of values, if more is better.
///
/// Values that cannot be compared count for the smallest value but not for the largest. Nothing is in the worst quarter if the smallest
/// value reaches 80 % of the largest, and nothing stands out if they are equal.
pub fn quarters(column: &[Option<Shown>]) -> Vec<Standing> {
    let min = column.iter().flatten().map(|shown| shown.value).min().unwrap_or(0);
    let max =
        column.iter().flatten().filter(|shown| !shown.ignored).map(|shown| shown.value).max().unwrap_or(min);
    let quarter = (max - min).div_euclid(4);
    let top = max - quarter;
    let bottom = if min as f64 >= 0.8 * max as f64 { 0 } else { min + quarter };
    let mark = |shown: &Option<Shown>| match shown {
        None => Standing::Between,
        Some(shown) if shown.ignored => Standing::Ignored,
        Some(_) if min == max => Standing::Between,
        Some(shown) if shown.value <= bottom => Standing::Worst,
        Some(shown) if shown.value >= top => Standing::Best,
        Some(_) => Standing::Between,
    };
    column.iter().map(mark).collect()
}

/// The best and the worst quarter of the range of values, if less is better.
///
/// Nothing is in the worst quarter if the smallest value reaches 80 % of the largest.
pub fn quarters_least_is_best(column: &[Option<i64>]) -> Vec<Standing> {
    let min = column.iter().flatten().min().copied().unwrap_or(0);
    let max = column.iter().flatten().max().copied().unwrap_or(0);
    let quarter = (max - min) / 4;
    let none_worst = min as f64 >= 0.8 * max as f64;
    let mark = |value: &Option<i64>| match *value {
        None => Standing::Between,
        Some(_) if min == max => Standing::Between,
        Some(value) if value >= max - quarter && !none_worst => Standing::Worst,
        Some(value) if value <= min + quarter => Standing::Best,
        Some(_) => Standing::Between,
    };
    column.iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[i64]) -> Vec<Option<Shown>> {
        values.iter().map(|&value| Some(Shown { value, ignored: false })).collect()
    }

    #[test]
    fn published_column_of_table_1() {
        // qr1000 with 4 clients; the last three rows failed the SLA. The reference shows red, red, green, red, red, gray because its red
        // rule comes first. Here gray wins, because it means that the value says nothing.
        let mut shown = column(&[4592, 5018, 11_338, 3038, 3176, 11_877]);
        for failed in &mut shown[3..] {
            failed.as_mut().unwrap().ignored = true;
        }
        let expected = [
            Standing::Worst,
            Standing::Worst,
            Standing::Best,
            Standing::Ignored,
            Standing::Ignored,
            Standing::Ignored,
        ];
        assert_eq!(quarters(&shown), expected);
    }

    #[test]
    fn bounds_of_table_1() {
        // The same column: top 9263, bottom 5113, both inclusive.
        let marks = quarters(&column(&[3038, 5113, 5114, 9262, 9263, 11_338]));
        let expected = [
            Standing::Worst,
            Standing::Worst,
            Standing::Between,
            Standing::Between,
            Standing::Best,
            Standing::Best,
        ];
        assert_eq!(marks, expected);
    }

    #[test]
    fn a_narrow_column_has_no_worst_quarter() {
        assert_eq!(quarters(&column(&[80, 100])), [Standing::Between, Standing::Best]);
        assert_eq!(quarters(&column(&[79, 100])), [Standing::Worst, Standing::Best]);
        assert_eq!(quarters(&column(&[7, 7])), [Standing::Between, Standing::Between]);
        assert_eq!(quarters(&[None]), [Standing::Between]);
        assert_eq!(quarters(&[]), []);
    }

    #[test]
    fn longest_statements_are_worst() {
        let marks = quarters_least_is_best(&[Some(10), Some(100), Some(50), None]);
        assert_eq!(marks, [Standing::Best, Standing::Worst, Standing::Between, Standing::Between]);
        assert_eq!(quarters_least_is_best(&[Some(90), Some(100)]), [Standing::Best, Standing::Between]);
    }
}
