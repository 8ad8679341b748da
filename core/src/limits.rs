//! Every bound of the core, once, with what a client sees when it is hit. In this order:
//!
//! - Pages and resuming: how many entries a client gets
//! - Entries: how much of a record is shown
//! - Requests and sockets: what a client may send, and how long it may take
//! - Tokens and devices: who is let in
//! - Reading and following: how files become lines
//! - Saved indexes: what outlives the daemon
//! - Stores: agents whose sessions are no logs, and the spools made of them
//! - Looking for sessions: directories, names and repositories
//! - herdr: what it is asked, and how long
//! - Subagents: the roster of a session, and the numbers of a list
//! - Screens and cards: what is shown of a terminal
//! - Answers: typing for somebody
//! - Attached panes: a terminal at the other end
//! - Events: what changes, and who follows it
//! - Push: who is told without asking
//! - Drift: what no reader knew
//! - The demo: a conversation where there is none
//! - What a program may choose: [`Limits`]

use core::time::Duration;

// # Pages and resuming

/// Entries in the newest page, and in an older page whose size was not asked for. More is `has_older:true`.
pub const PAGE_ENTRIES: u64 = 150;

/// Entries in an older page at most. A larger `limit` is clamped to this.
pub const MAX_PAGE_ENTRIES: u64 = 500;

/// Missing entries that a client which resumes gets at most, unless it names another number. More is a fresh start.
pub const RESUME_ENTRIES: u64 = 2_000;

/// The largest such number.
pub const MAX_RESUME_ENTRIES: u64 = 10_000;

/// `load_older` requests of one client that wait. At this many its socket is not read until one is done.
pub const MAX_WAITING_PAGES: usize = 8;

// # Entries

/// Unicode scalar values of a message's or a thought's text. More is cut and `text_truncated` is set.
pub const TEXT_CHARS: usize = 20_000;

/// Unicode scalar values of a command. More is cut and `tool.command_truncated` is set.
pub const COMMAND_CHARS: usize = 4_000;

/// Unicode scalar values of a tool's output. More is cut and `result.truncated` is set.
pub const OUTPUT_CHARS: usize = 4_000;

/// Lines of a diff. More are cut and `tool.diff_truncated` or `result.truncated` is set.
pub const DIFF_LINES: usize = 400;

/// Unicode scalar values of a diff. More are cut and `tool.diff_truncated` or `result.truncated` is set.
pub const DIFF_CHARS: usize = 12_000;

/// Lines of the two texts of a diff together. With more, the smallest diff is not searched for: what lies between their
/// equal beginnings and ends is shown as replaced.
pub const DIFF_SEARCH_LINES: usize = 4_000;

/// Unicode scalar values that are shown of something that could not be read.
pub const UNREADABLE_CHARS: usize = 120;

/// Unicode scalar values of `tool.input_summary`, which is always one line.
pub const SUMMARY_CHARS: usize = 200;

/// Unicode scalar values of `tool.subtitle`, which is always one line.
pub const SUBTITLE_CHARS: usize = 120;

/// Whole entries that are read or sent at once. One more waits until one of them is done: each may be as large as a line.
pub const MAX_WHOLE_ENTRIES: usize = 4;

/// Looks at a file that stays shorter than it was counted, before a whole entry of it is given up with 500.
pub const MAX_SHRUNK_LOOKS: u32 = 4;

/// Bytes of one piece of a whole entry.
pub const BODY_PIECE_BYTES: usize = 64 * 1024;

// # Requests and sockets

/// Exchanges that are open at once. One more is answered 503.
pub const MAX_EXCHANGES: usize = 4_096;

/// Bytes of one message from a WebSocket client. A longer one closes its socket with 1009.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024;

/// Bytes of the body of a request. A longer one is answered 413.
pub const MAX_BODY_BYTES: usize = 64 * 1024;

/// Bytes of the bodies that are on their way at once. For one more there is no room: it is answered 503.
pub const BODIES_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a body that are read although it is refused, so that its client sees the answer and no reset.
pub const DISCARDED_BODY_BYTES: usize = 1024 * 1024;

