//! At which of many versions, in order, the work of an operation changed.
//!
//! Counts scatter so little that neighbours are simply compared. The effects of neighbours add up to that of the last version relative to
//! the first, so what neighbours leave undecided is looked for once more from end to end of each level: small changes in one direction.

use super::{WorkComparison, WorkDecision, WorkError, WorkKind, WorkPlan, WorkWindow};

/// The windows of one step on all versions, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkCourse {
    /// What the step does.
    pub kind: WorkKind,
    /// The windows of each version; none if it was not counted.
    pub versions: Vec<Vec<WorkWindow>>,
}

/// A change of work along the versions.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkShift {
    /// The last version of the old level, or the first of the level within which work crept.
    pub before: usize,
    /// The first version of the new level, or the last of the level within which work crept.
    pub version: usize,
    /// Whether it is made of changes of which none is decided by itself.
    pub is_gradual: bool,
    /// What is decided of `version` relative to `before`.
    pub decision: WorkDecision,
}

/// What is decided along the versions of one step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WorkShifts {
    /// The decided changes, in the order of versions.
    pub shifts: Vec<WorkShift>,
    /// Neighbours of which nothing can be said yet.
    pub open: usize,
}

/// Two versions of one step that are compared.
#[derive(Clone, Copy)]
struct Pair {
    course: usize,
    before: usize,
    version: usize,
}

impl WorkPlan {
    /// The changes along each course. All neighbours are one family, and all levels with three versions or more another.
    ///
    /// # Errors
    /// If a count or a number of the plan is impossible.
    pub fn shifts(&self, courses: &[WorkCourse]) -> Result<Vec<WorkShifts>, WorkError> {
        let mut found = vec![WorkShifts::default(); courses.len()];
        let counted: Vec<Vec<usize>> = courses.iter().map(WorkCourse::counted).collect();
        let neighbours = counted.iter().enumerate().flat_map(|(course, versions)| {
            versions.windows(2).map(move |pair| Pair { course, before: pair[0], version: pair[1] })
        });
        for (pair, decision) in self.decide_pairs(courses, neighbours.collect())? {
            found[pair.course].open += usize::from(decision.verdict == super::WorkVerdict::NotEnoughData);
            found[pair.course].take(pair, false, decision);
        }
        let levels = counted.iter().zip(&found).enumerate().flat_map(|(course, (versions, found))| {
            let levels = versions.chunk_by(|_, version| !found.begins_at(*version));
            levels.filter(|level| level.len() > 2).filter_map(move |level| {
                Some(Pair { course, before: *level.first()?, version: *level.last()? })
            })
        });
        for (pair, decision) in self.decide_pairs(courses, levels.collect())? {
            found[pair.course].take(pair, true, decision);
        }
        found.iter_mut().for_each(|found| found.shifts.sort_by_key(|shift| (shift.version, shift.before)));
        Ok(found)
    }

    fn decide_pairs(
        &self,
        courses: &[WorkCourse],
        pairs: Vec<Pair>,
    ) -> Result<Vec<(Pair, WorkDecision)>, WorkError> {
        let comparison = |pair: &Pair| courses[pair.course].comparison(pair.before, pair.version);
        let decisions = self.decide(&pairs.iter().map(comparison).collect::<Vec<_>>())?;
        Ok(pairs.into_iter().zip(decisions).collect())
    }
}

impl WorkCourse {
    fn counted(&self) -> Vec<usize> {
        let versions = self.versions.iter().enumerate();
        versions.filter(|(_, windows)| !windows.is_empty()).map(|(version, _)| version).collect()
    }

    /// What compares a version with an earlier one.
    pub fn comparison(&self, before: usize, version: usize) -> WorkComparison {
        let windows = |version: usize| self.versions.get(version).cloned().unwrap_or_default();
        WorkComparison { kind: self.kind, base: windows(before), contender: windows(version) }
    }
}

impl WorkShifts {
    fn take(&mut self, pair: Pair, is_gradual: bool, decision: WorkDecision) {
        if decision.verdict.is_change() {
            let Pair { before, version, .. } = pair;
            self.shifts.push(WorkShift { before, version, is_gradual, decision });
        }
    }

    fn begins_at(&self, version: usize) -> bool {
        self.shifts.iter().any(|shift| !shift.is_gradual && shift.version == version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::simulation::Simulation;

    /// Versions at these levels, logarithms; without a level, one that was not counted. Windows scatter by 0.01 %.
    fn course(levels: &[Option<f64>], simulation: &mut Simulation) -> WorkCourse {
        let mut windows = |level: f64| {
            let mut window = |start| WorkWindow {
                start,
                instructions: 36_000.0 * (level + 0.0001 * simulation.gaussian()).exp(),
            };
            vec![window(0), window(0), window(1), window(1)]
        };
        let versions = levels.iter().map(|level| level.map_or_else(Vec::new, &mut windows)).collect();
        WorkCourse { kind: WorkKind::Read, versions }
    }

    fn shifts(levels: &[Option<f64>]) -> WorkShifts {
        let courses = [course(levels, &mut Simulation::new("course", levels.len()))];
        WorkPlan::default().shifts(&courses).unwrap().remove(0)
    }

    fn places(found: &WorkShifts) -> Vec<(usize, usize, bool)> {
        found.shifts.iter().map(|shift| (shift.before, shift.version, shift.is_gradual)).collect()
    }

    #[test]
    fn changes_are_found_where_they_are_and_add_up() {
        let levels = [0.0, 0.0, 0.02, 0.02, -0.01, -0.01].map(Some);
        let found = shifts(&levels);
        assert_eq!((places(&found), found.open), (vec![(1, 2, false), (3, 4, false)], 0));
        let sum: f64 = found.shifts.iter().filter_map(|shift| shift.decision.effect).sum();
        assert!((sum + 0.01).abs() < 0.001, "{sum}");
        assert!(shifts(&[0.0, 0.001, 0.0, -0.001].map(Some)).shifts.is_empty());
    }

    #[test]
    fn what_was_not_counted_is_passed_over() {
        assert_eq!(places(&shifts(&[None, Some(0.0), None, Some(0.02)])), [(1, 3, false)]);
    }

    #[test]
    fn small_changes_in_one_direction_are_told_together() {
        let found = shifts(&[0.0, 0.003, 0.006, 0.009, 0.05, 0.05].map(Some));
        assert_eq!(places(&found), [(0, 3, true), (3, 4, false)]);
    }

    #[test]
    fn identical_versions_rarely_have_a_change() {
        const FAMILIES: usize = 400;
        let has_change = |index: &usize| {
            let mut simulation = Simulation::new("course A/A", *index);
            let courses: Vec<WorkCourse> = (0..8).map(|_| course(&[Some(0.0); 6], &mut simulation)).collect();
            let plan = WorkPlan { margin: 0.000_05, ..WorkPlan::default() };
            plan.shifts(&courses).unwrap().iter().any(|found| !found.shifts.is_empty())
        };
        let with_change = (0..FAMILIES).filter(has_change).count();
        println!("A/A: {with_change} of {FAMILIES} families with a change of any size");
        assert!(with_change <= FAMILIES * 8 / 100, "{with_change} of {FAMILIES}");
    }
}
