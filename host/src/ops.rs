//! Performs the core's operations: in place what can be done at once, on the thread pool what may block.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Waker};

use panewire_core::ids::{Handle, OpId};
use panewire_core::io::{FailureKind, Op};
use panewire_core::limits::MAX_HERDR_SESSIONS;

use crate::signal::listen;
use crate::terminal::Terminal;
use crate::{Answer, Cancel, Limit, Performer, Pool};

/// Operations that only read: as many at once as keep a disk busy.
const READING: usize = 4;

/// Writing our own state: one after the other, so that appends stay in order.
const WRITING: usize = 1;

/// Waiting for herdr and its like. Each has a deadline, and its time in the queue counts.
const ASKING: usize = 32;

/// Waiting for servers of HTTP. Some of them are not on this machine, and may be silent for long: that holds nobody else.
const FETCHING: usize = 16;

/// Listening to others, for as long as they talk: each takes a thread that only waits. As many as the core asks for, and
/// some that are just being hung up: to servers of herdr, and to one service of an agent.
const LISTENING: usize = 2 * (MAX_HERDR_SESSIONS + 2);

/// The operations that are not yet answered, and the answers that the core has not yet taken.
#[derive(Debug, Default)]
pub(crate) struct Ops {
    performer: Performer,
    pool: Pool,
    arrivals: Arc<Arrivals>,
    state: State,
    /// Programs that run under terminals, by the operations that started them.
    terminals: BTreeMap<OpId, Terminal>,
}

#[derive(Debug)]
struct State {
    lanes: [Lane; 5],
    /// Operations that the core waits for.
    wanted: BTreeMap<OpId, Cancel>,
    /// Reads of one file, in the order in which they were asked; each is answered when those before it are.
    reads: BTreeMap<Handle, VecDeque<(OpId, Option<Answer>)>>,
    ready: VecDeque<(OpId, Answer)>,
}

/// Operations of one kind on the pool, and those for which there is no room yet.
#[derive(Debug)]
struct Lane {
    room: usize,
    waiting: VecDeque<(OpId, Op, Limit)>,
}

/// What the pool has done.
#[derive(Debug, Default)]
struct Arrivals {
    inner: Mutex<(Vec<Arrival>, Option<Waker>)>,
}

#[derive(Debug)]
struct Arrival {
    /// Where there is room again now.
    lane: Option<usize>,
    id: OpId,
    handle: Option<Handle>,
    answer: Answer,
}

impl Ops {
    pub(crate) fn new(performer: Performer) -> Self {
        Self { performer, ..Self::default() }
    }

    /// Performs an operation, or lets it be performed. Its answer comes out of [`next_answer`](Self::next_answer).
    pub(crate) fn start(&mut self, id: OpId, op: Op) {
        let cancel = Cancel::default();
        let state = &mut self.state;
        state.wanted.insert(id, cancel.clone());
        let handle = read_handle(&op);
        if let Some(handle) = handle {
            state.reads.entry(handle).or_default().push_back((id, None));
        }
        if let Op::Resize { pty, size } = op {
            let resized = self.terminals.get(&pty).is_some_and(|terminal| terminal.resize(size).is_ok());
            let ended = || Answer::Failed(FailureKind::NotFound, "the program has ended".to_owned());
            return state.settle(id, None, if resized { Answer::Done } else { ended() });
        }
        if let Some(answer) = self.performer.try_now(&op) {
            state.settle(id, handle, answer);
            return;
        }
        let lane = lane_of(&op);
        if let Some(waiting) = state.lanes.get_mut(lane).map(|lane| &mut lane.waiting) {
            waiting.push_back((id, op, Limit::begin(cancel)));
        }
        self.run(lane);
    }

    /// Nobody waits for this operation any more.
    pub(crate) fn cancel(&mut self, id: OpId) {
        if let Some(cancel) = self.state.wanted.remove(&id) {
            cancel.cancel();
        }
        self.terminals.remove(&id);
    }

