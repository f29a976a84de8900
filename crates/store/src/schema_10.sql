-- All counters and levels of the server before and after a trial: JSON, compressed with zlib.
CREATE TABLE server_reading (
    trial TEXT NOT NULL REFERENCES trial (id),
    moment TEXT NOT NULL CHECK (moment IN ('start', 'end')),
    measures BLOB NOT NULL,
    PRIMARY KEY (trial, moment)
) STRICT, WITHOUT ROWID;
