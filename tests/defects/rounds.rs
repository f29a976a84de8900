//! Rounds in which a candidate or its helpers misbehave.
