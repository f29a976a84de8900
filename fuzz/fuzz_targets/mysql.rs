#![no_main]

basecase_fuzz::target!(mysql, basecase_fuzz::frames::mutate, &basecase_fuzz::mysql::PROTOCOL);
