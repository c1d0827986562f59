-- A run as one of its records left it, so that not all of them need be read. Not written with every record: a run that
-- remembers much would then be written over and over. Kept apart from where the run is, which is.
CREATE TABLE snapshots (
    run  INTEGER PRIMARY KEY REFERENCES runs (number),
    seq  INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;

INSERT INTO snapshots (run, seq, text) SELECT run, seq, snapshot FROM positions;

ALTER TABLE positions DROP COLUMN snapshot;
