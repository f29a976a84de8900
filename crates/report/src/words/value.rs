//! Numbers, lists and names as text.

/// Shown if the value is not available on this machine.
pub(crate) const NOT_AVAILABLE: &str = "NA";

/// A number with this many decimals, or `NA`.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| NOT_AVAILABLE.to_owned(), |value| format!("{value:.decimals$}"))
}

/// A whole number with commas between groups of three digits.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first names, and the number of the others: `a, b and 3 more`.
pub(crate) fn first(names: &[impl AsRef<str>], most: usize) -> String {
    let named: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let named = named.join(", ");
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The values; of lists, only items that some lack, because `optimizer_switch` of MySQL has a thousand characters.
pub(crate) fn brief(values: &[&str]) -> Vec<String> {
    let items = |value: &str| value.split(',').map(str::to_owned).collect::<Vec<_>>();
    let lists: Vec<Vec<String>> = values.iter().map(|value| items(value)).collect();
    if lists.iter().any(|list| list.len() < 2) {
        return values.iter().map(|value| (*value).to_owned()).collect();
    }
    let is_common = |item: &String| lists.iter().all(|list| list.contains(item));
    let rest = |list: &Vec<String>| {
        let own: Vec<&str> = list.iter().filter(|item| !is_common(item)).map(String::as_str).collect();
        if own.len() < list.len() { format!("… {}", own.join(",")) } else { own.join(",") }
    };
    lists.iter().map(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(30_000_100), "30,000,100");
    }

    #[test]
    fn only_differing_items_of_lists_are_shown() {
        assert_eq!(brief(&["a=on,b=on", "a=on,b=off"]), ["… b=on", "… b=off"]);
        assert_eq!(brief(&["1", "a,b"]), ["1", "a,b"]);
    }
}
