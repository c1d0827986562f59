-- The time from which workers may drive a run. Of runs that an earlier release moved last, it is not known.
ALTER TABLE positions ADD COLUMN due BIGINT;

CREATE INDEX due_positions ON positions (due) WHERE due IS NOT NULL;

-- Both functions store that time, and notify listeners on the channel that is named like the schema.
DROP FUNCTION create_run;
DROP FUNCTION append_records;

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
    INSERT INTO positions VALUES (new_number, last_seq, updated_at, status, result, step, NULL);
    INSERT INTO snapshots VALUES (new_number, last_seq, snapshot);
    PERFORM pg_notify(current_schema(), '');
    RETURN TRUE;
END $$;

-- Appends records of any number of runs, each if its run is where its writer supposes, and returns for each what became
-- of it. Runs are locked in one order, so that two calls do not wait for each other.
CREATE FUNCTION append_records(
    ids TEXT[], seqs BIGINT[], stamps BIGINT[], ats BIGINT[], statuses TEXT[], results TEXT[], steps TEXT[],
    events TEXT[], changes TEXT[], snapshots TEXT[], sealed BOOLEAN[], fences BIGINT[],
    dues BIGINT[]
) RETURNS TABLE (place BIGINT, outcome TEXT, actual BIGINT) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    new RECORD;
    known RECORD;
    is_news BOOLEAN := FALSE;
BEGIN
    FOR new IN
        SELECT * FROM unnest(ids, seqs, stamps, ats, statuses, results, steps, events, changes, snapshots, sealed, fences, dues)
            WITH ORDINALITY
            AS t (id, seq, stamp, at, status, result, step, event, change, snapshot, is_sealed, fence, due, place)
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
            is_news := TRUE;
            INSERT INTO records VALUES (known.number, new.seq, new.stamp, new.event, new.change);
            UPDATE positions p SET seq = new.seq, updated_at = new.at, status = new.status, result = new.result,
                step = new.step, due = new.due WHERE p.run = known.number;
            IF new.snapshot IS NOT NULL THEN
                INSERT INTO snapshots AS s VALUES (known.number, new.seq, new.snapshot)
                    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, text = excluded.text;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF is_news THEN
        PERFORM pg_notify(current_schema(), '');
    END IF;
END $$;
