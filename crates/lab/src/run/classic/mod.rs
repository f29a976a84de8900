//! Each candidate once, from start to end.

pub(crate) mod forecast;
