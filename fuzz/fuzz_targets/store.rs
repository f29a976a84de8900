#![no_main]

basecase_fuzz::target!(store, basecase_fuzz::lines::mutate, basecase_fuzz::store::file);