/// Time that the body of a request may take. Then it is answered 408.
pub const BODY_WITHIN: Duration = Duration::from_secs(10);

/// Clients that are served in one call before the core yields with [`Why::More`](crate::io::Why::More).
pub const CLIENTS_PER_CALL: usize = 64;

/// Deadlines that one call looks at, at most; the next call goes on.
pub const TIMERS_PER_CALL: usize = 256;

/// Time between two pings.
pub const PING_EVERY: Duration = Duration::from_secs(20);

/// Time between two `heartbeat` frames of a client that opted in to them.
pub const HEARTBEAT_EVERY: Duration = Duration::from_secs(15);

/// Pings and heartbeats of all clients fall on multiples of this, so that many quiet clients wake a daemon as seldom as
/// a few do. It divides [`PING_EVERY`] and [`HEARTBEAT_EVERY`].
pub const COMMON_MOMENTS: Duration = Duration::from_secs(5);

/// A client from which nothing came for this long is closed.
pub const SILENCE: Duration = Duration::from_secs(60);

/// A client that took nothing for this long, while data waited for it, is closed.
pub const STALL: Duration = Duration::from_secs(30);

// # Tokens and devices

/// Bytes of the file of the daemon's own token. A larger one holds none: the token of before goes on to count.
pub const MAX_TOKEN_BYTES: usize = 4 * 1024;

/// Time after a look at it, for a token that nobody knows, before the next one. Until then such tokens are answered 401 at
/// once.
pub const TOKEN_AGAIN: Duration = Duration::from_secs(1);

/// Random bytes that are asked for at once.
pub const MAX_RANDOM_BYTES: usize = 64;

/// Devices that are paired. One more is answered 409 until another is revoked.
pub const MAX_DEVICES: usize = 64;

/// Bytes of the file that keeps them. A larger one is not ours: no device is known then, and none can be paired.
pub const MAX_DEVICES_BYTES: usize = 128 * 1024;

/// Unicode scalar values of a device's name. More is cut.
pub const DEVICE_NAME_CHARS: usize = 64;

/// Pairing codes that are open at once. One more closes the oldest.
pub const MAX_CODES: usize = 8;

/// Time that a pairing code works, if it is not used before. Then it is answered 403.
pub const CODE_LIFETIME: Duration = Duration::from_secs(300);

/// Wrong codes while one is open. With the last of them every code is dropped, and pairing rests.
pub const WRONG_CODES: u32 = 10;

/// Time that pairing rests then: whoever pairs, or asks for a code, is answered 429.
pub const PAIRING_REST: Duration = Duration::from_secs(60);

/// Bytes of the body of a request that pairs or revokes a device. A longer one is answered 413.
pub const PAIRING_BODY_BYTES: usize = 4 * 1024;

/// Bodies of devices that pair, which nobody knows yet, that are on their way at once. One more is answered 503.
pub const MAX_PAIRING_BODIES: usize = 16;

/// Age at which a device's `last_seen` is written anew: it says when a device called last to this exactness.
pub const SEEN_EVERY: Duration = Duration::from_secs(3_600);

/// Time before the list of devices is read again after that has failed. Until then its devices are answered 503.
pub const DEVICES_AGAIN: Duration = Duration::from_secs(5);

/// Requests that wait for the list of devices. One more is answered 503.
pub const MAX_PARKED: usize = 256;

// # Reading and following

/// Bytes that one read asks for at most.
pub const MAX_READ_BYTES: usize = 512 * 1024;

/// Bytes that a live tail or a page asks for at once: small, so that no client waits long for another.
pub const PAGE_READ_BYTES: usize = 64 * 1024;

/// Bytes at the beginning and at the end of a file that decide the status of an upgrade.
pub const PROBE_BYTES: usize = 64 * 1024;

/// Streams that are counted at once, each with two reads in flight. One more waits for its turn: its `hello` comes later.
pub const MAX_COUNTING: usize = 4;

