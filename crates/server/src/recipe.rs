//! How to get each build, as data, and which recipe a request means.

use std::path::PathBuf;
use std::str::FromStr;

use basecase_model::Dbms;
use include_dir::{Dir, include_dir};
use serde::Deserialize;
use thiserror::Error;

use crate::suggestion::{alternatives, nearest};
use crate::version::Version;

static RECIPES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../recipes");

/// Why a request names no recipe.
#[derive(Debug, Error)]
pub enum RecipeError {
    /// The request has none of the known forms.
    #[error(
        "cannot read {request:?} as a build\nhint: write postgres:17.11, postgres:17.x (the newest of a branch), postgres:17.11:maven (a given provider) or path:/opt/pg"
    )]
    Form {
        /// What was asked for.
        request: String,
    },
    /// The dbms is part of basecase itself.
    #[error("{dbms} is part of basecase: there is no build to obtain\nhint: write just {dbms}")]
    Bundled {
        /// The dbms.
        dbms: Dbms,
    },
    /// The dbms is not known.
    #[error("unknown dbms {name:?}\nhint: known are {known}")]
    Dbms {
        /// What was asked for.
        name: String,
        /// All names.
        known: String,
    },
    /// No recipe has this version.
    #[error("no recipe for {dbms} {version}\nhint: {near}; or use an installed one with path:DIR")]
    Version {
        /// The dbms.
        dbms: Dbms,
        /// What was asked for.
        version: String,
        /// The nearest versions, as a clause.
        near: String,
    },
    /// The version exists, but not from this provider.
    #[error("no recipe for {dbms} {version} from provider {provider:?}\nhint: {near}")]
    Provider {
        /// The dbms.
        dbms: Dbms,
        /// The version.
        version: String,
        /// What was asked for.
        provider: String,
        /// What there is, as a clause.
        near: String,
    },
    /// An embedded recipe file is broken.
    #[error("cannot read {file}: {reason}\nhint: this is a mistake in basecase itself; please report it")]
    Data {
        /// The file.
        file: String,
        /// What the parser says.
        reason: String,
    },
}

/// How an artifact becomes a tree.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpack {
    /// The outer archive's form: `zip`.
    pub outer: String,
    /// Which member of the outer archive holds the tree; one `*` stands for anything.
    pub member: String,
    /// The member's own form: `tar.gz` or `tar.xz`.
    pub inner: String,
    /// How many leading folders the tree loses.
    pub strip: u32,
}

/// Who offers builds, and how they are fetched.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The word for it: `pypi`, `maven`.
    pub name: String,
    /// The program that downloads: `pip`, `mvn`.
    pub client: String,
    /// Where its builds run, e.g. `linux-x86_64`.
    pub platform: String,
    /// How its artifacts are unpacked.
    pub unpack: Unpack,
}

/// How to get one build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// The dbms.
    pub dbms: Dbms,
    /// The version that the running server must report.
    pub version: Version,
    /// Who offers it.
    pub provider: Provider,
    /// The artifact in the provider's own coordinates.
    pub artifact: String,
    /// SHA-256 of the artifact, hexadecimal.
    pub sha256: String,
    /// Compiler, e.g. `gcc 12.2.0`.
    pub compiler: String,
    /// The optimisation flag, e.g. `-O2`.
    pub flags: String,
}

impl Recipe {
    /// What two recipes must share for their results to differ by version alone.
    pub fn toolchain(&self) -> String {
        format!("{} {}", self.compiler, self.flags)
    }

    /// The name of its folder among the builds, e.g. `postgres-17.11-pypi`.
    pub fn folder(&self) -> String {
        format!("{}-{}-{}", self.dbms, self.version, self.provider.name)
    }

    fn is_comparable_with(&self, other: &Recipe) -> bool {
        self.provider.name == other.provider.name && self.toolchain() == other.toolchain()
    }
}

/// What a user asks for: `postgres:17.11`, `postgres:17.x`, `postgres:17.11:maven` or `path:/opt/pg`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildRequest {
    /// A build by version.
    Version {
        /// The dbms.
        dbms: Dbms,
        /// The version, or a branch with `.x` for its newest version.
        version: String,
        /// The provider, when one is asked for.
        provider: Option<String>,
    },
    /// An installed Postgres: its prefix or its folder of programs.
    Path(PathBuf),
}

