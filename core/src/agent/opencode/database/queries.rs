//! What a database is asked. Each question costs what it finds, however many messages there are: by the rows themselves,
//! which no version of the tables lacks, where not every version has an index.

/// In which tables a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `message` and `part`.
    Parts,
    /// `session_message`: whole documents.
    Documents,
}

/// Whether the session is here, and whether in parts.
pub(super) const HAS_SESSION: &str = "SELECT EXISTS (SELECT 1 FROM session WHERE id = ?1), \
    EXISTS (SELECT 1 FROM message WHERE session_id = ?1)";

/// The parts of messages, those of one behind those of the other in the order of the messages, as far as they were written since.
// The plus keeps an index of sessions out of this: the ids of messages alone are the way to the rows.
pub(super) const PARTS: &str = "SELECT part.message_id, part.time_created, part.id, part.time_updated, \
    length(part.data), CASE WHEN length(part.data) > ?3 THEN NULL ELSE part.data END \
    FROM json_each(?1) AS wanted CROSS JOIN part \
    WHERE part.message_id = wanted.value AND +part.session_id = ?2 AND part.time_updated >= ?4";

impl Shape {
    /// The newest row: everything behind it is new.
    pub(super) const fn newest(self) -> &'static str {
        match self {
            Self::Parts => "SELECT rowid, id FROM message ORDER BY rowid DESC LIMIT 1",
            Self::Documents => "SELECT rowid, id FROM session_message ORDER BY rowid DESC LIMIT 1",
        }
    }

    /// This row and those that were made behind it, of all sessions.
    pub(super) const fn news(self) -> &'static str {
        match self {
            Self::Parts => {
                "SELECT rowid, id, time_created, session_id FROM message WHERE rowid >= ?1 ORDER BY rowid LIMIT ?2"
            }
            Self::Documents => {
                "SELECT rowid, id, time_created, session_id FROM session_message \
                WHERE rowid >= ?1 ORDER BY rowid LIMIT ?2"
            }
        }
    }

    /// Where messages lie, behind one of them. The only question that may cost more than it finds.
    pub(super) const fn places(self) -> &'static str {
        match self {
            Self::Parts => {
                "SELECT id, time_created FROM message \
                WHERE session_id = ?1 AND (time_created, id) > (?2, ?3) ORDER BY time_created, id LIMIT ?4"
            }
            Self::Documents => {
                "SELECT id, time_created FROM session_message \
                WHERE session_id = ?1 AND (time_created, id) > (?2, ?3) ORDER BY time_created, id LIMIT ?4"
            }
        }
    }

    /// Messages by their ids.
    pub(super) const fn messages(self) -> &'static str {
        match self {
            Self::Parts => {
                "SELECT id, time_created, CASE WHEN length(data) > ?3 THEN NULL ELSE data END FROM message \
                WHERE id IN (SELECT value FROM json_each(?1)) AND +session_id = ?2 ORDER BY time_created, id"
            }
            Self::Documents => {
                "SELECT id, time_created, CASE WHEN length(data) > ?3 THEN NULL ELSE data END, type \
                FROM session_message \
                WHERE id IN (SELECT value FROM json_each(?1)) AND +session_id = ?2 ORDER BY time_created, id"
            }
        }
    }
}