/// Streams that are followed, or kept for a while after their last client. For one more a kept one is given up; if all are
/// watched, it is answered 503.
pub const MAX_STREAMS: usize = 256;

/// A stream is kept this long after its last client left.
pub const STREAM_GRACE: Duration = Duration::from_secs(30);

/// Bytes of a live line above which its entries are counted before they are built: when it holds more than the largest
/// page, clients read them like one.
pub const LIVE_LINE_BYTES: usize = 64 * 1024;

/// Bytes of one line that every client may put together for itself. Only one client at a time goes on with a longer one.
pub const LONG_LINE_BYTES: usize = 1024 * 1024;

/// Room for a line in pieces that is kept for the next one, so that a session of many long lines is not counted in fresh
/// memory again and again.
pub const KEPT_CARRY_BYTES: usize = 2 * 1024 * 1024;

/// The same between two looks at a file.
pub const IDLE_CARRY_BYTES: usize = 64 * 1024;

/// Bytes already read that are read again and compared, to see that a file was rewritten.
pub const OVERLAP_BYTES: usize = 4 * 1024;

/// Places where the next record is looked for in a torn line.
pub const RESYNC_CANDIDATES: usize = 16;

/// Bytes that are gone through in a torn line for nothing before the search for its next record ends.
pub const RESYNC_BYTES: usize = 4 * 1024 * 1024;

/// Bytes between two checkpoints of an index.
pub const CHECKPOINT_BYTES: u64 = 64 * 1024;

/// Bytes that a reader remembers of the lines before: every checkpoint carries them.
pub const READER_STATE_BYTES: usize = 256;

/// Bytes of newest live frames of one stream that are kept for all its clients.
pub const RING_BYTES: usize = 1024 * 1024;

/// Files that were seen rewritten and are not followed any more, of which the count is remembered.
pub const MAX_REMEMBERED_REWRITES: usize = 1_024;

/// Newest records of a conversation that is a tree, of which it is remembered where they stand. A branch that begins at an
/// older one is not marked.
pub const MAX_BRANCH_RECORDS: usize = 16 * 1024;

/// Newest branches of a conversation that is a tree that are remembered.
pub const MAX_FORKS: usize = 1_024;

/// Time between two looks at a watched file: an entry appears within it, whatever the runtime can hint at.
pub const FILE_POLL: Duration = Duration::from_millis(250);

/// The same while the hints of its directory are trusted: an entry appears at once, and within this if its hint is lost.
pub const SAFETY_POLL: Duration = Duration::from_secs(2);

/// Changes in a row that hints must have announced before they are trusted; twice as many after each time they failed.
pub const TRUSTED_AFTER: u32 = 3;

/// A change that a look found before its hint came counts as announced if the hint comes within this.
pub const HINT_WITHIN: Duration = Duration::from_millis(250);

/// Directories that are not watched any more, of which it is remembered whether their hints were trusted.
pub const MAX_REMEMBERED_WATCHES: usize = 256;

/// Time before a directory that could not be watched is tried again; one that was not there is tried with each
/// [`SAFETY_POLL`].
pub const WATCH_AGAIN: Duration = Duration::from_secs(30);

// # Saved indexes

/// Bytes of one saved index. A larger one is not saved: such a file is counted again.
pub const SAVED_INDEX_BYTES: usize = 1024 * 1024;

/// Indexes that are kept in the state directory, the newest ones.
pub const MAX_SAVED_INDEXES: usize = 256;

/// Bytes that they may take together.
pub const MAX_SAVED_BYTES: u64 = 16 * 1024 * 1024;

/// Files that are smaller are counted faster than an index of them is loaded.
pub const SAVED_FROM_BYTES: u64 = 1024 * 1024;

/// A watched file is saved again when it grew by this much.
pub const SAVED_EVERY_BYTES: u64 = 16 * 1024 * 1024;

// # Stores

/// Bytes of one spool: the settled entries of a session whose store rewrites itself. A larger one begins anew with its
/// newest half, and says so in its first entry; clients see that as a rewritten file.
pub const SPOOL_BYTES: u64 = 64 * 1024 * 1024;

