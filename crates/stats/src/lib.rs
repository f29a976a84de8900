//! Estimators over plain numbers
