-- One row for each trial: a trial has dozens of slices and of measures, which are read and merged together. Each slice is 80 bytes.
CREATE TABLE slices (
    trial TEXT NOT NULL PRIMARY KEY REFERENCES trial (id),
    slices BLOB NOT NULL
) STRICT;

-- `counters` and `gauges` are JSON objects: numbers by name.
CREATE TABLE measures (
    trial TEXT NOT NULL PRIMARY KEY REFERENCES trial (id),
    counters TEXT NOT NULL,
    gauges TEXT NOT NULL
) STRICT;