/// Spools that are kept in the state directory, those that were written last. Those that are followed stay.
pub const MAX_SPOOLS: usize = 256;

/// Bytes that they may take together.
pub const MAX_SPOOLED_BYTES: u64 = 512 * 1024 * 1024;

/// Bytes of one line of a spool. The texts of a larger entry are cut, and say so.
pub const SPOOL_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that wait to be written to a spool before its store is read on.
pub const SPOOL_QUEUE_BYTES: usize = 1024 * 1024;

/// Bytes between two places from which a spool can begin anew.
pub const SPOOL_MARK_BYTES: u64 = 1024 * 1024;

/// Bytes of one message of a session whose file is rewritten. Of a larger one only its size is shown.
pub const STORE_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of messages of such a session that are held until its end was read. With more, those that others follow are
/// shown before that, as they are then.
pub const STORE_HELD_BYTES: usize = 8 * 1024 * 1024;

/// Names of one directory of a store of one file for each message.
pub const MAX_STORE_NAMES: usize = 65_536;

/// Bytes of one part of a message in a store. Of a larger one only its size is shown.
pub const STORE_PART_BYTES: usize = 4 * 1024 * 1024;

/// Parts of one message in a store. Those behind them are left out.
pub const MAX_STORE_PARTS: usize = 1_024;

/// Messages of a store of files that are held at once, from the first that has not settled.
pub const STORE_WINDOW: usize = 8;

/// Messages of a database that are held at once, from the first that has not settled.
pub const STORE_ROWS: usize = 256;

/// Bytes of an answer with messages of a database, or with their parts. What finds no room is asked for again; a message that
/// alone is longer gets [`STORE_ANSWER_BYTES`].
pub const STORE_ROWS_BYTES: usize = 2 * 1024 * 1024;

/// Settled messages of a session that are known one by one: a message that is stored late, with an older time than the
/// newest of these, is shown all the same; what would lie before all of them is not.
pub const STORE_LATE: usize = 1_024;

/// Messages whose places are known at once, from the first that has not settled.
pub const STORE_PLACES: usize = 16_384;

/// Databases of one agent that are asked.
pub const MAX_STORE_DATABASES: usize = 8;

/// Bytes of one answer of a database or a service.
pub const STORE_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// Time that a database may take for an answer.
pub const STORE_QUERY: Duration = Duration::from_secs(5);

/// Time that an agent's service may take for one.
pub const STORE_FETCH: Duration = Duration::from_secs(10);

/// Time that each store of an agent may take to say whether it holds a session. Somebody waits for a pane: then the next
/// store is asked, and at last what was shown of the session before is shown again.
pub const STORE_LOCATE: Duration = Duration::from_millis(1_500);

/// Time in which the first look at a store must tell something. Then what is in the spool is shown, if there is anything, and
/// what the store tells later comes live.
pub const STORE_FIRST_LOOK: Duration = Duration::from_millis(1_500);

/// Time that an agent's service may take for its newest messages.
pub const SERVICE_LOOK: Duration = Duration::from_secs(4);

/// A service that did not answer in time is not asked for so long: the store below it is.
pub const SERVICE_REST: Duration = Duration::from_secs(10);

/// Time before a service that does not tell of its events any more is asked for them again; twice as long each time, up to
/// [`SERVICE_LISTEN_AGAIN_MOST`].
pub const SERVICE_LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// See [`SERVICE_LISTEN_AGAIN`]. At once for a service that has no events.
pub const SERVICE_LISTEN_AGAIN_MOST: Duration = Duration::from_secs(60);

/// A service that tells its events and says nothing for so long is asked for them anew. It says every few seconds that it is there.
pub const SERVICE_SILENCE: Duration = Duration::from_secs(60);

/// Bytes of one event of a service. A longer one ends its stream.
pub const SERVICE_EVENT_BYTES: usize = 1024 * 1024;

/// Messages that one page of a service holds while the newest are looked at, and while all are read.
pub const SERVICE_NEWEST: usize = 20;
/// See [`SERVICE_NEWEST`].
pub const SERVICE_PAGE: usize = 200;

