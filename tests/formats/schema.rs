//! A schema of `docs/schemas`, and documents held against it.

use std::collections::BTreeSet;
use std::fs;

use basecase_tests::workspace;
use jsonschema::Validator;
use serde_json::Value;

/// The schema of a form, twice: as it stands, and without room for keys that it does not describe.
pub(crate) struct Schema {
    name: String,
    open: Validator,
    closed: Validator,
}

impl Schema {
    /// The schema `docs/schemas/NAME.json`.
    pub(crate) fn named(name: &str) -> Schema {
        let path = workspace().join(format!("docs/schemas/{name}.json"));
        let document: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert!(jsonschema::meta::is_valid(&document), "{name} is no schema");
        let open = jsonschema::validator_for(&document).unwrap();
        let mut document = document;
        close(&mut document);
        Schema { name: name.to_owned(), open, closed: jsonschema::validator_for(&document).unwrap() }
    }

    /// Asserts that a document fits, and that the schema describes each of its keys.
    pub(crate) fn assert_fits(&self, document: &Value) {
        let problems = |validator: &Validator| -> Vec<String> {
            let problem =
                |problem: jsonschema::ValidationError<'_>| format!("{}: {problem}", problem.instance_path());
            validator.iter_errors(document).map(problem).take(5).collect()
        };
        assert_eq!(problems(&self.open), [""; 0], "{}", self.name);
        assert_eq!(problems(&self.closed), [""; 0], "{} describes each key", self.name);
    }

    /// Asserts that a document fits, and that it does not with the value at this place changed.
    pub(crate) fn assert_refuses(&self, document: &Value, place: &str, wrong: Value) {
        self.assert_fits(document);
        let mut changed = document.clone();
        let (above, key) = place.rsplit_once('/').unwrap();
        let above =
            changed.pointer_mut(above).unwrap_or_else(|| panic!("{} has no {above}: {document}", self.name));
        match above {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = wrong,
            other => other[key] = wrong,
        }
        assert!(!self.open.is_valid(&changed), "{} takes {place} of {changed}", self.name);
    }
}

/// Refuses keys that are not described, wherever an object has a list of those that are.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            keywords.values_mut().for_each(close);
            let is_list =
                keywords.get("type").is_some() && keywords.get("properties").is_some_and(Value::is_object);
            if is_list && !keywords.contains_key("additionalProperties") {
                keywords.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(schemas) => schemas.iter_mut().for_each(close),
        _ => {}
    }
}

/// The names of all schemas.
pub(crate) fn names() -> BTreeSet<String> {
    let files = fs::read_dir(workspace().join("docs/schemas")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.map(|name| name.strip_suffix(".json").unwrap().to_owned()).collect()
}

/// The keys that objects have by a schema.
pub(crate) fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keywords) => {
            if let Some(Value::Object(properties)) = keywords.get("properties") {
                found.extend(properties.keys().cloned());
            }
            keywords.values().for_each(|value| keys(value, found));
        }
        Value::Array(schemas) => schemas.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}
