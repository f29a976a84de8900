-- Instructions per operation: a step on one candidate in one start of its server. `counts` is compressed JSON.
CREATE TABLE step_count (
    cell TEXT NOT NULL REFERENCES cell (key),
    experiment TEXT NOT NULL REFERENCES experiment (id),
    start INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('complete', 'failed')),
    counts BLOB NOT NULL,
    PRIMARY KEY (cell, start, started_at)
) STRICT, WITHOUT ROWID;
