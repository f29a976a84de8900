//! The life of a dbms: builds, configs, start, settle, stop
