-- The functions of this release. None notifies anybody: the server commits transactions with a notification one after
-- another, each with a wait for the disk, so that the writers of all machines would wait for one another.
DROP FUNCTION IF EXISTS create_run;
DROP FUNCTION IF EXISTS append_records;
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

-- Appends records of any number of runs, each if its run is where its writer supposes, and returns for each what became
-- of it. Callers sort them by run, so that two calls lock runs in one order and do not wait for each other.
CREATE FUNCTION append_records(
    ids TEXT[], seqs BIGINT[], stamps BIGINT[], ats BIGINT[], statuses TEXT[], results TEXT[], steps TEXT[],
    events TEXT[], changes TEXT[], snapshots TEXT[], sealed BOOLEAN[], fences BIGINT[], dues BIGINT[],
    OUT outcomes TEXT[], OUT actuals BIGINT[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    number BIGINT;
    is_sealed BOOLEAN;
    is_held BOOLEAN;
    last BIGINT;
BEGIN
    FOR i IN 1 .. cardinality(ids) LOOP
        actuals[i] := NULL;
        SELECT r.number, r.cover IS NOT NULL INTO number, is_sealed FROM runs r WHERE r.id = ids[i];
        IF NOT FOUND THEN
            outcomes[i] := 'unknown';
            CONTINUE;
        ELSIF is_sealed <> sealed[i] THEN
            outcomes[i] := CASE WHEN is_sealed THEN 'sealed' ELSE 'open' END;
            CONTINUE;
        END IF;
        is_held := TRUE;
        IF fences[i] IS NOT NULL THEN
            -- In the order of those who take leases, so that neither waits for the other.
            PERFORM FROM positions p WHERE p.run = number FOR UPDATE;
            is_held := EXISTS (SELECT FROM leases l WHERE l.run = number AND l.fence = fences[i] FOR SHARE);
        END IF;
        UPDATE positions p SET seq = seqs[i], updated_at = ats[i], status = statuses[i], result = results[i],
            step = steps[i], due = dues[i] WHERE p.run = number AND p.seq = seqs[i] - 1 AND is_held;
        IF FOUND THEN
            outcomes[i] := 'done';
            INSERT INTO records VALUES (number, seqs[i], stamps[i], events[i], changes[i]);
            IF snapshots[i] IS NOT NULL THEN
                INSERT INTO snapshots AS s VALUES (number, seqs[i], snapshots[i])
                    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, text = excluded.text;
            END IF;
            CONTINUE;
        END IF;
        SELECT p.seq INTO last FROM positions p WHERE p.run = number;
        IF EXISTS (SELECT FROM records c WHERE c.run = number AND c.seq = seqs[i] AND c.stamp = stamps[i]) THEN
            outcomes[i] := 'done';
        ELSIF last = seqs[i] - 1 THEN
            outcomes[i] := 'fenced';
        ELSE
            outcomes[i] := 'conflict';
            actuals[i] := last;
        END IF;
    END LOOP;
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
