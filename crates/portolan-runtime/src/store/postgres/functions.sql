-- The functions of this release. None notifies anybody: the server commits transactions with a notification one after
-- another, each with a wait for the disk, so that the writers of all machines would wait for one another.
DROP FUNCTION IF EXISTS create_run;
DROP FUNCTION IF EXISTS append_records;
DROP FUNCTION IF EXISTS append_record;
DROP FUNCTION IF EXISTS append_shared;

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
    RETURN TRUE;
END $$;

-- Appends a record if its run is where the writer supposes, and returns what became of it.
CREATE FUNCTION append_record(
    id TEXT, seq BIGINT, stamp BIGINT, at BIGINT, status TEXT, result TEXT, step TEXT, event TEXT, changes TEXT,
    snapshot TEXT, sealed BOOLEAN, fence BIGINT, due BIGINT,
    OUT outcome TEXT, OUT actual BIGINT
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    number BIGINT;
    is_sealed BOOLEAN;
    is_held BOOLEAN := TRUE;
    last BIGINT;
BEGIN
    SELECT r.number, r.cover IS NOT NULL INTO number, is_sealed FROM runs r WHERE r.id = id;
    IF NOT FOUND THEN
        outcome := 'unknown';
        RETURN;
    ELSIF is_sealed <> sealed THEN
        outcome := CASE WHEN is_sealed THEN 'sealed' ELSE 'open' END;
        RETURN;
    END IF;
    IF fence IS NOT NULL THEN
        -- In the order of those who take leases, so that neither waits for the other.
        PERFORM FROM positions p WHERE p.run = number FOR UPDATE;
        is_held := EXISTS (SELECT FROM leases l WHERE l.run = number AND l.fence = fence FOR SHARE);
    END IF;
    UPDATE positions p SET seq = seq, updated_at = at, status = status, result = result, step = step, due = due
        WHERE p.run = number AND p.seq = seq - 1 AND is_held;
    IF FOUND THEN
        outcome := 'done';
        INSERT INTO records VALUES (number, seq, stamp, event, changes);
        IF snapshot IS NOT NULL THEN
            INSERT INTO snapshots AS s VALUES (number, seq, snapshot)
                ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, text = excluded.text;
        END IF;
        RETURN;
    END IF;
    SELECT p.seq INTO last FROM positions p WHERE p.run = number;
    IF EXISTS (SELECT FROM records c WHERE c.run = number AND c.seq = seq AND c.stamp = stamp) THEN
        outcome := 'done';
    ELSIF last = seq - 1 THEN
        outcome := 'fenced';
    ELSE
        outcome := 'conflict';
        actual := last;
    END IF;
END $$;

-- Appends entries to a shared list, but those whose identity it has. Writers wait for one another until the commit, so that
-- whoever reads a number has all smaller ones. Readers do not wait.
CREATE FUNCTION append_shared(of_list TEXT, ids TEXT[], keys TEXT[], texts TEXT[]) RETURNS VOID LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    last BIGINT;
BEGIN
    LOCK TABLE shared_entries IN SHARE ROW EXCLUSIVE MODE;
    SELECT coalesce(max(e.number), 0) INTO last FROM shared_entries e WHERE e.list = of_list;
    FOR i IN 1 .. cardinality(ids) LOOP
        IF NOT EXISTS (SELECT FROM shared_entries e WHERE e.list = of_list AND e.id = ids[i]) THEN
            last := last + 1;
            INSERT INTO shared_entries VALUES (of_list, last, ids[i], keys[i], texts[i]);
        END IF;
    END LOOP;
END $$;