/// Pages of the newest messages that are asked for until one reaches what has settled. Then all are read from the beginning.
pub const SERVICE_PAGES_BACK: usize = 20;

/// Looks after which a page that was made smaller, because an answer was too long, grows again.
pub const SERVICE_LOOKS: usize = 40;

/// Bytes of the file in which a service says where it listens.
pub const SERVICE_FILE_BYTES: usize = 64 * 1024;

/// Files of a store that are open at once.
pub const MAX_OPEN_STORE_FILES: usize = 8;

/// A message that a human sent is complete so long after it was made, whatever comes after it.
pub const STORE_SENT: Duration = Duration::from_secs(3);

/// Text of an assistant that nobody has finished is shown as it is when nothing was written to it for so long: no model
/// pauses that long, so whoever wrote it is gone.
pub const STORE_QUIET: Duration = Duration::from_secs(600);

// # Looking for sessions

/// Sessions that a listing shows at most, newest first.
pub const MAX_LISTED_SESSIONS: usize = 200;

/// Names of one directory that are looked at.
pub const MAX_DIRECTORY_NAMES: usize = 4_096;

/// Files whose recorded directory is looked at when a pane has no session id, newest first.
pub const MAX_PROBED_FILES: usize = 64;

/// Files that are looked into for the newest session of all, newest first.
pub const MAX_LATEST_PROBED: usize = 8;

/// Directories that are looked at to see which of them are one, in a search for a session. More are compared by their names.
pub const MAX_COMPARED_DIRECTORIES: usize = 256;

/// Questions about directories and files that one search has open at once.
pub const MAX_SEARCH_OPS: usize = 32;

/// Bytes of a path that is looked at because an agent or a repository names it. A longer one is not.
pub const MAX_PATH_BYTES: usize = 4 * 1024;

/// Bytes of one name on a disk. A directory whose encoded name is longer is found by session id alone.
pub const MAX_NAME_BYTES: usize = 255;

/// Bytes of a session id that is looked for on disk. A longer one names no file.
pub const MAX_SESSION_ID_BYTES: usize = 128;

/// Time before a conversation that was not found is looked for again.
pub const LOCATE_AGAIN: Duration = Duration::from_secs(10);

/// Bytes of a repository's `HEAD`, and of the file that says where it lies.
pub const GIT_FILE_BYTES: usize = 4 * 1024;

/// Directories in which a repository is looked for: an agent's own and those above it.
pub const MAX_GIT_LEVELS: usize = 32;

/// Unicode scalar values of a branch. More is cut.
pub const MAX_BRANCH_CHARS: usize = 250;

/// Agents of which one snapshot says more than herdr does. Those behind them are listed with what herdr says.
pub const MAX_SURVEYED_AGENTS: usize = 2_048;

/// Directories of which the branch is looked for in one snapshot. Agents in others have none.
pub const MAX_BRANCHES: usize = 128;

/// Time for which a branch that was found is believed.
pub const BRANCH_FRESH: Duration = Duration::from_secs(5);

// # herdr

/// Bytes of a pane's name that herdr is asked for. A longer one is answered 404 without asking.
pub const MAX_PANE_ID_BYTES: usize = 512;

/// Bytes of one answer of herdr.
pub const HERDR_ANSWER_BYTES: usize = 1024 * 1024;

/// Unicode scalar values of what herdr said that a 502 repeats. More is cut and ends in `…`.
pub const HERDR_ERROR_CHARS: usize = 4_000;

/// Named sessions of herdr that are asked where all of them are, the first by name. The rest is left out.
pub const MAX_HERDR_SESSIONS: usize = 16;

/// Bytes of the name of one.
pub const MAX_HERDR_SESSION_BYTES: usize = 64;

/// Time between two questions for a watched pane's session.
pub const SESSION_POLL: Duration = Duration::from_secs(2);

/// Time that one client request may spend on herdr, the fallback included. Clients give up at 5 s.
pub const HERDR_BUDGET: Duration = Duration::from_secs(4);

