//! One question to a SQLite database of somebody else, which stays as it is.

use std::fs;
use std::path::Path;
use std::time::Duration;

use panewire_core::io::{Cell, FailureKind};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, ToSql, params_from_iter};

use crate::answer::Answer;
use crate::limit::Limit;

/// Steps of SQLite's machine between two looks at the clock: well under a millisecond.
const STEPS: i32 = 10_000;

/// Time that a writer may hold the database before the question is put again.
const BUSY: Duration = Duration::from_millis(250);

/// [`Op::Query`](panewire_core::io::Op::Query): opens the database for this question alone, so that nothing of it is held.
/// `(database, under)` is the file and the directory that must contain it.
#[must_use]
pub fn query(
    (database, under): (&str, &str),
    sql: &str,
    parameters: &[Cell],
    within: Duration,
    answer_cap: usize,
    limit: &Limit,
) -> Answer {
    ask((database, under), sql, parameters, within, answer_cap, limit).unwrap_or_else(|failed| failed)
}

fn ask(
    (database, under): (&str, &str),
    sql: &str,
    parameters: &[Cell],
    within: Duration,
    answer_cap: usize,
    limit: &Limit,
) -> Result<Answer, Answer> {
    let path = fs::canonicalize(database)?;
    if !path.starts_with(fs::canonicalize(under)?) {
        return Err(Answer::Failed(FailureKind::Outside, format!("{database} lies outside {under}")));
    }
    let mut connection = open(&path).map_err(failed)?;
    let left = limit.left(within).ok_or_else(Answer::timed_out)?;
    connection.busy_timeout(BUSY.min(left)).map_err(failed)?;
    let watch = limit.clone();
    connection.progress_handler(STEPS, Some(move || watch.left(within).is_none())).map_err(failed)?;
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let columns = statement.column_count();
    let mut found = statement.query(params_from_iter(parameters.iter().map(Parameter))).map_err(failed)?;
    let (mut rows, mut bytes): (Vec<Vec<Cell>>, usize) = (Vec::new(), 0);
    while let Some(row) = found.next().map_err(failed)? {
        let cells: Vec<Cell> =
            (0..columns).map(|column| row.get_ref(column).map(cell)).collect::<Result<_, _>>().map_err(failed)?;
        bytes += cells.iter().map(size).sum::<usize>();
        if bytes > answer_cap && !rows.is_empty() {
            return Ok(Answer::Rows { rows, truncated: true });
        }
        rows.push(cells);
    }
    Ok(Answer::Rows { rows, truncated: false })
}

fn open(path: &Path) -> Result<Connection, Error> {
    // The path has no links in it any more: one that appears now is not followed.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags)
}

