//! Suggestions for a mistyped name.

/// At most three of `names` that are similar to `wanted`, the most similar first.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(right.1)));
    scored.dedup_by(|left, right| left.1 == right.1);
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// `a`, `a or b`, `a, b or c`.
pub fn alternatives(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_first() {
        let names = ["shared_buffers", "max_connections", "work_mem"];
        assert_eq!(nearest("shared_bufers", names), ["shared_buffers"]);
        assert!(nearest("zzz", names).is_empty());
    }

    #[test]
    fn alternatives_read_as_a_sentence() {
        let names: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        assert_eq!(alternatives(&names), "a, b or c");
        assert_eq!(alternatives(&names[..1]), "a");
    }
}
