//! The numbered migrations. A file's number is its `user_version`; a released file is never changed, only followed by another.

use std::path::Path;

use rusqlite::Connection;

use crate::log::Error;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_log.sql"),
    include_str!("migrations/0002_feed.sql"),
    include_str!("migrations/0003_snapshots.sql"),
    include_str!("migrations/0004_journal.sql"),
    include_str!("migrations/0005_agents.sql"),
    include_str!("migrations/0006_documents.sql"),
];

/// Brings a database to the newest schema, or refuses one that is newer still before anything in it is touched.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let version = connection
        .pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
        .map_err(|cause| Error::open(path, cause))?;
    let found = version.max(0).unsigned_abs();
    let known = MIGRATIONS.len() as u64;
    if found > known {
        return Err(Error::NewerSchema { found, known, path: path.to_owned() });
    }
    for (number, sql) in (1_u64..).zip(MIGRATIONS).filter(|(number, _)| *number > found) {
        apply(connection, number, sql).map_err(|cause| Error::open(path, cause))?;
    }
    Ok(())
}

/// Writes to the database without changing anything in it.
pub(super) fn touch(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", super::int(MIGRATIONS.len() as u64))
}

fn apply(connection: &mut Connection, number: u64, sql: &str) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(sql)?;
    transaction.pragma_update(None, "user_version", super::int(number))?;
    transaction.commit()
}
