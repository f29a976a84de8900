CREATE TABLE experiment (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    facts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cell (
    key TEXT NOT NULL PRIMARY KEY,
    facts TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE experiment_cell (
    experiment TEXT NOT NULL REFERENCES experiment (id),
    cell TEXT NOT NULL REFERENCES cell (key),
    candidate TEXT NOT NULL,
    PRIMARY KEY (experiment, cell)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
    id TEXT NOT NULL PRIMARY KEY,
    experiment TEXT NOT NULL REFERENCES experiment (id),
    cell TEXT NOT NULL REFERENCES cell (key),
    step TEXT NOT NULL,
    candidate TEXT NOT NULL,
    round INTEGER NOT NULL,
    pass INTEGER NOT NULL,
    position INTEGER NOT NULL,
    placement TEXT NOT NULL,
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('complete', 'failed')),
    reason TEXT,
    log_tail TEXT,
    protocol_revision INTEGER NOT NULL,
    warnings TEXT NOT NULL,
    CHECK ((status = 'failed') = (reason IS NOT NULL AND log_tail IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX trial_of_cell ON trial (cell, round);

CREATE TABLE role (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    client INTEGER NOT NULL,
    role TEXT NOT NULL,
    class TEXT NOT NULL,
    statements INTEGER NOT NULL,
    items INTEGER NOT NULL,
    affected INTEGER NOT NULL,
    fetched INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    mismatches INTEGER NOT NULL,
    started_us INTEGER NOT NULL,
    ended_us INTEGER NOT NULL,
    client_cpu_us REAL NOT NULL,
    server_cpu_us REAL,
    asides TEXT NOT NULL,
    interval_ms INTEGER NOT NULL,
    samples BLOB NOT NULL,
    service BLOB NOT NULL,
    response BLOB,
    PRIMARY KEY (trial, number)
) STRICT;

CREATE TABLE measure (
    trial TEXT NOT NULL REFERENCES trial (id),
    kind TEXT NOT NULL CHECK (kind IN ('counter', 'gauge')),
    name TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (trial, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE table_state (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    rows INTEGER,
    min_id INTEGER,
    max_id INTEGER,
    last_value INTEGER,
    PRIMARY KEY (trial, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE comparison (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    expected TEXT NOT NULL,
    actual TEXT NOT NULL,
    passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
    PRIMARY KEY (trial, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE in_flight (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    experiment TEXT NOT NULL REFERENCES experiment (id),
    cell TEXT NOT NULL,
    step TEXT NOT NULL,
    candidate TEXT NOT NULL,
    round INTEGER NOT NULL,
    pass INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT;
