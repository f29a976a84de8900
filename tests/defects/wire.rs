//! Servers that do not answer, or answer too much.
