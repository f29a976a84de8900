-- The sessions of a trial. `seed`, from which the history of a session was drawn, has 16 hexadecimal digits: it does not fit a signed integer. `counters` is JSON.
CREATE TABLE session (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    seed TEXT NOT NULL,
    first_pass INTEGER NOT NULL,
    passes INTEGER NOT NULL,
    operations INTEGER NOT NULL,
    counters TEXT NOT NULL,
    PRIMARY KEY (trial, number)
) STRICT, WITHOUT ROWID;
