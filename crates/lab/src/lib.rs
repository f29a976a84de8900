//! Experiments: plan, run trials, resume
