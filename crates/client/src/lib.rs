//! How to talk to a dbms: sessions behind one trait