impl FromStr for BuildRequest {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || RecipeError::Form { request: text.to_owned() };
        let (head, rest) = text.split_once(':').unwrap_or((text, ""));
        if head == "path" {
            return if rest.is_empty() { Err(form()) } else { Ok(BuildRequest::Path(PathBuf::from(rest))) };
        }
        let dbms = head.parse::<Dbms>().map_err(|()| RecipeError::Dbms {
            name: head.to_owned(),
            known: Dbms::ALL.map(Dbms::as_str).join(", "),
        })?;
        if dbms == Dbms::Sqlite {
            return Err(RecipeError::Bundled { dbms });
        }
        let (version, provider) = match rest.split_once(':') {
            Some((version, provider)) => (version, Some(provider.to_owned())),
            None => (rest, None),
        };
        if version.is_empty() || provider.as_deref().is_some_and(|name| name.is_empty() || name.contains(':'))
        {
            return Err(form());
        }
        Ok(BuildRequest::Version { dbms, version: version.to_owned(), provider })
    }
}

impl std::fmt::Display for BuildRequest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildRequest::Version { dbms, version, provider: None } => write!(formatter, "{dbms}:{version}"),
            BuildRequest::Version { dbms, version, provider: Some(provider) } => {
                write!(formatter, "{dbms}:{version}:{provider}")
            }
            BuildRequest::Path(path) => write!(formatter, "path:{}", path.display()),
        }
    }
}

/// Where one requested build comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What the user asked for.
    pub request: BuildRequest,
    /// The recipe; `None` for an installed build.
    pub recipe: Option<Recipe>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeFile {
    provider: Vec<Provider>,
    recipe: Vec<RecipeLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeLine {
    version: String,
    provider: String,
    artifact: String,
    sha256: String,
    compiler: String,
    flags: String,
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
    /// When an embedded file is broken, which a test rules out.
    pub fn embedded() -> Result<Self, RecipeError> {
        let mut recipes = Vec::new();
        for file in RECIPES.files().filter(|file| file.path().extension().is_some_and(|ext| ext == "toml")) {
            let name = file.path().display().to_string();
            let broken = |reason: String| RecipeError::Data { file: format!("recipes/{name}"), reason };
            let stem = file.path().file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let dbms = stem.parse::<Dbms>().map_err(|()| broken(format!("unknown dbms {stem:?}")))?;
            let text = file.contents_utf8().ok_or_else(|| broken("it is not UTF-8".into()))?;
            let data: RecipeFile = toml::from_str(text).map_err(|error| broken(error.to_string()))?;
            for line in data.recipe {
                let provider = data.provider.iter().find(|provider| provider.name == line.provider);
                recipes.push(Recipe {
                    dbms,
                    version: line
                        .version
                        .parse()
                        .map_err(|()| broken(format!("bad version {:?}", line.version)))?,
                    provider: provider
                        .cloned()
                        .ok_or_else(|| broken(format!("unknown provider {:?}", line.provider)))?,
                    artifact: line.artifact,
                    sha256: line.sha256,
                    compiler: line.compiler,
                    flags: line.flags,
                });
            }
        }
        Ok(Catalogue { recipes })
    }

    /// Every recipe.
    pub fn recipes(&self) -> &[Recipe] {
        &self.recipes
    }

    /// Finds a recipe for each request. Requests are resolved together: where one provider has all of them with one
    /// toolchain, all come from it, so that results differ by version alone; else each comes from its first provider.
    ///
    /// # Errors
    /// When a version or a provider is not known; the message names what is near.
    pub fn resolve(&self, requests: &[BuildRequest]) -> Result<Vec<Source>, RecipeError> {
        let offers: Vec<Vec<&Recipe>> =
            requests.iter().map(|request| self.offers(request)).collect::<Result<_, _>>()?;
        let asked: Vec<&Vec<&Recipe>> = offers.iter().filter(|offer| !offer.is_empty()).collect();
        let common = self
            .recipes
            .iter()
            .find(|one| asked.iter().all(|offer| offer.iter().any(|recipe| recipe.is_comparable_with(one))));
        let choose = |offer: &Vec<&Recipe>| {
            let same = offer.iter().find(|recipe| common.is_some_and(|one| recipe.is_comparable_with(one)));
            same.or(offer.first()).map(|recipe| (*recipe).clone())
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
                let of_provider =
                    |recipe: &&&Recipe| provider.as_ref().is_none_or(|name| *name == recipe.provider.name);
                let newest = known.iter().filter(of_provider).map(|recipe| &recipe.version);
                newest.filter(|version| version.is_of(&branch)).max().cloned().ok_or_else(unknown)?
            }
            None => version.parse::<Version>().map_err(|()| unknown())?,
        };
        let same: Vec<&Recipe> = known.iter().copied().filter(|recipe| recipe.version == wanted).collect();
        if same.is_empty() {
            return Err(unknown());
        }
        let Some(name) = provider else { return Ok(same) };
        let of_provider: Vec<&Recipe> =
            same.iter().copied().filter(|recipe| recipe.provider.name == *name).collect();
        if of_provider.is_empty() {
            let there: Vec<String> =
                same.iter().map(|recipe| format!("{dbms}:{wanted}:{}", recipe.provider.name)).collect();
            return Err(RecipeError::Provider {
                dbms: *dbms,
                version: wanted.to_string(),
                provider: name.clone(),
                near: format!("this version comes as {}", alternatives(&there)),
            });
        }
        Ok(of_provider)
    }
}

