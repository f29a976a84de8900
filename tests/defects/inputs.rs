//! Workload files, options, stores and configs that must be refused or bounded.
