-- What may stand readable of the opening of a run that has secrets: all its other texts are sealed. Of the other runs
-- everything is readable, and this is nothing.
ALTER TABLE runs ADD COLUMN cover TEXT;
