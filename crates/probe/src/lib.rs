//! Reads the machine: CPU, context switches, block devices, process trees
