-- Short pieces of load that alternated between candidates.
CREATE TABLE slice (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    pass INTEGER NOT NULL,
    position INTEGER NOT NULL,
    opened_us INTEGER NOT NULL,
    length_us REAL NOT NULL,
    operations INTEGER NOT NULL,
    rate REAL NOT NULL,
    warm_up_operations INTEGER NOT NULL,
    server_cpu_us REAL,
    PRIMARY KEY (trial, number)
) STRICT, WITHOUT ROWID;
