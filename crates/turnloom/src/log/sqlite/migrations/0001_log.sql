CREATE TABLE session (
    key        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    runtime    TEXT    NOT NULL,
    params     TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    head       INTEGER NOT NULL,
    -- Of the summary, what lists filter on.
    status     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    archived   INTEGER NOT NULL,
    at_rest    INTEGER NOT NULL,
    asks       INTEGER NOT NULL,
    summary    TEXT    NOT NULL
) STRICT;

CREATE INDEX session_by_activity ON session (archived, updated_at, key);
CREATE INDEX session_unsettled ON session (key) WHERE at_rest = 0;
CREATE INDEX session_waiting ON session (key) WHERE asks > 0;

-- No foreign key: each insert would look for a row that the same transaction has just updated.
CREATE TABLE event (
    session INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    key        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    media_type TEXT    NOT NULL,
    content    BLOB    NOT NULL
) STRICT;

CREATE TABLE blob_ref (
    session INTEGER NOT NULL REFERENCES session (key),
    blob    INTEGER NOT NULL REFERENCES blob (key),
    PRIMARY KEY (session, blob)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_ref_by_blob ON blob_ref (blob);
