//! All recipes, and which of them a request means.

use std::collections::BTreeMap;

use basecase_model::{Dbms, Version};
use include_dir::{Dir, include_dir};
use serde::Deserialize;

use crate::form::Form;
use crate::recipe::{BuildRequest, Packages, Provider, Recipe, RecipeError, Source};
use crate::suggestion::{alternatives, nearest};

static RECIPES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../recipes");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeFile {
    provider: Vec<ProviderLine>,
    form: BTreeMap<String, Form>,
    recipe: Vec<RecipeLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProviderLine {
    name: String,
    client: String,
    platform: String,
    /// The default for recipes that name no form.
    form: Option<String>,
    /// The default for recipes that name no needs.
    #[serde(default)]
    needs: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeLine {
    version: String,
    provider: String,
    form: Option<String>,
    artifact: String,
    sha256: Option<String>,
    suite: Option<String>,
    #[serde(default)]
    with: Vec<String>,
    #[serde(default)]
    over: Vec<String>,
    compiler: Option<String>,
    flags: Option<String>,
    needs: Option<Vec<String>>,
}

impl RecipeLine {
    fn check(
        self,
        dbms: Dbms,
        providers: &[ProviderLine],
        forms: &BTreeMap<String, Form>,
    ) -> Result<Recipe, String> {
        let provider = providers.iter().find(|provider| provider.name == self.provider);
        let provider = provider.ok_or_else(|| format!("unknown provider {:?}", self.provider))?;
        let form = self.form.as_ref().or(provider.form.as_ref()).cloned().unwrap_or_default();
        let form = forms.get(&form).ok_or_else(|| format!("unknown form {form:?}"))?;
        let version = self.version.parse().map_err(|()| format!("bad version {:?}", self.version))?;
        let (artifact, packages) = match (self.suite, &self.sha256) {
            (None, Some(_)) => (self.artifact, None),
            (Some(suite), None) => (
                format!("{} ({suite})", self.artifact),
                Some(Packages { suite, server: self.artifact, with: self.with, over: self.over }),
            ),
            _ => return Err(format!("{} needs either a sha256 or a suite", self.artifact)),
        };
        Ok(Recipe {
            dbms,
            version,
            provider: Provider {
                name: provider.name.clone(),
                client: provider.client.clone(),
                platform: provider.platform.clone(),
            },
            artifact,
            sha256: self.sha256,
            compiler: self.compiler,
            flags: self.flags,
            needs: self.needs.unwrap_or_else(|| provider.needs.clone()),
            form: form.clone(),
            packages,
        })
    }
}

/// All recipes, those of a preferred provider first.
#[derive(Debug, Clone)]
pub struct Catalogue {
    recipes: Vec<Recipe>,
}

impl Catalogue {
    /// The recipes that basecase comes with.
    ///
    /// # Errors
    /// If an embedded file is broken, which a test rules out.
    pub fn embedded() -> Result<Self, RecipeError> {
        let mut recipes = Vec::new();
        for file in RECIPES.files().filter(|file| file.path().extension().is_some_and(|ext| ext == "toml")) {
            let name = file.path().display().to_string();
            let broken = |reason: String| RecipeError::Data { file: format!("recipes/{name}"), reason };
            let stem = file.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let dbms = stem.parse::<Dbms>().map_err(|()| broken(format!("unknown dbms {stem:?}")))?;
            let text = file.contents_utf8().ok_or_else(|| broken("it is not UTF-8".into()))?;
            let data: RecipeFile = toml::from_str(text).map_err(|error| broken(error.to_string()))?;
            let mut of_file = Vec::new();
            for line in data.recipe {
                of_file.push(line.check(dbms, &data.provider, &data.form).map_err(broken)?);
            }
            let place = |recipe: &Recipe| {
                data.provider.iter().position(|provider| provider.name == recipe.provider.name)
            };
            of_file.sort_by_key(place);
            recipes.extend(of_file);
        }
        Ok(Catalogue { recipes })
    }

    /// Every recipe.
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }

    /// Adds a build made from packages. It replaces its recipe, or stands beside it if the suite had moved on to another
    /// version.
    pub(crate) fn add(&mut self, got: Recipe) {
        match self.recipes.iter_mut().find(|recipe| recipe.folder() == got.folder()) {
            Some(recipe) => *recipe = got,
            None => {
                let is_older = |recipe: &Recipe| {
                    recipe.dbms == got.dbms && recipe.provider == got.provider && recipe.version < got.version
                };
                let after = self.recipes.iter().rposition(is_older).map_or(self.recipes.len(), |at| at + 1);
                self.recipes.insert(after, got);
            }
        }
    }

    /// Finds a recipe for each request. Requests for one dbms are resolved together: if one provider has all of them,
    /// compiled by one toolchain, all come from it, so that results differ by version alone. Otherwise each comes from its
    /// first provider.
    ///
    /// # Errors
    /// If a version or a provider is unknown; the message suggests similar ones.
    pub fn resolve(&self, requests: &[BuildRequest]) -> Result<Vec<Source>, RecipeError> {
        let offers: Vec<Vec<&Recipe>> =
            requests.iter().map(|request| self.offers(request)).collect::<Result<_, _>>()?;
        let choose = |offer: &Vec<&Recipe>| {
            let first = offer.first()?;
            let is_of_dbms =
                |other: &&Vec<&Recipe>| other.first().is_some_and(|recipe| recipe.dbms == first.dbms);
            let asked: Vec<&Vec<&Recipe>> = offers.iter().filter(is_of_dbms).collect();
            let has_all = |one: &&Recipe| {
                asked.iter().all(|offer| offer.iter().any(|recipe| recipe.is_comparable_with(one)))
            };
            let common = self.recipes.iter().find(has_all);
            let same = offer.iter().find(|recipe| common.is_some_and(|one| recipe.is_comparable_with(one)));
            same.or(Some(first)).map(|recipe| (*recipe).clone())
        };
        Ok(requests
            .iter()
            .zip(&offers)
            .map(|(request, offer)| Source { request: request.clone(), recipe: choose(offer) })
            .collect())
    }

    /// The recipes that satisfy `request`; none for a path.
    fn offers(&self, request: &BuildRequest) -> Result<Vec<&Recipe>, RecipeError> {
        let BuildRequest::Version { dbms, version, provider } = request else { return Ok(Vec::new()) };
        let known: Vec<&Recipe> = self.recipes.iter().filter(|recipe| recipe.dbms == *dbms).collect();
        let unknown = || RecipeError::Version {
            dbms: *dbms,
            version: version.clone(),
            near: near_versions(version, &known),
        };
        let wanted = match version.strip_suffix(".x") {
            Some(branch) => {
                let branch = branch.parse::<Version>().map_err(|()| unknown())?;
                let is_from_provider =
                    |recipe: &&&Recipe| provider.as_ref().is_none_or(|name| *name == recipe.provider.name);
                let newest = known.iter().filter(is_from_provider).map(|recipe| &recipe.version);
                newest.filter(|version| version.is_of(&branch)).max().cloned().ok_or_else(unknown)?
            }
            None => version.parse::<Version>().map_err(|()| unknown())?,
        };
        let same: Vec<&Recipe> = known.iter().copied().filter(|recipe| recipe.version == wanted).collect();
        if same.is_empty() {
            return Err(unknown());
        }
        let Some(name) = provider else { return Ok(same) };
        let matching: Vec<&Recipe> =
            same.iter().copied().filter(|recipe| recipe.provider.name == *name).collect();
        if matching.is_empty() {
            let there: Vec<String> =
                same.iter().map(|recipe| format!("{dbms}:{wanted}:{}", recipe.provider.name)).collect();
            return Err(RecipeError::Provider {
                dbms: *dbms,
                version: wanted.to_string(),
                provider: name.clone(),
                near: format!("this version comes as {}", alternatives(&there)),
            });
        }
        Ok(matching)
    }
}

