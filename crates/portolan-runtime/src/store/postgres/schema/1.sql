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

CREATE FUNCTION create_run(
    new_id TEXT, new_definition TEXT, definition_text BYTEA, opened_at BIGINT, opening TEXT, cover TEXT,
    stamp BIGINT, events TEXT[], changes TEXT[],
    updated_at BIGINT, status TEXT, result TEXT, step TEXT, snapshot TEXT
) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    new_number BIGINT;
    last_seq BIGINT := cardinality(events);
BEGIN
    INSERT INTO definitions VALUES (new_definition, definition_text) ON CONFLICT DO NOTHING;
    INSERT INTO runs (id, definition, opened_at, opening, cover)
        VALUES (new_id, new_definition, opened_at, opening, cover)
        ON CONFLICT DO NOTHING RETURNING number INTO new_number;
    IF new_number IS NULL THEN
        RETURN EXISTS (
            SELECT FROM records c JOIN runs r ON r.number = c.run WHERE r.id = new_id AND c.seq = 1 AND c.stamp = create_run.stamp
        );
    END IF;
    INSERT INTO records SELECT new_number, place, stamp, event, change
        FROM unnest(events, changes) WITH ORDINALITY AS new (event, change, place);
    INSERT INTO positions VALUES (new_number, last_seq, updated_at, status, result, step);
    INSERT INTO snapshots VALUES (new_number, last_seq, snapshot);
    RETURN TRUE;
END $$;

-- Appends records of any number of runs, each if its run is where its writer supposes, and returns for each what became
-- of it. Runs are locked in one order, so that two calls do not wait for each other.
CREATE FUNCTION append_records(
    ids TEXT[], seqs BIGINT[], stamps BIGINT[], ats BIGINT[], statuses TEXT[], results TEXT[], steps TEXT[],
    events TEXT[], changes TEXT[], snapshots TEXT[], sealed BOOLEAN[], fences BIGINT[]
) RETURNS TABLE (place BIGINT, outcome TEXT, actual BIGINT) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    new RECORD;
    known RECORD;
BEGIN
    FOR new IN
        SELECT * FROM unnest(ids, seqs, stamps, ats, statuses, results, steps, events, changes, snapshots, sealed, fences)
            WITH ORDINALITY
            AS t (id, seq, stamp, at, status, result, step, event, change, snapshot, is_sealed, fence, place)
        ORDER BY t.id COLLATE "C", t.place
    LOOP
        place := new.place;
        actual := NULL;
        SELECT r.number, p.seq, r.cover IS NOT NULL AS is_sealed INTO known
            FROM runs r JOIN positions p ON p.run = r.number WHERE r.id = new.id FOR UPDATE OF p;
        IF NOT FOUND THEN
            outcome := 'unknown';
        ELSIF known.seq >= new.seq AND EXISTS (
            SELECT FROM records c WHERE c.run = known.number AND c.seq = new.seq AND c.stamp = new.stamp
        ) THEN
            outcome := 'done';
        ELSIF known.seq <> new.seq - 1 THEN
            outcome := 'conflict';
            actual := known.seq;
        ELSIF known.is_sealed <> new.is_sealed THEN
            outcome := CASE WHEN known.is_sealed THEN 'sealed' ELSE 'open' END;
        ELSIF new.fence IS NOT NULL AND NOT EXISTS (
            SELECT FROM leases l WHERE l.run = known.number AND l.fence = new.fence FOR SHARE
        ) THEN
            outcome := 'fenced';
        ELSE
            outcome := 'done';
            INSERT INTO records VALUES (known.number, new.seq, new.stamp, new.event, new.change);
            UPDATE positions p SET seq = new.seq, updated_at = new.at, status = new.status, result = new.result,
                step = new.step WHERE p.run = known.number;
            IF new.snapshot IS NOT NULL THEN
                INSERT INTO snapshots AS s VALUES (known.number, new.seq, new.snapshot)
                    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, text = excluded.text;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
