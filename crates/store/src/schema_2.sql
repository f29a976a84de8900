-- Events of transactions, and kinds of statements that are counted apart.
ALTER TABLE role ADD COLUMN events INTEGER NOT NULL DEFAULT 0;
UPDATE role SET events = statements;

CREATE TABLE statement (
    trial TEXT NOT NULL REFERENCES trial (id),
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    class TEXT NOT NULL CHECK (class IN ('read', 'write', 'other')),
    phase TEXT NOT NULL CHECK (phase IN ('window', 'warm_up')),
    executed INTEGER NOT NULL,
    without_effect INTEGER NOT NULL,
    affected INTEGER NOT NULL,
    undone INTEGER NOT NULL,
    fetched INTEGER NOT NULL,
    mismatches INTEGER NOT NULL,
    PRIMARY KEY (trial, number, phase)
) STRICT, WITHOUT ROWID;
