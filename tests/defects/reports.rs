//! What reaches people and pipelines: exit codes, tables, texts.
