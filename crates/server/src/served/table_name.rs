//! Names of tables in SQL. Only plain names are let through, so none can end its quotes or be more than a name.

use basecase_client::Error;
use basecase_model::is_plain_name;

/// The name as an unquoted identifier.
///
/// # Errors
/// If it is not a plain name.
pub(crate) fn bare(name: &str) -> Result<&str, Error> {
    if is_plain_name(name) {
        return Ok(name);
    }
    let problem = format!("{name:?} is not a name that basecase gives a table or a column");
    Err(Error::refusal(problem, "use a-z, 0-9 and _, and do not begin with a digit"))
}

/// The name as an SQL string literal.
///
/// # Errors
/// As [`bare`].
pub(crate) fn literal(name: &str) -> Result<String, Error> {
    bare(name).map(|name| format!("'{name}'"))
}

/// The names as a list of SQL string literals.
///
/// # Errors
/// As [`bare`].
pub(crate) fn literals(names: &[String]) -> Result<String, Error> {
    let literals: Vec<String> = names.iter().map(|name| literal(name)).collect::<Result<_, _>>()?;
    Ok(literals.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_01_no_name_leaves_its_quotes() {
        assert_eq!(literals(&["pi1".into(), "pi2".into()]).unwrap(), "'pi1', 'pi2'");
        for name in ["a' or 'a", "a\\", "victim.orders", "`orders`", ""] {
            let refused = literal(name).unwrap_err().to_string();
            assert!(refused.contains("\nhint: "), "{refused}");
        }
    }
}
