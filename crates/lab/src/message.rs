//! Errors as people read them.

/// An error and its causes as one text without repetition, with the hints at the end.
pub fn explain(error: &anyhow::Error) -> String {
    let mut message = String::new();
    let mut hints: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let mut parts = text.split("\nhint: ");
        let what = parts.next().unwrap_or_default();
        // Many errors already name their cause in their own text.
        if !message.contains(what) {
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(what);
        }
        for hint in parts {
            if !hints.iter().any(|known| known == hint) {
                hints.push(hint.to_owned());
            }
        }
    }
    for hint in hints {
        message.push_str("\nhint: ");
        message.push_str(&hint);
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn nothing_is_said_twice_and_hints_come_last() {
        let error = anyhow!("no such file").context("cannot read a.toml: no such file\nhint: name a file");
        assert_eq!(explain(&error), "cannot read a.toml: no such file\nhint: name a file");
        let error = anyhow!("refused\nhint: start it").context("candidate x\nhint: or leave it away");
        assert_eq!(explain(&error), "candidate x: refused\nhint: or leave it away\nhint: start it");
    }
}
