//! The results file