/// Part of [`HERDR_BUDGET`] that the socket gets before the command line is tried.
pub const HERDR_SOCKET_BUDGET: Duration = Duration::from_secs(2);

/// Time between two tries to listen to the events of one server of herdr.
pub const LISTEN_AGAIN: Duration = Duration::from_secs(10);

/// Bytes of one event of herdr. A longer one ends its stream.
pub const HERDR_EVENT_BYTES: usize = 64 * 1024;

/// Events of one server of herdr between two looks. With one more it is not listened to until [`LISTEN_AGAIN`].
pub const MAX_HERDR_EVENTS: u32 = 10_000;

// # Subagents

/// Children of one session that a roster shows, those whose names come first. The rest is left out.
pub const MAX_CHILDREN: usize = 2_048;

/// Directories of one session in which children are looked for.
pub const MAX_CHILD_DIRECTORIES: usize = 64;

/// Calls, answers and ends of agents that are remembered of one transcript, of each the newest.
pub const MAX_TOLD: usize = 4_096;

/// Answers of tools that are remembered until a call is found that they answer.
pub const MAX_UNCLAIMED_ANSWERS: usize = 64;

/// Newest lines of a child inside its session's file that the next one may follow.
pub const MAX_INSIDE_PARENTS: usize = 16;

/// Runs of lines of such a child. What lies behind them is not shown.
pub const MAX_INSIDE_RUNS: usize = 4_096;

/// Unicode scalar values of a label of a child. More is cut.
pub const CHILD_LABEL_CHARS: usize = 200;

/// Bytes of a child's id.
pub const MAX_CHILD_ID_BYTES: usize = 128;

/// Bytes of a child's metadata file. A larger one is not read: its row has no labels.
pub const CHILD_META_BYTES: usize = 64 * 1024;

/// Bytes at the beginning of a rollout in which it says whose child it is.
pub const CHILD_HEAD_BYTES: usize = 16 * 1024;

/// Rollouts that are remembered as nobody's children in the roster of one session. Further ones are looked into again
/// whenever their directory changes.
pub const MAX_STRANGERS: usize = 16 * 1024;

/// Generations of children of children. Of deeper ones no row is shown.
pub const MAX_CHILD_DEPTH: usize = 32;

/// Bytes at the end of a child's file in which its last time is looked for at first.
pub const CHILD_TAIL_BYTES: usize = 64 * 1024;

/// The same if no time stands there: then in so many.
pub const CHILD_LONG_TAIL_BYTES: usize = 1024 * 1024;

/// Files of children that are open at once.
pub const MAX_OPEN_CHILDREN: usize = 2;

/// Bytes of children that are read as a whole before the first `hello`, if no more than that is needed to say who has
/// finished. With more, `hello` comes first and a `subagents` frame follows.
pub const CHILDREN_FIRST_BYTES: u64 = 4 * 1024 * 1024;

/// Looks at a roster of which every child is looked at in the last, whether or not its directory changed.
pub const CHILDREN_EVERY: u64 = 3;

/// Time between two looks at the children of a watched session.
pub const ROSTER_POLL: Duration = Duration::from_secs(3);

/// Time that `hello` waits for the roster. After it the conversation is shown without, and the roster follows.
pub const ROSTER_WAIT: Duration = Duration::from_secs(1);

/// Conversations whose children are counted at once for a list: fewer than [`MAX_COUNTING`], so that whoever opens one does
/// not wait for a list.
pub const MAX_TALLYING: usize = 2;

/// Time after which the children of a conversation are counted again at the soonest. If nothing new was found, the next time
/// comes after twice as long as the last, unless its file changes before.
pub const TALLY_REST: Duration = ROSTER_POLL;

/// Time that `GET /snapshot` waits for children that are being counted. Then it is answered with what is known.
pub const TALLY_WAIT: Duration = Duration::from_millis(500);

/// Time in which a count must have come farther. Else it is given up, and the number is not known.
pub const TALLY_STUCK: Duration = Duration::from_secs(30);

