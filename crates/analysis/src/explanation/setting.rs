//! Settings of two servers, as they ran.

use basecase_model::{CandidateFacts, ConfigFacts};

use super::setting_topic::{SettingTopic, topics};
use crate::configs::differing_settings;
use crate::settings::{is_bound_to_differ, sets};

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingChange {
    /// Its name, as the servers tell it.
    pub name: String,
    /// The base case's value; `None` if the server has no such setting.
    pub base: Option<String>,
    /// The candidate's value.
    pub candidate: Option<String>,
    /// Whether no config sets it: the servers' defaults differ.
    pub is_default: bool,
    /// What it has to do with; nothing if that is not known.
    pub topics: Vec<SettingTopic>,
}

impl SettingChange {
    /// Whether it can have an effect: a switch that came with a version and is off has none.
    pub fn acts(&self) -> bool {
        let is_off = |value: &Option<String>| {
            value
                .as_deref()
                .is_none_or(|value| ["off", "0", "", "no", "none"].contains(&value.to_lowercase().as_str()))
        };
        self.is_of_both() || !is_off(&self.base) || !is_off(&self.candidate)
    }

    /// Whether it can act on a cost with one of these topics.
    pub fn touches(&self, topics: &[SettingTopic]) -> bool {
        self.acts() && self.topics.iter().any(|topic| topics.contains(topic))
    }

    /// Whether both servers have the setting.
    pub fn is_of_both(&self) -> bool {
        self.base.is_some() && self.candidate.is_some()
    }
}

/// The settings that differ and that both dbms could have: none for two different dbms.
pub(super) fn changes(base: &CandidateFacts, candidate: &CandidateFacts) -> Vec<SettingChange> {
    if base.build.dbms != candidate.build.dbms || base.running.is_empty() || candidate.running.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<&String> = base.running.keys().chain(candidate.running.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let (before, after) = (base.running.get(name), candidate.running.get(name));
        (before != after && !is_bound_to_differ(name)).then(|| SettingChange {
            name: name.clone(),
            base: before.cloned(),
            candidate: after.cloned(),
            is_default: !sets(base, name) && !sets(candidate, name),
            topics: topics(base.build.dbms, name),
        })
    };
    let mut changes: Vec<SettingChange> = names.into_iter().filter_map(change).collect();
    changes.extend(changes_beside_settings(base, candidate));
    // Settings that both have tell more than those that came or went with a version.
    changes.sort_by_key(|change| !change.is_of_both());
    changes
}

/// What configs say of processes and tables, which no server reports.
fn changes_beside_settings(base: &CandidateFacts, candidate: &CandidateFacts) -> Vec<SettingChange> {
    let differing = differing_settings(&[&base.config, &candidate.config]).into_iter();
    let beside =
        differing.filter(|(name, _)| [ConfigFacts::ENVIRONMENT, ConfigFacts::TABLE_OPTIONS].contains(name));
    let change = |(name, values): (&str, Vec<Option<&str>>)| SettingChange {
        name: name.to_owned(),
        base: values[0].map(str::to_owned),
        candidate: values[1].map(str::to_owned),
        is_default: false,
        topics: topics(base.build.dbms, name),
    };
    beside.map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_a_config_gives_the_process_differs_though_no_server_reports_it() {
        let (experiment, _) = fixture::sample();
        let mut base = experiment.candidates[0].clone();
        base.running = [("work_mem".to_owned(), "4MB".to_owned())].into();
        base.config.settings = vec![("work_mem".into(), "4096kB".into())];
        let mut candidate = base.clone();
        candidate.config.settings =
            vec![("Work_Mem".into(), "4MB".into()), ("environment".into(), "MALLOC_ARENA_MAX=1".into())];
        let found = changes(&base, &candidate);
        let [change] = &found[..] else { panic!("{found:?}") };
        assert_eq!((change.name.as_str(), change.base.as_deref()), ("environment", None));
        assert_eq!(change.candidate.as_deref(), Some("MALLOC_ARENA_MAX=1"));
        assert!(change.acts() && !change.is_default && change.touches(&[SettingTopic::Memory]), "{change:?}");
        assert!(changes(&candidate, &candidate).is_empty());
    }

    #[test]
    fn a_setting_that_no_config_names_is_a_changed_default() {
        let (experiment, _) = fixture::sample();
        let mut base = experiment.candidates[0].clone();
        base.config.settings = vec![("work_mem".into(), "4MB".into())];
        let running = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        base.running = running(&[("work_mem", "4MB"), ("io_concurrency", "1"), ("port", "1"), ("same", "x")]);
        let mut candidate = base.clone();
        candidate.running = running(&[
            ("work_mem", "8MB"),
            ("io_concurrency", "16"),
            ("port", "2"),
            ("same", "x"),
            ("io_method", "worker"),
        ]);
        let found = changes(&base, &candidate);
        let told = |change: &SettingChange| (change.name.clone(), change.is_of_both(), change.is_default);
        let expected =
            [("io_concurrency", true, true), ("work_mem", true, false), ("io_method", false, true)];
        let found: Vec<(String, bool, bool)> = found.iter().map(told).collect();
        assert_eq!(found, expected.map(|(name, of_both, default)| (name.to_owned(), of_both, default)));
        candidate.build.dbms = basecase_model::Dbms::Sqlite;
        assert!(changes(&base, &candidate).is_empty());
    }
}
