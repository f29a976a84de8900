//! Values that differ between dbms.

use super::mistake::Mistake;
use super::reader::Value;
use crate::Dialect;

/// One value for each dialect.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spelling<T> {
    postgres: T,
    mysql: T,
    sqlite: T,
}

impl<T: Clone> Spelling<T> {
    /// The same value for all.
    pub(crate) fn same(value: T) -> Self {
        Spelling { postgres: value.clone(), mysql: value.clone(), sqlite: value }
    }

    pub(crate) fn of(&self, dialect: Dialect) -> &T {
        match dialect {
            Dialect::Postgres => &self.postgres,
            Dialect::Mysql(_) => &self.mysql,
            Dialect::Sqlite => &self.sqlite,
        }
    }

    pub(crate) fn all(&self) -> [&T; 3] {
        let Spelling { postgres, mysql, sqlite } = self;
        [postgres, mysql, sqlite]
    }

    /// One value, or a table of them with the keys `postgres`, `mysql`, `sqlite` and `other`.
    pub(crate) fn read<'a>(
        value: &Value<'a>,
        read: impl Fn(&Value<'a>) -> Result<T, Mistake>,
    ) -> Result<Self, Mistake> {
        if !value.is_table() {
            return read(value).map(Self::same);
        }
        let fields = value.fields()?;
        let other = fields.optional("other", &read)?;
        let pick = |key: &'static str| {
            fields.optional(key, &read)?.or_else(|| other.clone()).ok_or_else(|| {
                Mistake::new(value.at(), format!("there is no value for {key}"))
                    .with_hint(format!("add `{key}`, or `other` for every dialect that is not named"))
            })
        };
        let spelling =
            Spelling { postgres: pick("postgres")?, mysql: pick("mysql")?, sqlite: pick("sqlite")? };
        fields.finish()?;
        Ok(spelling)
    }
}
