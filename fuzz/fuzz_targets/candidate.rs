#![no_main]

basecase_fuzz::target!(candidate, basecase_fuzz::lines::mutate, basecase_fuzz::candidate::file);
