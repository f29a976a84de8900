//! Tables, charts and pages out of finished trials
