//! Performs the core's operations: in place what can be done at once, on the thread pool what may block.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use async_executor::LocalExecutor;
use panewire_core::ids::{Handle, OpId};
use panewire_core::io::Op;
use panewire_host::{Answer, Cancel, Limit, Performer};

use super::signal::Signal;

/// Reading: as many as keep a disk busy.
const READING: usize = 4;

/// Writing our own state: one after the other, so that appends stay in order.
const WRITING: usize = 1;

/// Waiting for others. Each has a deadline, and its time in the queue counts.
const ASKING: usize = 32;

/// The operations that are not yet answered, and the answers that the core has not yet taken.
#[derive(Debug)]
pub(crate) struct Ops {
    performer: Performer,
    executor: &'static LocalExecutor<'static>,
    state: RefCell<State>,
    /// Raised when there may be an answer.
    answered: Rc<Signal>,
}

#[derive(Debug)]
struct State {
    lanes: [Lane; 3],
    /// Operations that the core waits for.
    wanted: BTreeMap<OpId, Cancel>,
    /// Reads of one file, in the order in which they were asked; each is answered when those before it are.
    reads: BTreeMap<Handle, VecDeque<(OpId, Option<Answer>)>>,
    ready: VecDeque<(OpId, Answer)>,
}

/// Operations of one kind on the pool: the pool itself would start hundreds of threads.
#[derive(Debug)]
struct Lane {
    width: usize,
    running: usize,
    waiting: VecDeque<(OpId, Op, Limit)>,
}

impl Lane {
    const fn new(width: usize) -> Self {
        Self { width, running: 0, waiting: VecDeque::new() }
    }
}

impl Ops {
    pub(crate) fn new(
        performer: Performer,
        executor: &'static LocalExecutor<'static>,
        answered: Rc<Signal>,
    ) -> Rc<Self> {
        let state = State {
            lanes: [Lane::new(READING), Lane::new(WRITING), Lane::new(ASKING)],
            wanted: BTreeMap::new(),
            reads: BTreeMap::new(),
            ready: VecDeque::new(),
        };
        Rc::new(Self { performer, executor, state: RefCell::new(state), answered })
    }

    /// Performs an operation, or lets it be performed. Its answer comes out of [`next_answer`](Self::next_answer).
    pub(crate) fn start(self: &Rc<Self>, id: OpId, op: Op) {
        let cancel = Cancel::default();
        let mut state = self.state.borrow_mut();
        state.wanted.insert(id, cancel.clone());
        let handle = read_handle(&op);
        if let Some(handle) = handle {
            state.reads.entry(handle).or_default().push_back((id, None));
        }
        if let Some(answer) = self.performer.try_now(&op) {
            state.settle(id, handle, answer);
            return;
        }
        let lane = lane_of(&op);
        if let Some(lane) = state.lanes.get_mut(lane) {
            lane.waiting.push_back((id, op, Limit::begin(cancel)));
        }
        drop(state);
        self.run(lane);
    }

    /// Nobody waits for this operation any more.
    pub(crate) fn cancel(&self, id: OpId) {
        let mut state = self.state.borrow_mut();
        if let Some(cancel) = state.wanted.remove(&id) {
            cancel.cancel();
        }
    }

    /// The next answer that the core waits for.
    pub(crate) fn next_answer(&self) -> Option<(OpId, Answer)> {
        let mut state = self.state.borrow_mut();
        while let Some((id, answer)) = state.ready.pop_front() {
            if state.wanted.remove(&id).is_some() {
                return Some((id, answer));
            }
            // Nobody else knows of a file that was opened for nobody.
            if let Answer::Opened { handle, .. } = answer {
                self.performer.forget(handle);
            }
        }
        None
    }

    /// Takes an answer back after the core has seen it.
    pub(crate) fn recycle(&self, answer: Answer) {
        self.performer.recycle(answer);
    }

    /// Starts what a lane has room for.
    fn run(self: &Rc<Self>, index: usize) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        while let Some(lane) = state.lanes.get_mut(index).filter(|lane| lane.running < lane.width) {
            let Some((id, op, limit)) = lane.waiting.pop_front() else {
                return;
            };
            if !state.wanted.contains_key(&id) {
                // Nobody will see this; reads asked behind it must not wait for it.
                state.settle(id, read_handle(&op), Answer::timed_out());
                continue;
            }
            lane.running += 1;
            let ops = Rc::clone(self);
            let performer = self.performer.clone();
            let handle = read_handle(&op);
            let work = async move {
                let answer = blocking::unblock(move || performer.perform(&op, &limit)).await;
                ops.performed(index, id, handle, answer);
            };
            self.executor.spawn(work).detach();
        }
    }

    fn performed(self: &Rc<Self>, index: usize, id: OpId, handle: Option<Handle>, answer: Answer) {
        let mut state = self.state.borrow_mut();
        if let Some(lane) = state.lanes.get_mut(index) {
            lane.running = lane.running.saturating_sub(1);
        }
        state.settle(id, handle, answer);
        drop(state);
        self.run(index);
        self.answered.raise();
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

const fn read_handle(op: &Op) -> Option<Handle> {
    match op {
        Op::Read { handle, .. } => Some(*handle),
        _ => None,
    }
}

const fn lane_of(op: &Op) -> usize {
    match op {
        Op::Write { .. } | Op::Append { .. } => 1,
        Op::Run { .. } | Op::Call { .. } => 2,
        _ => 0,
    }
}
