//! Runs that go on where another one stopped.
