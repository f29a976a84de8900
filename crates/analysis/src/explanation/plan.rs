//! Plans of two servers for one statement.

use basecase_model::{PlanUses, StatementPlan, Trial};

/// From this difference of the shares of generic plans on, a statement was executed with another kind of plan.
const OTHER_KIND: f64 = 0.5;

/// A statement that both execute differently.
#[derive(Debug, Clone, Copy)]
pub struct PlanChange<'a> {
    /// How the base case executes it.
    pub base: &'a StatementPlan,
    /// How the candidate executes it.
    pub candidate: &'a StatementPlan,
}

/// A prepared statement, and with which kinds of plans it was executed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedStatement<'a> {
    /// Its name.
    pub statement: &'a str,
    /// Its executions by the base case, if the server told.
    pub base: Option<PlanUses>,
    /// The same by the candidate.
    pub candidate: Option<PlanUses>,
}

impl PlannedStatement<'_> {
    /// Whether most executions of the one had a generic plan and of the other a custom one.
    pub fn has_other_kind(&self) -> bool {
        let shares = self
            .base
            .zip(self.candidate)
            .map(|(base, candidate)| (base.generic_share() - candidate.generic_share()).abs());
        shares.is_some_and(|difference| difference >= OTHER_KIND)
    }
}

/// The prepared statements whose kinds of plans are known of either.
pub(super) fn planned<'a>(base: &'a Trial, candidate: &'a Trial) -> Vec<PlannedStatement<'a>> {
    let both = [base, candidate].map(|trial| PlanUses::all(&trial.counters));
    let mut names: Vec<&str> = both.iter().flatten().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let statement = |statement| {
        let [base, candidate] = [base, candidate].map(|trial| PlanUses::of(&trial.counters, statement));
        PlannedStatement { statement, base, candidate }
    };
    names.into_iter().map(statement).collect()
}

impl PlanChange<'_> {
    /// Whether they differ in more than figures.
    pub fn is_of_shape(&self) -> bool {
        shape(&self.base.text) != shape(&self.candidate.text)
    }

    /// The first line that differs, without its figures, of base case and candidate.
    pub fn first_difference(&self) -> (String, String) {
        let (before, after) = (shape(&self.base.text), shape(&self.candidate.text));
        let differing = before.iter().zip(&after).find(|(before, after)| before != after);
        let (before, after) = match differing {
            Some((before, after)) => (before.as_str(), after.as_str()),
            None => (before.last().map_or("", String::as_str), after.last().map_or("", String::as_str)),
        };
        (before.trim().to_owned(), after.trim().to_owned())
    }
}

/// The statements whose plans differ in kind, or in more than figures. Of several with one name, those at the same position are compared.
pub(super) fn changes<'a>(base: &'a Trial, candidate: &'a Trial) -> Vec<PlanChange<'a>> {
    let planned = planned(base, candidate);
    let has_other_kind = |plan: &StatementPlan| {
        planned.iter().any(|known| known.statement == plan.counted_as() && known.has_other_kind())
    };
    let mut rest: Vec<&StatementPlan> = candidate.plans.iter().collect();
    let mut changes = Vec::new();
    for base in &base.plans {
        let same = |plan: &&StatementPlan| {
            plan.statement == base.statement && words_of(&plan.sql) == words_of(&base.sql)
        };
        let Some(place) = rest.iter().position(same) else { continue };
        let candidate = rest.remove(place);
        let change = PlanChange { base, candidate };
        if change.is_of_shape() || has_other_kind(base) {
            changes.push(change);
        }
    }
    changes
}

/// A statement without its values.
fn words_of(sql: &str) -> String {
    sql.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The lines of a plan without costs, estimates and values. Conditions contain values, and the nodes above them tell enough.
fn shape(plan: &str) -> Vec<String> {
    let line = |line: &str| {
        let line = line.split_once("  (cost=").map_or(line, |(node, _)| node);
        let line = line.split_once(" over (").map_or(line, |(node, _)| node);
        line.chars().map(|letter| if letter.is_ascii_digit() { '#' } else { letter }).collect::<String>()
    };
    let is_node = |line: &&str| {
        let line = line.trim_start();
        !["Index Cond:", "Filter:", "Recheck Cond:", "-> Filter:"].iter().any(|start| line.starts_with(start))
    };
    // What follows an empty line is another drawing of the same plan.
    let first = plan.lines().take_while(|line| !line.trim().is_empty());
    let mut lines: Vec<String> = first.filter(is_node).map(line).collect();
    lines.iter_mut().for_each(|line| {
        while line.contains("##") {
            *line = line.replace("##", "#");
        }
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sql: &str, text: &str) -> StatementPlan {
        StatementPlan { statement: "range".into(), sql: sql.into(), text: text.into() }
    }

    #[test]
    fn figures_are_no_difference_and_another_scan_is() {
        let index =
            "Index Scan using pi1_pkey on pi1  (cost=0.29..17.21 rows=196 width=121)\n  Index Cond: (id = 7)";
        let later = "Index Scan using pi1_pkey on pi1  (cost=0.42..99.1 rows=1960 width=121)\n  Index Cond: (id = 9123)";
        let scan = "Seq Scan on pi1  (cost=0.00..544.00 rows=1 width=121)\n  Filter: (id = 7)";
        let trial = |plan: StatementPlan| Trial { plans: vec![plan], ..crate::fixture::empty_trial() };
        let base = trial(plan("select 17", index));
        assert!(changes(&base, &trial(plan("select 9", later))).is_empty());
        let changed = trial(plan("select 1", scan));
        let found = changes(&base, &changed);
        let difference = ("Index Scan using pi#_pkey on pi#".to_owned(), "Seq Scan on pi#".to_owned());
        assert_eq!(found[0].first_difference(), difference);
        assert!(changes(&base, &trial(plan("delete 1", scan))).is_empty());
        // A newer version that also draws a tree has the same plan.
        let (old, new) =
            ("table=t type=range key=PRIMARY", "table=t type=range key=PRIMARY\n\n-> Index range scan on t");
        assert!(changes(&trial(plan("select 1", old)), &trial(plan("select 1", new))).is_empty());
    }

    #[test]
    fn another_kind_of_plan_is_a_change_although_it_looks_the_same() {
        let trial = |generic, custom| {
            let plans = vec![plan("select 17", "Index Scan using pi1_pkey on pi1")];
            let mut trial = Trial { plans, ..crate::fixture::empty_trial() };
            PlanUses { generic, custom }.add_to(&mut trial.counters, "range");
            trial
        };
        let (generic, custom, longer) = (trial(12_000, 5), trial(0, 11_000), trial(90, 5));
        let found = changes(&generic, &custom);
        assert!(found.len() == 1 && !found[0].is_of_shape());
        let planned = planned(&generic, &custom);
        assert_eq!((planned[0].statement, planned[0].has_other_kind()), ("range", true));
        assert!(changes(&generic, &longer).is_empty(), "the first five are custom everywhere");
        let unknown = Trial { plans: generic.plans.clone(), ..crate::fixture::empty_trial() };
        assert!(changes(&generic, &unknown).is_empty(), "an older version tells nothing");
        assert_eq!(super::planned(&generic, &unknown)[0].candidate, None);
    }
}
