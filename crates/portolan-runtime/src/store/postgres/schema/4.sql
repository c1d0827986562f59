-- The lists that all machines of a project share. They only grow. The numbers of a list have no gaps, and become visible
-- in their order.
CREATE TABLE shared_entries (
    list   TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    id     TEXT COLLATE "C" NOT NULL,
    key    TEXT COLLATE "C" NOT NULL,
    text   TEXT NOT NULL,
    PRIMARY KEY (list, number),
    UNIQUE (list, id)
);

CREATE INDEX shared_entries_by_key ON shared_entries (list, key, number);
