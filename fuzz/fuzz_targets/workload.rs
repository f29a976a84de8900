#![no_main]

basecase_fuzz::target!(workload, basecase_fuzz::lines::mutate, basecase_fuzz::workload::file);
