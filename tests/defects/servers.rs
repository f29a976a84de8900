//! What is read of servers and machines.
