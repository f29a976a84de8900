//! A setting that is suspected of a change: the contender is run again with that one setting as the base case has it.

use anyhow::{Result, bail};
use basecase_builds::{alternatives, nearest};
use basecase_model::{CandidateFacts, TriedSetting, ValueOrigin};
use basecase_server::tried_name;

use crate::request::{Protocol, Request, Rounds};

/// A setting as the user names it: `jit`, or `jit=off`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedSetting {
    /// Its name.
    pub name: String,
    /// The value to try; `None` is that of the base case.
    pub value: Option<String>,
}

impl AskedSetting {
    /// What it means for `contender`, which is compared with `base`.
    ///
    /// # Errors
    /// If no config may have the setting, the server does not know it, or the value is what the contender has anyway.
    pub fn tried(&self, base: &CandidateFacts, contender: &CandidateFacts) -> Result<TriedSetting> {
        let value = self.value.as_deref();
        let name = tried_name(contender.build.dbms, &self.name, value.unwrap_or_default())?;
        let own = Known::of(contender, &name);
        if !own.is_settable(contender) {
            bail!("{} has no setting {name}\nhint: {}", contender.name, similar(contender, &name));
        }
        if let Some(value) = value {
            if own.is(value) {
                bail!(
                    "{} has {name} = {value} already\nhint: give another value, or try another setting",
                    contender.name
                );
            }
            return Ok(TriedSetting { name, value: Some(value.to_owned()), origin: ValueOrigin::User });
        }
        if base.build.dbms != contender.build.dbms {
            bail!(
                "{} is {} and {} is {}, whose settings are not the same\nhint: give the value to try: --try {name}=VALUE",
                base.name,
                base.build.dbms,
                contender.name,
                contender.build.dbms
            );
        }
        let of_base = Known::of(base, &name);
        if of_base.is_same(own) {
            bail!(
                "{name} is {} in {} and in {}, so it explains no difference\nhint: try a setting that differs, or give a value: --try {name}=VALUE",
                own.value().unwrap_or("at the server's default"),
                base.name,
                contender.name
            );
        }
        let value = of_base.value().map(str::to_owned);
        let origin = if value.is_some() { ValueOrigin::BaseCase } else { ValueOrigin::Default };
        if origin == ValueOrigin::Default && own.of_config.is_none() {
            bail!(
                "{} has no {name}, and {} has it at the server's default already\nhint: give the value to try: --try {name}=VALUE",
                base.name,
                contender.name
            );
        }
        Ok(TriedSetting { name, value, origin })
    }
}

impl Request {
    /// The experiment that tries a setting: base case, contender, and the contender with the setting, in rounds, with everything else as
    /// here. `contender` is the contender's number, and `detect` the smallest change that matters, unless it is to be the one of here.
    ///
    /// # Errors
    /// If there is no such candidate, or it is the user's own server.
    pub fn trying(&self, setting: &TriedSetting, contender: usize, detect: Option<f64>) -> Result<Request> {
        let of_both = self.candidates.first().zip(self.candidates.get(contender));
        let Some((base, contender)) = of_both else {
            bail!(
                "the command of the experiment names fewer candidates than were measured\nhint: compare the two again, and explain that experiment"
            );
        };
        if let Some(own) = [base, contender].into_iter().find(|spec| spec.is_url()) {
            bail!(
                "candidate {own} cannot be run again with another setting: basecase does not start your server\nhint: let basecase start the build: path:/usr/lib/…"
            );
        }
        let mut tried = contender.clone();
        tried.tried = Some(setting.clone());
        let rounds = match &self.protocol {
            Protocol::Rounds(rounds) => rounds.clone(),
            Protocol::Classic | Protocol::Counts(_) => Rounds::default(),
        };
        Ok(Request {
            name: format!("try {setting} on {contender}"),
            candidates: vec![base.clone(), contender.clone(), tried],
            // As many as it takes, although the experiment may have been content with fewer.
            protocol: Protocol::Rounds(Rounds { detect: detect.or(rounds.detect), most: None, ..rounds }),
            replicates: Vec::new(),
            ..self.clone()
        })
    }
}

/// What is known of a setting of one candidate.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// The value that its config gives.
    of_config: Option<&'a str>,
    /// The value that the running server had.
    running: Option<&'a str>,
}

impl<'a> Known<'a> {
    fn of(facts: &'a CandidateFacts, name: &str) -> Self {
        let given = facts.config.settings.iter().find(|(set, _)| set.eq_ignore_ascii_case(name));
        let running = facts.running.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        Known {
            of_config: given.map(|(_, value)| value.as_str()),
            running: running.map(|(_, value)| value.as_str()),
        }
    }

