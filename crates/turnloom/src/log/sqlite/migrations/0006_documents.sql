-- Small records of the daemon that are no session's facts. A kind belongs to one part of the daemon; bodies are JSON.
CREATE TABLE document (
    kind     TEXT    NOT NULL,
    key      TEXT    NOT NULL,
    revision INTEGER NOT NULL,
    body     TEXT    NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- One number for each write, given once.
CREATE TABLE last_revision (revision INTEGER NOT NULL) STRICT;

INSERT INTO last_revision VALUES (0);