    /// Our side of the terminal of a program that was started by this operation and has not ended.
    pub(crate) fn terminal(&self, id: OpId) -> Option<File> {
        self.terminals.get(&id).and_then(|terminal| terminal.side().ok())
    }

    /// The program has let go of its terminal, or nobody is at it any more: how it ended is the last answer.
    pub(crate) fn finish_terminal(&mut self, id: OpId) {
        let Some(terminal) = self.terminals.remove(&id) else { return };
        let arrivals = Arc::clone(&self.arrivals);
        self.pool.run(move || {
            let answer = Answer::Ran { exit: terminal.finish(), stdout: Vec::new(), stderr: Vec::new() };
            arrivals.push(Arrival { lane: None, id, handle: None, answer });
        });
    }

    /// Nobody waits for anything any more: programs that were started are ended, and nothing that waits is begun, except
    /// what writes our own state.
    pub(crate) fn abandon(&mut self) {
        self.terminals.clear();
        let state = &mut self.state;
        let [_, writing, ..] = &state.lanes;
        let kept: BTreeSet<OpId> = writing.waiting.iter().map(|(id, ..)| *id).collect();
        state.wanted.retain(|id, cancel| {
            let keep = kept.contains(id);
            if !keep {
                cancel.cancel();
            }
            keep
        });
    }

    /// Whether the pool still writes our own state, or waits for others.
    pub(crate) fn is_at_work(&self) -> bool {
        let [_, writing, asking, fetching, _] = &self.state.lanes;
        writing.room < WRITING || !writing.waiting.is_empty() || asking.room < ASKING || fetching.room < FETCHING
    }

    /// Takes what the pool has done, and asks to be woken when it has done more.
    pub(crate) fn collect(&mut self, cx: &Context<'_>) {
        for Arrival { lane, id, handle, answer } in self.arrivals.take(cx) {
            self.state.settle(id, handle, answer);
            if let Some(index) = lane
                && let Some(lane) = self.state.lanes.get_mut(index)
            {
                lane.room += 1;
                self.run(index);
            }
        }
    }

    /// Whether there is an answer.
    pub(crate) fn is_ready(&self) -> bool {
        !self.state.ready.is_empty()
    }

    /// The next answer that the core waits for.
    pub(crate) fn next_answer(&mut self) -> Option<(OpId, Answer)> {
        while let Some((id, answer)) = self.state.ready.pop_front() {
            match answer {
                // Of it there is more to come. What nobody waits for ends by being dropped.
                Answer::Terminal(terminal) => {
                    if self.state.wanted.contains_key(&id) {
                        self.terminals.insert(id, terminal);
                        return Some((id, Answer::Started));
                    }
                    continue;
                }
                Answer::Heard(..) if self.state.wanted.contains_key(&id) => return Some((id, answer)),
                Answer::Heard(..) => {}
                answer if self.state.wanted.remove(&id).is_some() => return Some((id, answer)),
                // Nobody else knows of a file that was opened for nobody.
                answer => self.performer.discard(&answer),
            }
        }
        None
    }

    /// Takes an answer back after the core has seen it.
    pub(crate) fn recycle(&self, answer: Answer) {
        self.performer.recycle(answer);
    }

    /// Starts what a lane has room for.
    fn run(&mut self, index: usize) {
        let state = &mut self.state;
        while let Some(lane) = state.lanes.get_mut(index).filter(|lane| lane.room > 0) {
            let Some((id, op, limit)) = lane.waiting.pop_front() else {
                return;
            };
            let handle = read_handle(&op);
            if !state.wanted.contains_key(&id) {
                // Nobody will see this; reads asked behind it must not wait for it.
                state.settle(id, handle, Answer::timed_out());
                continue;
            }
            lane.room -= 1;
            let (performer, arrivals) = (self.performer.clone(), Arc::clone(&self.arrivals));
            self.pool.run(move || {
                let answer = performer.listen(&op, &limit, |line| arrivals.tell(id, line));
                arrivals.push(Arrival { lane: Some(index), id, handle, answer });
            });
        }
    }
}

