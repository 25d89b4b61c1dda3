-- Events in the order of commits. When many sessions write at once, each to a page of its own, a commit would write as many pages; so small appends of a
-- large group gather here, on a few pages, and are moved to `event` later, many of a session at a time. An event stands in one of the two.
CREATE TABLE journal (
    position INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    body     TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX journal_by_session ON journal (session, seq);