    /// What a config would have to say.
    fn value(self) -> Option<&'a str> {
        self.of_config.or(self.running)
    }

    fn is(self, value: &str) -> bool {
        [self.of_config, self.running].into_iter().flatten().any(|own| own.eq_ignore_ascii_case(value))
    }

    /// Whether both have one value. Servers tell all of them in one form, and configs do not.
    fn is_same(self, other: Known<'_>) -> bool {
        match (self.running, other.running) {
            (Some(own), Some(others)) => own == others,
            _ => self.value() == other.value(),
        }
    }

    /// Whether the server may have the setting, as far as is known: one that ran told all of its own. SQLite tells some, and of all others
    /// the rules for configs know.
    fn is_settable(self, facts: &CandidateFacts) -> bool {
        self.value().is_some() || facts.running.is_empty() || facts.build.dbms.is_embedded()
    }
}

/// The settings of a candidate with similar names, as a hint.
fn similar(facts: &CandidateFacts, name: &str) -> String {
    let near = nearest(name, facts.running.keys().map(String::as_str));
    match near.is_empty() {
        true => "name a setting that its server has".to_owned(),
        false => format!("did you mean {}?", alternatives(&near)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use basecase_model::{BuildFacts, CandidateName, ConfigFacts, Dbms};

    use super::*;

    fn facts(name: &str, config: &[(&str, &str)], running: &[(&str, &str)]) -> CandidateFacts {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        CandidateFacts {
            name: CandidateName(name.into()),
            build: BuildFacts {
                dbms: Dbms::Postgres,
                short: "pg".into(),
                requested: "postgres:17.11".into(),
                version: "17.11".into(),
                provider: "pypi".into(),
                artifact: "x".into(),
                sha256: None,
                compiler: None,
                flags: None,
                details: BTreeMap::new(),
            },
            engine: None,
            config: ConfigFacts {
                name: "c".into(),
                settings: config.iter().map(owned).collect(),
                sha256: String::new(),
            },
            running: running.iter().map(owned).collect(),
            memory_limit_bytes: None,
        }
    }

    /// What is tried of a base case and a contender, or why not.
    fn tried(asked: &str) -> Result<(String, ValueOrigin), String> {
        let base =
            facts("base", &[("work_mem", "4MB")], &[("jit", "off"), ("work_mem", "4MB"), ("seed", "1")]);
        let contender = facts(
            "other",
            &[("work_mem", "65536kB"), ("io_method", "worker")],
            &[
                ("jit", "on"),
                ("work_mem", "64MB"),
                ("io_method", "worker"),
                ("wal_level", "x"),
                ("seed", "1"),
            ],
        );
        let (name, value) = match asked.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (asked, None),
        };
        let tried = AskedSetting { name: name.to_owned(), value }.tried(&base, &contender);
        tried.map(|tried| (tried.to_string(), tried.origin)).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_setting_is_tried_as_the_base_case_has_it() {
        let ok = |setting: &str, origin| Ok((setting.to_owned(), origin));
        assert_eq!(tried("jit"), ok("jit=off", ValueOrigin::BaseCase), "a default that differs");
        assert_eq!(tried("WORK_MEM"), ok("work_mem=4MB", ValueOrigin::BaseCase));
        assert_eq!(tried("io_method"), ok("io_method=default", ValueOrigin::Default));
        assert_eq!(tried("jit=0"), ok("jit=0", ValueOrigin::User));
        assert_eq!(tried("seed=2"), ok("seed=2", ValueOrigin::User), "whatever the base case has");
    }

    #[test]
    fn what_cannot_explain_anything_is_refused() {
        for (asked, reason) in [
            ("seed", "seed is 1 in base and in other, so it explains no difference\nhint: "),
            ("jit=on", "other has jit = on already\nhint: "),
            ("work_men", "other has no setting work_men\nhint: did you mean work_mem?"),
            ("zzz=1", "other has no setting zzz\nhint: name a setting"),
            ("wal_level", "base has no wal_level, and other has it at the server's default already\nhint: "),
            ("port=5", "--try port: port cannot be set by a config\nhint: "),
            ("jit=a\nb", "--try jit: jit: "),
        ] {
            let refusal = tried(asked).unwrap_err();
            assert!(refusal.starts_with(reason) && refusal.contains("\nhint: "), "{asked}: {refusal}");
        }
        let mut other = facts("my", &[], &[]);
        other.build.dbms = Dbms::Mysql;
        let asked = AskedSetting { name: "jit".into(), value: None };
        let refusal = asked.tried(&other, &facts("pg", &[], &[])).unwrap_err().to_string();
        assert!(refusal.contains("hint: give the value to try: --try jit=VALUE"), "{refusal}");
    }
}