/// Age of a session's file up to which its children are counted where there is no herdr. Those of older ones are not.
pub const TALLY_RECENT: Duration = Duration::from_secs(3_600);

// # Screens and cards

/// Rows of a screen that are looked at, the last ones.
pub const SCREEN_ROWS: usize = 500;

/// Characters of one such row.
pub const SCREEN_COLUMNS: usize = 1_000;

/// Options of a question that are shown. A longer list is cut.
pub const MAX_OPTIONS: usize = 32;

/// Unicode scalar values of an option's label, and of its description. More is cut and ends in `…`.
pub const OPTION_CHARS: usize = 400;

/// Unicode scalar values of a question. More is cut and ends in `…`.
pub const QUESTION_CHARS: usize = 2_000;

/// Unicode scalar values of what a dialog says beside its question. More is cut and ends in `…`.
pub const DETAIL_CHARS: usize = 8_000;

/// Unicode scalar values of a card's headline, which is always one line. More is cut and ends in `…`.
pub const HEADLINE_CHARS: usize = 120;

/// Lines of `transcript` in a card, the last ones.
pub const CARD_LINES: usize = 12;

/// Unicode scalar values of one of them. More is cut and ends in `…`.
pub const CARD_LINE_CHARS: usize = 400;

/// Newest entries in which a card looks for what the agent said last.
pub const CARD_ENTRIES: u64 = 40;

/// Newest entries in which a working agent must have said something, for its card to lead with that.
pub const CARD_RECENT_ENTRIES: u64 = 8;

/// Bytes of a transcript that are read for a card. If its newest entries take more, fewer of them are looked at.
pub const CARD_READ_BYTES: u64 = 1024 * 1024;

// # Answers

/// Time that an agent gets to take what was typed, before its screen is read or Enter is pressed.
pub const ANSWER_REST: Duration = Duration::from_millis(180);

/// Looks at a screen for the option that was picked. Then Enter is pressed, or the answer is given up with 409.
pub const ANSWER_LOOKS: u32 = 3;

/// Looks at a screen for another permission mode. Then the answer says which one there is.
pub const MODE_LOOKS: u32 = 6;

/// Requests that wait to type into one pane, the one that is at it included. One more is answered 503.
pub const MAX_PANE_ERRANDS: usize = 8;

/// Approvals that are remembered, so that none is pressed twice.
pub const MAX_REMEMBERED_APPROVALS: usize = 256;

// # Attached panes

/// Clients that are attached to panes at once, each with a program or a question of its own. One more is answered 503.
pub const MAX_ATTACHED: usize = 32;

/// Bytes of one message from a client that is attached to a pane, where a whole paste comes in one. A longer one closes its
/// socket with 1009.
pub const MAX_KEYSTROKES_BYTES: usize = 64 * 1024;

/// Bytes that wait to be typed into an attached pane before its client is not read any more.
pub const PIPE_INPUT_BYTES: usize = 16 * 1024;

/// Bytes that are read at once of a program in a terminal. They go out as one message.
pub const PIPE_READ_BYTES: usize = 16 * 1024;

/// Messages that wait for an attached client before the program in its terminal is not read any more.
pub const PIPE_FRAMES: usize = 8;

/// Columns, and rows, of a terminal at most. A `resize` to more is ignored.
pub const MAX_TERMINAL_SIDE: u16 = 1_000;

/// Time between two looks at who is in an attached pane.
pub const OCCUPANT_POLL: Duration = Duration::from_secs(2);

/// Time before the second look that a change of it needs: an agent may be out of sight for a moment.
pub const OCCUPANT_AGAIN: Duration = Duration::from_millis(500);

/// Characters of a text that is typed in one write into a pane without an agent.
pub const STROKE_CHARS: usize = 4_096;

/// Keys that are pressed in one write there.
pub const STROKE_KEYS: usize = 32;

/// Rows of a pane without an agent that its client gets at first, those above the screen included.
pub const SCROLLBACK_ROWS: u32 = 1_000;

/// Time between two looks at such a pane while it changes: what happens meanwhile is painted as one.
pub const PAINT_SOON: Duration = Duration::from_millis(40);