fn near_versions(wanted: &str, known: &[&Recipe]) -> String {
    let mut versions: Vec<&Version> = known.iter().map(|recipe| &recipe.version).collect();
    versions.sort();
    versions.dedup();
    // Whoever mistypes a minor version knows the major one, so all of that branch are near.
    let branch = wanted.trim_end_matches(".x").parse::<Version>().map(|version| version.major());
    let same: Vec<String> = versions
        .iter()
        .filter(|version| branch.as_ref().is_ok_and(|branch| version.is_of(branch)))
        .map(ToString::to_string)
        .collect();
    if !same.is_empty() {
        return format!("there are {}", same.join(", "));
    }
    let texts: Vec<String> = versions.iter().map(ToString::to_string).collect();
    let near = nearest(wanted, texts.iter().map(String::as_str));
    if near.is_empty() {
        format!("there are {}", texts.join(", "))
    } else {
        format!("near are {}", near.join(", "))
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
        assert_eq!(catalogue.recipes().len(), 35);
        for recipe in catalogue.recipes() {
            assert_eq!(recipe.sha256.len(), 64, "{recipe:?}");
            assert!(recipe.artifact.contains(&recipe.version.to_string()), "{recipe:?}");
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
        // 14.0 has its compiler with 15.1 alone: nothing is common, so each comes from its first provider.
        assert_eq!(
            resolved(&["postgres:14.0", "postgres:18.6", "path:/opt/pg"]).unwrap(),
            ["postgres-14.0-maven", "postgres-18.6-pypi", "path"]
        );
    }

    #[test]
    fn a_branch_means_its_newest_version() {
        assert_eq!(resolved(&["postgres:17.x"]).unwrap(), ["postgres-17.11-pypi"]);
        assert_eq!(resolved(&["postgres:9.6.x"]).unwrap(), ["postgres-9.6.24-maven"]);
    }

    #[test]
    fn mistakes_name_what_is_near() {
        let message = resolved(&["postgres:17.12"]).unwrap_err().to_string();
        assert!(message.contains("hint: there are 17.0, 17.5, 17.6, 17.9, 17.10, 17.11"), "{message}");
        let message = resolved(&["postgres:17"]).unwrap_err().to_string();
        assert!(message.contains("17.11"), "{message}");
        let message = resolved(&["postgres:17.6:pypi"]).unwrap_err().to_string();
        assert!(message.contains("postgres:17.6:maven"), "{message}");
        assert!(resolved(&["postgre:17.6"]).unwrap_err().to_string().contains("postgres, sqlite"));
        assert!(matches!(resolved(&["sqlite"]), Err(RecipeError::Bundled { .. })));
        for form in ["postgres", "postgres:", "path:", "postgres:17.6:", "postgres:1:2:3"] {
            assert!(matches!(resolved(&[form]), Err(RecipeError::Form { .. })), "{form}");
        }
    }

    #[test]
    fn requests_print_as_they_were_written() {
        for text in ["postgres:17.11", "postgres:17.x:maven", "path:/opt/pg"] {
            assert_eq!(text.parse::<BuildRequest>().unwrap().to_string(), text);
        }
    }
}
