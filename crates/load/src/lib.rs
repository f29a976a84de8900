//! Runs one step: roles on sessions, pacing, stopping, recording
