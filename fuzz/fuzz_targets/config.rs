#![no_main]

basecase_fuzz::target!(config, basecase_fuzz::lines::mutate, basecase_fuzz::config::file);
