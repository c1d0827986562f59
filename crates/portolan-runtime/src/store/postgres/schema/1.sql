-- A definition bundle is kept once, however many runs are pinned to it. Its text is UTF-8.
CREATE TABLE definitions (
    digest TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    text   BYTEA NOT NULL
);

-- What never changes about a run. With a cover, all its other texts are sealed.
CREATE TABLE runs (
    number     BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         TEXT COLLATE "C" NOT NULL UNIQUE,
    definition TEXT COLLATE "C" NOT NULL REFERENCES definitions (digest),
    opened_at  BIGINT NOT NULL,
    opening    TEXT NOT NULL,
    cover      TEXT
);

-- Where a run is, and what lists show of it. The result and the step are JSON: a plain text has no zero byte here.
CREATE TABLE positions (
    run        BIGINT PRIMARY KEY REFERENCES runs (number),
    seq        BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    status     TEXT NOT NULL,
    result     TEXT,
    step       TEXT NOT NULL
);

CREATE INDEX positions_by_time ON positions (updated_at DESC, run DESC);
CREATE INDEX open_positions_by_time ON positions (updated_at DESC, run DESC) WHERE status <> 'ended';

-- The journal. The stamp is a random number of the request: a writer that lost its connection finds by it whether its
-- record was stored.
CREATE TABLE records (
    run     BIGINT NOT NULL REFERENCES runs (number),
    seq     BIGINT NOT NULL,
    stamp   BIGINT NOT NULL,
    event   TEXT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (run, seq)
);

-- A run as one of its records left it, so that not all of them need be read.
CREATE TABLE snapshots (
    run  BIGINT PRIMARY KEY REFERENCES runs (number),
    seq  BIGINT NOT NULL,
    text TEXT NOT NULL
);

-- Who drives a run, and until when by the clock of this server. The fence grows with every holder: whoever quotes an
-- earlier one writes nothing.
CREATE TABLE leases (
    run    BIGINT PRIMARY KEY REFERENCES runs (number),
    holder TEXT NOT NULL,
    until  TIMESTAMPTZ NOT NULL,
    fence  BIGINT NOT NULL
);
