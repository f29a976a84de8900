//! Which results are shown together: groups of steps, and sweeps over numbers of threads.

use basecase_model::{Headline, OperationClass, StepFacts};

use crate::results::Results;

/// Steps whose results are shown in one block.
#[derive(Debug, PartialEq, Eq)]
pub struct StepGroup<'a> {
    /// The block's title.
    pub name: &'a str,
    /// Numbers of its steps in the order in which they are shown.
    pub steps: Vec<usize>,
}

/// One step with several numbers of threads.
#[derive(Debug, PartialEq, Eq)]
pub struct Sweep<'a> {
    /// The step's label without a number of threads.
    pub name: &'a str,
    /// Numbers of threads, each with the number of its step, fewest first.
    pub points: Vec<(u32, usize)>,
}

impl<'a> Results<'a> {
    /// Whether the workload is a workload file, whose steps are threads that execute events; otherwise it is the Insert Benchmark.
    pub fn is_workload_file(&self) -> bool {
        self.steps().any(|(_, step)| step.threads.is_some())
    }

    /// How many work at once, as text, and their unit: clients, or threads of the compared steps.
    pub fn concurrency(&self) -> (String, String) {
        if self.is_workload_file() {
            counted(self.compared_steps().filter_map(|(_, step)| step.threads).collect(), "thread")
        } else {
            counted(vec![self.experiment.clients], "client")
        }
    }

    /// The groups in the order in which they are shown, each with the steps that were run once; none is empty.
    ///
    /// One group with the workload's name holds everything if there is one candidate, and otherwise what no other group names.
    pub fn groups(&self) -> Vec<StepGroup<'a>> {
        let swept: Vec<usize> =
            self.sweeps().iter().flat_map(|sweep| &sweep.points).map(|(_, step)| *step).collect();
        let is_alone = |step: &usize| !swept.contains(step);
        let mut groups: Vec<StepGroup<'a>> = Vec::new();
        for (name, steps) in self.named_groups() {
            groups.push(StepGroup { name, steps: steps.into_iter().filter(is_alone).collect() });
        }
        if self.experiment.candidates.len() == 1 {
            let steps = groups.into_iter().flat_map(|group| group.steps).collect();
            groups = vec![StepGroup { name: &self.experiment.workload, steps }];
        }
        groups.retain(|group| !group.steps.is_empty());
        groups
    }

    /// The steps that were run with several numbers of threads, in the order in which groups name them.
    pub fn sweeps(&self) -> Vec<Sweep<'a>> {
        let mut sweeps: Vec<Sweep<'a>> = Vec::new();
        for number in self.named_groups().into_iter().flat_map(|(_, steps)| steps) {
            let Some(step) = self.experiment.steps.get(number) else { continue };
            let Some((name, threads)) = swept_name(step) else { continue };
            match sweeps.iter_mut().find(|sweep| sweep.name == name) {
                Some(sweep) => sweep.points.push((threads, number)),
                None => sweeps.push(Sweep { name, points: vec![(threads, number)] }),
            }
        }
        sweeps.retain(|sweep| sweep.points.len() > 1);
        sweeps.iter_mut().for_each(|sweep| sweep.points.sort_unstable());
        sweeps
    }

    /// Steps of one kind of work: for a workload file the groups and then each sweep; for the Insert Benchmark writes, range queries and
    /// point queries. None is empty.
    pub fn families(&self) -> Vec<StepGroup<'a>> {
        let of_file = self.groups().into_iter().chain(self.sweeps().into_iter().map(|sweep| StepGroup {
            name: sweep.name,
            steps: sweep.points.into_iter().map(|(_, step)| step).collect(),
        }));
        if self.is_workload_file() {
            return of_file.collect();
        }
        let steps = |wanted: fn(&StepFacts) -> bool| {
            self.steps().filter(|(_, step)| wanted(step)).map(|(number, _)| number).collect()
        };
        let mut families = vec![
            StepGroup { name: "load and writes", steps: steps(|step| step.headline != Headline::Queries) },
            StepGroup { name: "range queries", steps: steps(|step| step.name.starts_with("qr")) },
            StepGroup { name: "point queries", steps: steps(|step| step.name.starts_with("qp")) },
        ];
        families.retain(|family| !family.steps.is_empty());
        families
    }

    /// Every compared step once, in the first group that names it.
    fn named_groups(&self) -> Vec<(&'a str, Vec<usize>)> {
        let mut rest: Vec<(usize, &'a StepFacts)> = self.compared_steps().collect();
        let mut groups = Vec::new();
        for group in &self.experiment.groups {
            let mut steps = Vec::new();
            for label in &group.steps {
                let is_of = |step: &StepFacts| {
                    step.label == *label || swept_name(step).is_some_and(|(name, _)| name == label)
                };
                steps.extend(rest.extract_if(.., |(_, step)| is_of(step)).map(|(number, _)| number));
            }
            groups.push((group.name.as_str(), steps));
        }
        groups
            .push((self.experiment.workload.as_str(), rest.into_iter().map(|(number, _)| number).collect()));
        groups
    }
}