/// The same while it rests, reached by doubling.
pub const PAINT_IDLE: Duration = Duration::from_secs(1);

/// Looks in a row that may fail. With one more its client is closed with 1011.
pub const PAINT_FAILURES: u32 = 5;

/// A program that attaches to an agent and fails within this has not attached: its client is closed with 1011.
pub const ATTACH_SETTLES: Duration = Duration::from_secs(2);

// # Events

/// Time between two looks for changes while somebody follows events.
pub const EVENTS_POLL: Duration = Duration::from_secs(1);

/// The same where there is no herdr, and sessions are looked for on disk.
pub const STANDALONE_POLL: Duration = Duration::from_secs(10);

/// The same while herdr itself says what changes, and there is no agent whose status it would not say.
pub const EVENTS_SAFETY_POLL: Duration = Duration::from_secs(10);

/// Time between two looks for changes that herdr's own events ask for. Twice as long after each that found nothing, up to
/// [`EVENTS_POLL`].
pub const EVENTS_HINT_REST: Duration = Duration::from_millis(100);

/// Times as long as a look for changes took is waited before the next one, if that is longer.
pub const EVENTS_REST: u32 = 4;

/// Events that wait for a client which does not take them. With one more it is closed with 4000.
pub const MAX_WAITING_EVENTS: usize = 256;

/// Time between two `heartbeat` frames of a client that follows events.
pub const EVENTS_HEARTBEAT_EVERY: Duration = Duration::from_secs(20);

// # Push

/// Time between two looks for agents that need a person, where somebody is to be told and nobody follows events.
pub const PUSH_POLL: Duration = Duration::from_secs(3);

/// Time that one try to push may take.
pub const PUSH_WITHIN: Duration = Duration::from_secs(15);

/// Pauses between the tries. After the last try a message is given up, and the log says so.
pub const PUSH_RESTS: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(500)];

/// Bytes of the answer to one.
pub const PUSH_ANSWER_BYTES: usize = 64 * 1024;

/// Messages that are made at once, and those that wait for one target or are on their way there. One more is not sent, and
/// the log says so.
pub const MAX_PUSHES: usize = 64;

/// Of these so many are on their way to one target at once, so that one that is silent holds no other.
pub const PUSHES_AT_ONCE: usize = 4;

/// Unicode scalar values of a message's title. More is cut and ends in `…`.
pub const PUSH_TITLE_CHARS: usize = 120;

/// Unicode scalar values of its body. More is cut and ends in `…`.
pub const PUSH_BODY_CHARS: usize = 240;

/// Options of a question that are pushed, the first ones.
pub const PUSH_OPTIONS: usize = 4;

// # Drift

/// Rows of a drift report. What finds no room is counted in one number.
pub const DRIFT_ROWS: usize = 512;

/// Unicode scalar values of a name in a drift report. More is cut and ends in `…`.
pub const DRIFT_NAME_CHARS: usize = 80;

/// Rows of a table of what records became. What finds no room is counted in one row.
pub const TABLE_ROWS: usize = 512;

/// Files of which it is remembered up to where their drift was noted, so that a file followed again is not counted twice.
pub const MAX_REMEMBERED_DRIFTS: usize = 256;

// # The demo

/// Bytes of one session of the demo conversation. Then a new session begins.
pub const DEMO_FILE_BYTES: u64 = 256 * 1024;

/// Time between two lines of the demo conversation.
pub const DEMO_STEP: Duration = Duration::from_millis(1500);

/// Time between two rounds of the demo conversation.
pub const DEMO_PAUSE: Duration = Duration::from_secs(10);

// # What a program may choose

/// The bounds that a program may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one line. A longer one is a `parsed:false` entry that says how long it was. 64 MiB; at least 64 KiB.
    pub line_bytes: usize,
    /// Bytes that may wait for one client in the runtime's queue. 256 KiB.
    pub window_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line_bytes: 64 * 1024 * 1024, window_bytes: 256 * 1024 }
    }
}
