//! Resolves a step's name, as people write it, to the steps that it stands for.

use super::Workload;
use super::option::Setting;
use super::step::StepDefinition;

/// A step with one value of its labelling option.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variant<'a> {
    pub(crate) definition: &'a StepDefinition,
    /// Name with the suffix of a repeated run, e.g. `random-points.pre`.
    pub(crate) name: String,
    /// Name with the value of the labelling option, e.g. `random-points.pre_range=10`.
    pub(crate) label: String,
    /// Values of options in this step.
    pub(crate) settings: Vec<(&'a str, Setting)>,
}

impl Workload {
    /// The steps that `NAME`, `NAME=VALUE`, `NAME.SUFFIX`, `NAME.SUFFIX=VALUE` or a label stands for; empty if there is no such step.
    pub(crate) fn variants(&self, word: &str) -> Vec<Variant<'_>> {
        let label = self.label.as_ref().map(|(name, _)| name.as_str());
        let (name, value) = match word.split_once('=') {
            None => (word, None),
            Some((name, value)) => {
                let suffix = label.map(|label| format!("_{label}"));
                (suffix.and_then(|suffix| name.strip_suffix(&suffix)).unwrap_or(name), Some(value))
            }
        };
        let base = |name: &str| self.steps.iter().find(|step| step.name == name);
        let Some(definition) = base(name).or_else(|| base(name.rsplit_once('.')?.0)) else {
            return Vec::new();
        };
        let fixed = definition.set.iter().filter(|(option, _, _)| Some(option.as_str()) != label);
        let fixed: Vec<(&str, Setting)> = fixed
            .filter_map(|(option, _, values)| Some((option.as_str(), values.first()?.clone())))
            .collect();
        let labelled = definition.set.iter().find(|(option, _, _)| Some(option.as_str()) == label);
        let Some((option, _, values)) = labelled else {
            let label = name.to_owned();
            let variant = Variant { definition, name: name.to_owned(), label, settings: fixed };
            return if value.is_none() { vec![variant] } else { Vec::new() };
        };
        values
            .iter()
            .filter(|setting| value.is_none_or(|value| setting.to_string() == value))
            .map(|setting| Variant {
                definition,
                name: name.to_owned(),
                label: format!("{name}_{option}={setting}"),
                settings: fixed.iter().cloned().chain([(option.as_str(), setting.clone())]).collect(),
            })
            .collect()
    }
}
