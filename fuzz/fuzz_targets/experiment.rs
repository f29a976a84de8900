#![no_main]

basecase_fuzz::target!(experiment, basecase_fuzz::lines::mutate, basecase_fuzz::experiment::file);
