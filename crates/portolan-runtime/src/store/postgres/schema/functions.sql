-- The functions of this release. Neither notifies anybody: the server commits transactions with a notification one after
-- another, each with a wait for the disk, so that the writers of all machines would wait for one another.
DROP FUNCTION IF EXISTS create_run;
DROP FUNCTION IF EXISTS append_records;

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
    outcome TEXT;
    number BIGINT;
    last BIGINT;
    is_sealed BOOLEAN;
BEGIN
    FOR i IN 1 .. cardinality(ids) LOOP
        SELECT r.number, p.seq, r.cover IS NOT NULL INTO number, last, is_sealed
            FROM runs r JOIN positions p ON p.run = r.number WHERE r.id = ids[i] FOR UPDATE OF p;
        actuals[i] := NULL;
        IF NOT FOUND THEN
            outcome := 'unknown';
        ELSIF last >= seqs[i] AND EXISTS (
            SELECT FROM records c WHERE c.run = number AND c.seq = seqs[i] AND c.stamp = stamps[i]
        ) THEN
            outcome := 'done';
        ELSIF last <> seqs[i] - 1 THEN
            outcome := 'conflict';
            actuals[i] := last;
        ELSIF is_sealed <> sealed[i] THEN
            outcome := CASE WHEN is_sealed THEN 'sealed' ELSE 'open' END;
        ELSIF fences[i] IS NOT NULL AND NOT EXISTS (
            SELECT FROM leases l WHERE l.run = number AND l.fence = fences[i] FOR SHARE
        ) THEN
            outcome := 'fenced';
        ELSE
            outcome := 'done';
            INSERT INTO records VALUES (number, seqs[i], stamps[i], events[i], changes[i]);
            UPDATE positions p SET seq = seqs[i], updated_at = ats[i], status = statuses[i], result = results[i],
                step = steps[i], due = dues[i] WHERE p.run = number;
            IF snapshots[i] IS NOT NULL THEN
                INSERT INTO snapshots AS s VALUES (number, seqs[i], snapshots[i])
                    ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, text = excluded.text;
            END IF;
        END IF;
        outcomes[i] := outcome;
    END LOOP;
END $$;
