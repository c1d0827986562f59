-- A definition bundle is kept once, however many runs are pinned to it.
CREATE TABLE definitions (
    digest TEXT NOT NULL PRIMARY KEY,
    text   TEXT NOT NULL
) STRICT;

-- What never changes about a run. The opening may be long: kept apart, it is not written again with every move.
CREATE TABLE runs (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL REFERENCES definitions (digest),
    opened_at  INTEGER NOT NULL,
    opening    TEXT NOT NULL
) STRICT;

-- Where a run is: the fold of its records, and what lists show of it.
CREATE TABLE positions (
    run        INTEGER PRIMARY KEY REFERENCES runs (number),
    seq        INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    status     TEXT NOT NULL,
    result     TEXT,
    step       TEXT NOT NULL,
    snapshot   TEXT NOT NULL
) STRICT;

CREATE INDEX positions_by_time ON positions (updated_at);
CREATE INDEX open_positions_by_time ON positions (updated_at) WHERE status <> 'ended';

-- The journal. Clustered by run, because it is read run by run.
CREATE TABLE records (
    run     INTEGER NOT NULL REFERENCES runs (number),
    seq     INTEGER NOT NULL,
    event   TEXT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
