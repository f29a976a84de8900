//! Patterns by which recipes name paths inside archives.
//!
//! A pattern that ends in `/` matches a folder and everything in it; any other pattern matches a file. `*` matches any run
//! of characters within one name. The empty pattern matches everything.

/// The rest of the path `name` below `pattern`: empty if the pattern is a file. `None` if the path does not match.
pub(crate) fn below<'a>(pattern: &str, name: &'a str) -> Option<&'a str> {
    let mut rest = name;
    let mut folders = pattern.split('/');
    let file = folders.next_back().unwrap_or_default();
    for folder in folders {
        let (head, tail) = rest.split_once('/')?;
        if !is_like(folder, head) {
            return None;
        }
        rest = tail;
    }
    match file {
        "" => Some(rest),
        file => (!rest.contains('/') && is_like(file, rest)).then_some(""),
    }
}

/// Whether a single name matches the pattern.
fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices().any(|(at, _)| is_like(tail, &rest[at..])) || is_like(tail, "")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_leave_the_rest_and_files_nothing() {
        assert_eq!(below("", "bin/mysqld"), Some("bin/mysqld"));
        assert_eq!(below("a/b-*/", "a/b-1.2/bin/x"), Some("bin/x"));
        assert_eq!(below("a/b-*/", "a/c/bin/x"), None);
        assert_eq!(below("*/*.tar.gz", "pkg/tree.tar.gz"), Some(""));
        assert_eq!(below("*.tar.gz", "pkg/tree.tar.gz"), None);
        assert_eq!(below("bin/*embedded*", "bin/mysql_embedded"), Some(""));
        assert_eq!(below("bin/*embedded*", "bin/mysql"), None);
        assert_eq!(below("lib/*.a", "lib/sub/x.a"), None);
        assert_eq!(below("docs/", "docs"), None);
        assert_eq!(below("docs/", "docs/"), Some(""));
    }

    #[test]
    fn stars_stand_for_any_run() {
        assert!(is_like("*", ""));
        assert!(is_like("a*a", "aa"));
        assert!(!is_like("a*a", "a"));
        assert!(is_like("*b*", "abc"));
        assert!(!is_like("x", "xy"));
    }

    proptest::proptest! {
        #[test]
        fn any_pattern_and_path_will_do(pattern in "[ab*/é]{0,8}", name in "[ab/é]{0,8}") {
            if let Some(rest) = below(&pattern, &name) {
                proptest::prop_assert!(name.ends_with(rest));
            }
        }
    }
}