impl State {
    /// Makes an answer ready; that of a read only behind those asked before it.
    fn settle(&mut self, id: OpId, handle: Option<Handle>, answer: Answer) {
        let Some((handle, reads)) = handle.and_then(|handle| Some((handle, self.reads.get_mut(&handle)?))) else {
            self.ready.push_back((id, answer));
            return;
        };
        if let Some((_, slot)) = reads.iter_mut().find(|(other, _)| *other == id) {
            *slot = Some(answer);
        }
        while let Some((id, slot)) = reads.front_mut() {
            let Some(answer) = slot.take() else {
                return;
            };
            self.ready.push_back((*id, answer));
            reads.pop_front();
        }
        self.reads.remove(&handle);
    }
}

impl Default for State {
    fn default() -> Self {
        let lane = |room| Lane { room, waiting: VecDeque::new() };
        Self {
            lanes: [lane(READING), lane(WRITING), lane(ASKING), lane(FETCHING), lane(LISTENING)],
            wanted: BTreeMap::new(),
            reads: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }
}

impl Arrivals {
    fn push(&self, arrival: Arrival) {
        let waker = {
            let (arrived, waker) = &mut *self.inner();
            arrived.push(arrival);
            waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Hands a line on, and waits until nobody needs it any more.
    fn tell(&self, id: OpId, line: Vec<u8>) {
        let (held, done) = mpsc::channel();
        self.push(Arrival { lane: None, id, handle: None, answer: Answer::Heard(line, held) });
        let Err(_) = done.recv();
    }

    fn take(&self, cx: &Context<'_>) -> Vec<Arrival> {
        let (arrived, waker) = &mut *self.inner();
        listen(waker, cx);
        mem::take(arrived)
    }

    fn inner(&self) -> MutexGuard<'_, (Vec<Arrival>, Option<Waker>)> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn read_handle(op: &Op) -> Option<Handle> {
    match op {
        Op::Read { handle, .. } => Some(*handle),
        _ => None,
    }
}

const fn lane_of(op: &Op) -> usize {
    match op {
        Op::Write { .. } | Op::Append { .. } | Op::Load { .. } | Op::Remove { .. } => 1,
        Op::Run { .. } | Op::Pty { .. } | Op::Call { .. } | Op::Query { .. } => 2,
        Op::Fetch { .. } => 3,
        Op::Listen { .. } | Op::Events { .. } => 4,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    use futures_lite::future::block_on;
    use panewire_core::limits::MAX_READ_BYTES;

    use super::*;

    fn next(ops: &mut Ops) -> (OpId, Answer) {
        block_on(poll_fn(|cx| {
            ops.collect(cx);
            ops.next_answer().map_or(Poll::Pending, Poll::Ready)
        }))
    }

    fn opened(ops: &mut Ops, path: &str) -> Handle {
        ops.start(OpId(0), Op::Open { path: path.into(), under: None });
        match next(ops) {
            (OpId(0), Answer::Opened { handle, .. }) => handle,
            other => panic!("not opened: {other:?}"),
        }
    }

    fn read(handle: Handle, offset: u64, len: usize) -> Op {
        Op::Read { handle, offset, len }
    }

    fn run(script: &str) -> Op {
        let argv = vec!["sh".into(), "-c".into(), script.into()];
        Op::Run { argv, within: Duration::from_secs(60), output_cap: 100 }
    }

    #[test]
    fn reads_of_one_file_are_answered_in_the_order_they_were_asked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; 3 * MAX_READ_BYTES]).unwrap();
        let mut ops = Ops::default();
        let handle = opened(&mut ops, file.path().to_str().unwrap());
        // Long ones go to the pool, short ones are answered in place where the system can: the order stays.
        for id in 1..=50 {
            let len = if id % 3 == 0 { 10 } else { MAX_READ_BYTES };
            ops.start(OpId(id), read(handle, id, len));
        }
        let ids: Vec<u64> = (1..=50).map(|_| next(&mut ops).0.0).collect();
        assert_eq!(ids, (1..=50).collect::<Vec<_>>());
        assert!(ops.state.reads.is_empty());
    }

