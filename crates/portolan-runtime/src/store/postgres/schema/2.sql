-- The time from which workers may drive a run. Of runs that an earlier release moved last, it is not known.
ALTER TABLE positions ADD COLUMN due BIGINT;

CREATE INDEX due_positions ON positions (due) WHERE due IS NOT NULL;
