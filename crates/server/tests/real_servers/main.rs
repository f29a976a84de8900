//! Builds are really obtained, and their servers really run. One binary, so that tests which wait have others beside them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and so may its helpers")]

mod configs;
mod directory;
mod holder;
mod mysql_configs;
mod mysql_served;
mod mysql_servers;
mod obtain;
mod servers;
mod source;
