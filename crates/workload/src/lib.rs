//! What to execute: schemas, statements, roles and steps, deterministic from a seed