/// `1 client`, `8 threads`, or `1, 8 and 40 threads`: numbers as text and their unit.
fn counted(mut numbers: Vec<u32>, unit: &str) -> (String, String) {
    numbers.sort_unstable();
    numbers.dedup();
    let unit = if numbers == [1] { unit.to_owned() } else { format!("{unit}s") };
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let text = match texts.as_slice() {
        [first, .., last] if texts.len() > 4 => format!("{first} to {last}"),
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => texts.concat(),
    };
    (text, unit)
}

/// The name for the operations of a class whose latencies are shown: for workload files, events.
pub fn timed_name(step: &StepFacts, class: OperationClass) -> &'static str {
    if step.threads.is_some() && class == OperationClass::Query { "event" } else { class.as_str() }
}

/// The label without its number of threads, and that number; `None` if the step names none.
fn swept_name(step: &StepFacts) -> Option<(&str, u32)> {
    let threads = step.threads?;
    Some((step.label.strip_suffix(&format!(".dop{threads}"))?, threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn steps_with_several_numbers_of_threads_are_swept_and_others_stay_in_their_groups() {
        let (mut experiment, _) = fixture::sweep(2, &[16, 1, 4], 1);
        let results = Results::new(&experiment, &[]);
        assert_eq!(
            results.sweeps(),
            [Sweep { name: "oltp_read_write", points: vec![(1, 2), (4, 3), (16, 1)] }]
        );
        assert_eq!(results.groups(), []);
        assert_eq!(results.concurrency(), ("1, 4 and 16".into(), "threads".into()));
        // A single number is not a sweep, whatever the step is called.
        experiment.steps.truncate(2);
        let results = Results::new(&experiment, &[]);
        assert_eq!(results.sweeps(), []);
        assert_eq!(results.groups(), [StepGroup { name: "oltp_read_write", steps: vec![1] }]);
    }

    #[test]
    fn groups_have_the_published_order_and_prepare_nothing() {
        let (experiment, _) = fixture::microbenchmarks(2, &fixture::LIST, 1);
        let results = Results::new(&experiment, &[]);
        let groups = results.groups();
        assert_eq!(groups.iter().map(|group| group.steps.len()).collect::<Vec<_>>(), [9, 5, 8, 10]);
        let label = |step: &usize| experiment.steps[*step].label.as_str();
        assert_eq!(groups[3].steps.iter().map(label).next_back(), Some("write-only_range=10000"));
    }

    #[test]
    fn many_numbers_of_threads_are_told_by_their_ends() {
        let text = |numbers: &[u32]| counted(numbers.to_vec(), "thread");
        assert_eq!(text(&[1, 1]), ("1".into(), "thread".into()));
        assert_eq!(text(&[40, 8]), ("8 and 40".into(), "threads".into()));
        assert_eq!(text(&[1, 2, 4, 8, 16]), ("1 to 16".into(), "threads".into()));
        assert_eq!(text(&[]), (String::new(), "threads".into()));
    }
}
