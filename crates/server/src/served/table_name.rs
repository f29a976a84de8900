//! Names of tables in SQL. None can end its quotes or say more than a name, for none but plain ones are let through.

use basecase_client::Error;
use basecase_model::is_plain_name;

/// The name as an identifier without quotes.
///
/// # Errors
/// When it is no plain name.
pub(crate) fn bare(name: &str) -> Result<&str, Error> {
    if is_plain_name(name) {
        return Ok(name);
    }
    let problem = format!("{name:?} is no name of a table or a column that basecase makes");
    Err(Error::refusal(problem, "use a-z, 0-9 and _, and no digit at the beginning"))
}

/// The name as a text of SQL.
///
/// # Errors
/// As [`bare`].
pub(crate) fn literal(name: &str) -> Result<String, Error> {
    bare(name).map(|name| format!("'{name}'"))
}

/// The names as a list of texts of SQL.
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