fn near_versions(wanted: &str, known: &[&Recipe]) -> String {
    let mut versions: Vec<&Version> = known.iter().map(|recipe| &recipe.version).collect();
    versions.sort();
    versions.dedup();
    let texts = |versions: &[&Version]| versions.iter().map(ToString::to_string).collect::<Vec<String>>();
    // A user who mistypes a minor version knows the major one, so the whole branch is suggested.
    if let Ok(wanted) = wanted.trim_end_matches(".x").parse::<Version>() {
        for branch in [&wanted, &wanted.major()] {
            let same: Vec<&Version> =
                versions.iter().copied().filter(|version| version.is_of(branch)).collect();
            if !same.is_empty() {
                return format!("known versions: {}", texts(&same).join(", "));
            }
        }
    }
    let texts = texts(&versions);
    let near = nearest(wanted, texts.iter().map(String::as_str));
    if near.is_empty() {
        format!("known versions: {}", texts.join(", "))
    } else {
        format!("similar versions: {}", near.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(requests: &[&str]) -> Result<Vec<String>, RecipeError> {
        let requests: Vec<BuildRequest> =
            requests.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let sources = Catalogue::embedded()?.resolve(&requests)?;
        Ok(sources.into_iter().map(|source| source.recipe.map_or("path".into(), |r| r.folder())).collect())
    }

    #[test]
    fn embedded_recipes_are_whole() {
        let catalogue = Catalogue::embedded().unwrap();
        let mut folders: Vec<String> = catalogue.recipes().iter().map(Recipe::folder).collect();
        folders.sort();
        let count = folders.len();
        folders.dedup();
        assert_eq!(folders.len(), count, "two recipes share a folder");
        for recipe in catalogue.recipes() {
            let form = &recipe.form;
            if recipe.packages.is_some() {
                assert!(form.parts.is_empty() && form.bin.is_some() && !form.relink.is_empty(), "{recipe:?}");
            } else {
                let sha256 = recipe.sha256.as_deref().unwrap();
                assert!(
                    sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit()),
                    "{recipe:?}"
                );
                assert!(recipe.is_source() || !form.parts.is_empty(), "{recipe:?}");
                assert!(form.relink.is_empty(), "{recipe:?}");
            }
        }
    }

    #[test]
    fn the_first_provider_wins_unless_another_has_all() {
        assert_eq!(resolved(&["postgres:17.11"]).unwrap(), ["postgres-17.11-pypi"]);
        assert_eq!(resolved(&["postgres:17.11:maven"]).unwrap(), ["postgres-17.11-maven"]);
        assert_eq!(
            resolved(&["postgres:17.11", "postgres:17.6"]).unwrap(),
            ["postgres-17.11-maven", "postgres-17.6-maven"]
        );
        assert_eq!(
            resolved(&["postgres:17.11:maven", "postgres:18.6"]).unwrap(),
            ["postgres-17.11-maven", "postgres-18.6-maven"]
        );
        // Only 15.1 has the compiler of 14.0: the versions have no toolchain in common, so each comes from its first
        // provider.
        assert_eq!(
            resolved(&["postgres:14.0", "postgres:18.6", "path:/opt/pg"]).unwrap(),
            ["postgres-14.0-maven", "postgres-18.6-pypi", "path"]
        );
    }

    #[test]
    fn each_dbms_is_resolved_by_itself() {
        assert_eq!(
            resolved(&["postgres:17.11", "mysql:8.0.31", "postgres:17.6", "mysql:5.7.x"]).unwrap(),
            ["postgres-17.11-maven", "mysql-8.0.31-maven", "postgres-17.6-maven", "mysql-5.7.22-maven"]
        );
    }

    #[test]
    fn a_branch_means_its_newest_version() {
        assert_eq!(resolved(&["postgres:17.x"]).unwrap(), ["postgres-17.11-pypi"]);
        assert_eq!(resolved(&["postgres:9.6.x"]).unwrap(), ["postgres-9.6.24-maven"]);
        assert_eq!(resolved(&["mysql:8.0.x"]).unwrap(), ["mysql-8.0.33-maven"]);
        assert_eq!(resolved(&["mariadb:10.11.x:maven"]).unwrap(), ["mariadb-10.11.5-maven"]);
    }

    #[test]
    fn mistakes_name_what_is_near() {
        let message = resolved(&["postgres:17.12"]).unwrap_err().to_string();
        assert!(message.contains("hint: known versions: 17.0, 17.5, 17.6, 17.9, 17.10, 17.11"), "{message}");
        let message = resolved(&["postgres:17"]).unwrap_err().to_string();
        assert!(message.contains("17.11"), "{message}");
        let message = resolved(&["mysql:5.7.44"]).unwrap_err().to_string();
        assert!(message.contains("hint: known versions: 5.7.19, 5.7.22;"), "{message}");
        let message = resolved(&["postgres:17.6:pypi"]).unwrap_err().to_string();
        assert!(message.contains("postgres:17.6:maven"), "{message}");
    }

    #[test]
    fn what_was_got_from_a_suite_that_moved_on_stands_beside_its_recipe() {
        let mut catalogue = Catalogue::embedded().unwrap();
        let old =
            catalogue.recipes().iter().find(|recipe| recipe.folder() == "mariadb-10.11.18-debian").unwrap();
        let got = Recipe { sha256: Some("ab".into()), ..old.clone() };
        catalogue.add(got.clone());
        let newer = Recipe { version: "10.11.99".parse().unwrap(), ..got };
        let count = catalogue.recipes().len();
        catalogue.add(newer);
        assert_eq!(catalogue.recipes().len(), count + 1);
        let sources = catalogue.resolve(&["mariadb:10.11.x".parse().unwrap()]).unwrap();
        assert_eq!(sources[0].recipe.as_ref().unwrap().version.to_string(), "10.11.99");
        let sources = catalogue.resolve(&["mariadb:10.11.18".parse().unwrap()]).unwrap();
        assert_eq!(sources[0].recipe.as_ref().unwrap().sha256.as_deref(), Some("ab"));
    }
}