struct Parameter<'a>(&'a Cell);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(match self.0 {
            Cell::Null => ToSqlOutput::Owned(Value::Null),
            Cell::Integer(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Cell::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Text(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn size(cell: &Cell) -> usize {
    match cell {
        Cell::Text(text) => text.len(),
        Cell::Null | Cell::Integer(_) => size_of::<i64>(),
    }
}

fn failed(error: Error) -> Answer {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted | ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            FailureKind::TimedOut
        }
        Some(ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied) => FailureKind::Denied,
        _ => FailureKind::Other,
    };
    Answer::Failed(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Cancel;

    const LONG: Duration = Duration::from_secs(30);

    /// A database as its own program leaves it: open, with its newest rows in the write-ahead log.
    fn database() -> (tempfile::TempDir, String, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db").to_str().unwrap().to_owned();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (id TEXT, n INTEGER, data);").unwrap();
        for (id, n, data) in [("a", 1, "one"), ("b", 2, "two"), ("c", 3, "three")] {
            connection.execute("INSERT INTO t VALUES (?1, ?2, ?3)", (id, n, data)).unwrap();
        }
        connection.execute("INSERT INTO t VALUES (NULL, 4, 1.5)", ()).unwrap();
        connection.execute("INSERT INTO t VALUES (x'c328', 5, x'41ff')", ()).unwrap();
        (directory, path, connection)
    }

    fn put(path: &str, under: &Path, sql: &'static str, parameters: &[Cell], cap: usize) -> Answer {
        let limit = Limit::begin(Cancel::default());
        query((path, under.to_str().unwrap()), sql, parameters, LONG, cap, &limit)
    }

    fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    fn rows(answer: Answer) -> (Vec<Vec<Cell>>, bool) {
        match answer {
            Answer::Rows { rows, truncated } => (rows, truncated),
            other => panic!("no rows: {other:?}"),
        }
    }

    fn kind(answer: &Answer) -> FailureKind {
        match answer {
            Answer::Failed(kind, _) => *kind,
            other => panic!("not a failure: {other:?}"),
        }
    }

    #[test]
    fn values_of_every_kind_come_with_the_newest_rows() {
        let (directory, path, _writer) = database();
        let sql = "SELECT id, n, data FROM t WHERE n > ?1 AND id IS NOT ?2 ORDER BY n";
        let answer = put(&path, directory.path(), sql, &[Cell::Integer(1), text("c")], 1000);
        let expected = [
            vec![text("b"), Cell::Integer(2), text("two")],
            vec![Cell::Null, Cell::Integer(4), text("1.5")],
            vec![text("\u{fffd}("), Cell::Integer(5), text("A\u{fffd}")],
        ];
        assert_eq!(rows(answer), (expected.to_vec(), false));
    }

    #[test]
    fn rows_come_up_to_the_cap_and_one_always_does() {
        let (directory, path, _writer) = database();
        let sql = "SELECT data FROM t WHERE n < 4 ORDER BY n";
        for (cap, count, cut) in [(100, 3, false), (11, 3, false), (10, 2, true), (1, 1, true)] {
            let (rows, truncated) = rows(put(&path, directory.path(), sql, &[], cap));
            assert_eq!((rows.len(), truncated), (count, cut), "{cap}");
        }
    }

    #[test]
    fn nothing_is_written_made_or_opened_elsewhere() {
        let (directory, path, _writer) = database();
        let ask = |path: &str, under: &Path, sql| put(path, under, sql, &[], 1000);
        let answer = ask(&path, directory.path(), "DELETE FROM t");
        assert_eq!(kind(&answer), FailureKind::Other, "{answer:?}");
        assert_eq!(rows(ask(&path, directory.path(), "SELECT count(*) FROM t")).0, [[Cell::Integer(5)]]);
        let absent = directory.path().join("absent.db");
        assert_eq!(kind(&ask(absent.to_str().unwrap(), directory.path(), "SELECT 1")), FailureKind::NotFound);
        assert!(!absent.exists());
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        assert_eq!(kind(&ask(&path, &inner, "SELECT 1")), FailureKind::Outside);
        std::os::unix::fs::symlink(&path, inner.join("link.db")).unwrap();
        assert_eq!(kind(&ask(inner.join("link.db").to_str().unwrap(), &inner, "SELECT 1")), FailureKind::Outside);
        fs::write(inner.join("no.db"), "this is no database, however long it may be").unwrap();
        assert_eq!(kind(&ask(inner.join("no.db").to_str().unwrap(), &inner, "SELECT 1 FROM t")), FailureKind::Other);
    }

    #[test]
    fn a_question_without_an_end_is_given_up() {
        let (directory, path, _writer) = database();
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        let under = directory.path().to_str().unwrap();
        let limit = Limit::begin(Cancel::default());
        let answer = query((&path, under), endless, &[], Duration::from_millis(50), 100, &limit);
        assert_eq!(kind(&answer), FailureKind::TimedOut);
        let cancel = Cancel::default();
        cancel.cancel();
        let answer = query((&path, under), endless, &[], LONG, 100, &Limit::begin(cancel));
        assert_eq!(kind(&answer), FailureKind::TimedOut);
    }
}
