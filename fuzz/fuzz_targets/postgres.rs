#![no_main]

basecase_fuzz::target!(postgres, basecase_fuzz::frames::mutate, &basecase_fuzz::postgres::PROTOCOL);