    #[test]
    fn a_cancelled_read_holds_nobody_and_is_not_answered() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; MAX_READ_BYTES]).unwrap();
        let mut ops = Ops::default();
        let handle = opened(&mut ops, file.path().to_str().unwrap());
        for id in 1..=20 {
            ops.start(OpId(id), read(handle, 0, MAX_READ_BYTES));
        }
        for id in (2..=20).step_by(2) {
            ops.cancel(OpId(id));
        }
        let ids: Vec<u64> = (1..=10).map(|_| next(&mut ops).0.0).collect();
        assert_eq!(ids, (1..=19).step_by(2).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_was_opened_for_nobody_is_closed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut ops = Ops::default();
        ops.start(OpId(1), Op::Open { path: file.path().to_str().unwrap().into(), under: None });
        ops.cancel(OpId(1));
        block_on(poll_fn(|cx| {
            ops.collect(cx);
            if ops.is_ready() { Poll::Ready(()) } else { Poll::Pending }
        }));
        assert!(ops.next_answer().is_none());
        ops.start(OpId(2), read(Handle(1), 0, 1));
        assert!(matches!(next(&mut ops), (OpId(2), Answer::Failed(..))));
    }

    #[test]
    fn those_who_wait_for_others_do_not_hold_those_who_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut ops = Ops::default();
        for id in 1..=40 {
            ops.start(OpId(id), run("sleep 60"));
        }
        ops.start(OpId(100), Op::List { path: file.path().parent().unwrap().to_str().unwrap().into(), max_names: 1 });
        assert_eq!(next(&mut ops).0, OpId(100));
        for id in 1..=40 {
            ops.cancel(OpId(id));
        }
    }

    #[test]
    fn servers_that_say_nothing_do_not_hold_herdr() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", silent.local_addr().unwrap());
        let (within, answer_cap) = (Duration::from_secs(60), 100);
        let mut ops = Ops::default();
        for id in 1..=100 {
            let (url, body) = (url.clone(), bytes::Bytes::new());
            ops.start(OpId(id), Op::Fetch { method: "POST", url, headers: Vec::new(), body, within, answer_cap });
        }
        ops.start(OpId(200), run("echo here"));
        assert_eq!(next(&mut ops).0, OpId(200));
        for id in 1..=100 {
            ops.cancel(OpId(id));
        }
    }

    #[test]
    fn appends_stay_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log").to_str().unwrap().to_owned();
        let mut ops = Ops::default();
        let mut expected = Vec::new();
        for id in 1..=50_u8 {
            ops.start(OpId(id.into()), Op::Append { path: path.clone(), bytes: vec![id].into() });
            expected.push(id);
        }
        for _ in 1..=50 {
            assert!(matches!(next(&mut ops).1, Answer::Done));
        }
        assert_eq!(std::fs::read(path).unwrap(), expected);
    }

    #[test]
    fn what_waits_to_be_written_is_written_though_all_else_is_abandoned() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log").to_str().unwrap().to_owned();
        let mut ops = Ops::default();
        for id in 1..=20_u8 {
            ops.start(OpId(id.into()), Op::Append { path: path.clone(), bytes: vec![id].into() });
        }
        ops.abandon();
        block_on(poll_fn(|cx| {
            ops.collect(cx);
            if ops.is_at_work() { Poll::Pending } else { Poll::Ready(()) }
        }));
        assert_eq!(std::fs::read(path).unwrap(), (1..=20).collect::<Vec<u8>>());
    }
}
