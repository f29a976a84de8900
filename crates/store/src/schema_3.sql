-- What was seen while a step ran: numbers over time, the plans of its statements, the stacks of the server.
ALTER TABLE trial ADD COLUMN observation TEXT NOT NULL DEFAULT 'off'
    CHECK (observation IN ('off', 'usual', 'profiled'));

CREATE TABLE track (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('rate', 'level')),
    interval_ms INTEGER NOT NULL,
    numbers BLOB NOT NULL,
    PRIMARY KEY (trial, number)
) STRICT;

CREATE TABLE plan (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    statement TEXT NOT NULL,
    sql TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (trial, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE profile (
    trial TEXT NOT NULL REFERENCES trial (id),
    kind TEXT NOT NULL CHECK (kind IN ('cpu', 'offcpu')),
    frequency_hz INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    stacks BLOB NOT NULL,
    modules TEXT NOT NULL,
    PRIMARY KEY (trial, kind)
) STRICT;
