//! How the server would execute a statement, and with which kind of plan it did.

use crate::{Measures, names};

/// The plan of one statement of a step, as the server showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementPlan {
    /// The statement's name, as in [`crate::StatementRecord`]; for the Insert Benchmark, the name of a role's statement.
    pub statement: String,
    /// The explained statement, with its values.
    pub sql: String,
    /// The plan, one line per node, as the server printed it.
    pub text: String,
}

impl StatementPlan {
    /// The name under which its executions are counted by kind of plan.
    pub fn counted_as(&self) -> &str {
        name_in_execute(&self.sql).unwrap_or(&self.statement)
    }
}

/// The name of the prepared statement that `execute NAME (…)` executes; `None` of other statements.
pub fn name_in_execute(sql: &str) -> Option<&str> {
    let (verb, rest) = sql.trim_start().split_once(|letter: char| letter.is_ascii_whitespace())?;
    let name =
        rest.trim_start().split(|letter: char| letter.is_ascii_whitespace() || letter == '(').next()?;
    (verb.eq_ignore_ascii_case("execute") && !name.is_empty()).then_some(name)
}

/// A kind of plan of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// Made once, for any values.
    Generic,
    /// Made for the values of each execution.
    Custom,
}

/// How often a prepared statement was executed with each kind of plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanUses {
    /// Executions with a generic plan.
    pub generic: u64,
    /// Executions with a custom one.
    pub custom: u64,
}

impl PlanUses {
    /// Those of the statement that is counted under this name; `None` if none are known.
    pub fn of(counters: &Measures, statement: &str) -> Option<PlanUses> {
        let count = |prefix: &str| counters.get(&format!("{prefix}{statement}")).unwrap_or(0.0) as u64;
        let uses = PlanUses { generic: count(names::PLANS_GENERIC), custom: count(names::PLANS_CUSTOM) };
        (uses.generic + uses.custom > 0).then_some(uses)
    }

    /// The statements with known uses, by name.
    pub fn all(counters: &Measures) -> Vec<(&str, PlanUses)> {
        let name = |counter| {
            let stripped = |prefix| str::strip_prefix(counter, prefix);
            stripped(names::PLANS_GENERIC).or_else(|| stripped(names::PLANS_CUSTOM))
        };
        let mut statements: Vec<&str> = counters.iter().filter_map(|(counter, _)| name(counter)).collect();
        statements.sort_unstable();
        statements.dedup();
        let uses = |statement| Some((statement, PlanUses::of(counters, statement)?));
        statements.into_iter().filter_map(uses).collect()
    }

    /// Adds them to the counters of the statement with this name.
    pub fn add_to(self, counters: &mut Measures, statement: &str) {
        for (prefix, more) in [(names::PLANS_GENERIC, self.generic), (names::PLANS_CUSTOM, self.custom)] {
            let name = format!("{prefix}{statement}");
            let known = counters.get(&name).unwrap_or(0.0);
            counters.set(&name, known + more as f64);
        }
    }

    /// The share of executions with a generic plan, 0 to 1.
    pub fn generic_share(self) -> f64 {
        self.generic as f64 / (self.generic + self.custom).max(1) as f64
    }

    /// The kind that most executions used.
    pub fn usual(self) -> PlanKind {
        if self.generic > self.custom { PlanKind::Generic } else { PlanKind::Custom }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_sql_prepared_are_counted_under_that_name() {
        let counted = |sql: &str| {
            let plan = StatementPlan { statement: "query".into(), sql: sql.into(), text: String::new() };
            plan.counted_as().to_owned()
        };
        assert_eq!(counted("execute market (17)"), "market");
        assert_eq!(counted(" EXECUTE pdc(1, 2)"), "pdc");
        assert_eq!(counted("select c from t where id = 17"), "query");
        assert_eq!(counted("execute"), "query");
        assert_eq!(counted("executed_at"), "query");
    }

    #[test]
    fn uses_come_back_by_statement() {
        let mut counters = Measures::new();
        counters.set("server.cpu_us", 1.0);
        PlanUses { generic: 7, custom: 5 }.add_to(&mut counters, "range");
        PlanUses { generic: 1, custom: 0 }.add_to(&mut counters, "range");
        PlanUses { generic: 0, custom: 3 }.add_to(&mut counters, "point");
        let all =
            [("point", PlanUses { generic: 0, custom: 3 }), ("range", PlanUses { generic: 8, custom: 5 })];
        assert_eq!(PlanUses::all(&counters), all);
        assert_eq!(all.map(|(_, uses)| uses.usual()), [PlanKind::Custom, PlanKind::Generic]);
        assert_eq!(PlanUses::of(&counters, "scan"), None);
        assert_eq!(all[1].1.generic_share(), 8.0 / 13.0);
    }
}
