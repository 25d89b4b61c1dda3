-- Every commit in the order of commits. The rows of a session that is gone mean nothing and are removed at the next start.
CREATE TABLE feed (
    position INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL,
    after    INTEGER NOT NULL,
    head     INTEGER NOT NULL,
    -- The name of a session that this commit removed.
    removed  TEXT
) STRICT;

CREATE INDEX feed_removed ON feed (position) WHERE removed IS NOT NULL;

-- Keys are not given twice, because the feed may still name a session that is gone.
CREATE TABLE last_key (key INTEGER NOT NULL) STRICT;

INSERT INTO last_key SELECT coalesce(max(key), 0) FROM session;
INSERT INTO feed (session, after, head) SELECT key, 0, head FROM session WHERE archived < 2 ORDER BY updated_at, key;
