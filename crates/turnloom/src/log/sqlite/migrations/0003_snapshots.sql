-- What folds made of logs, so that nobody has to fold a long one from its beginning. All of it can be made again, and none of it is believed when it
-- does not fit.
CREATE TABLE snapshot (
    session  INTEGER NOT NULL,
    kind     TEXT    NOT NULL,
    part     INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    bytes    BLOB    NOT NULL,
    UNIQUE (session, kind, part)
) STRICT;
