//! Which machine asked for which operation.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::ids::{ExId, Handle, OpId};
use crate::io::{Op, Output};
use crate::machine::{Machine, Tag};
use crate::pane::attach::Part;

/// The machine that gets the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The resolution of a pane for those who connect to it.
    Connect(u64),
    /// The question of a session for its pane's newest.
    Recheck(u64),
    /// A follower.
    Stream(u64),
    /// The spool of a stream and who feeds it.
    Feed(u64),
    /// The roster of a stream.
    Roster(u64),
    /// A client that reads a page.
    Client(ExId),
    /// A whole entry that is being read.
    WholeEntry(ExId),
    /// The card of a pane.
    Card(u64),
    /// Something that is done in a pane.
    Errand(u64),
    /// One of the things that an attached client needs.
    Attached(ExId, Part),
    /// The listing of panes.
    Census,
    /// The survey of everything for a snapshot.
    Survey,
    /// Children that are counted for a list.
    Tally(u64),
    /// The events of a server of herdr.
    Listener(u64),
    /// A message that is made or pushed.
    Push(u64),
    /// The saved indexes.
    Store,
    /// The directory of the spools.
    Spools,
    /// Stores that tell of their changes.
    Announced,
    /// The watched directories.
    Watches,
    /// The file of the daemon's own token.
    Token,
    /// The list of devices.
    Devices,
    /// The demo conversation.
    Demo,
    /// Nobody: the answer does not matter.
    Nobody,
}

/// Every operation that is not answered yet.
#[derive(Debug, Default)]
pub(crate) struct Ops {
    last: u64,
    routes: BTreeMap<OpId, (Owner, Tag)>,
    /// Files that are being closed: that goes on whoever loses interest.
    closing: BTreeSet<OpId>,
    /// Files that are open, and for whom.
    open: BTreeMap<Handle, Owner>,
}

impl Ops {
    /// Hands an operation to the runtime.
    pub(crate) fn issue(&mut self, owner: Owner, tag: Tag, op: Op, out: &mut VecDeque<Output>) -> OpId {
        self.last = self.last.saturating_add(1);
        let id = OpId(self.last);
        self.routes.insert(id, (owner, tag));
        if let Op::CloseFile { handle } = op {
            self.closing.insert(id);
            self.open.remove(&handle);
        }
        out.push_back(Output::Op(id, op));
        id
    }

    /// Hands over all that a machine wants.
    pub(crate) fn issue_all(&mut self, owner: Owner, machine: &mut dyn Machine, out: &mut VecDeque<Output>) {
        while let Some((tag, op)) = machine.poll_op() {
            self.issue(owner, tag, op, out);
        }
    }

    /// Takes the route of an answer.
    pub(crate) fn take(&mut self, id: OpId) -> Option<(Owner, Tag)> {
        self.closing.remove(&id);
        self.routes.remove(&id)
    }

    /// Looks at the route of an answer of which more follows.
    pub(crate) fn peek(&self, id: OpId) -> Option<(Owner, Tag)> {
        self.routes.get(&id).copied()
    }

    /// A file was opened for a machine.
    pub(crate) fn opened(&mut self, owner: Owner, handle: Handle) {
        self.open.insert(handle, owner);
    }

    /// Gives up everything a machine asked for, and closes what was opened for it.
    pub(crate) fn cancel(&mut self, owner: Owner, out: &mut VecDeque<Output>) {
        let ids: Vec<OpId> = self.routes.iter().filter(|(_, route)| route.0 == owner).map(|(id, _)| *id).collect();
        for id in ids {
            if self.closing.contains(&id) {
                self.routes.insert(id, (Owner::Nobody, Tag(0)));
            } else {
                self.routes.remove(&id);
                out.push_back(Output::Cancel(id));
            }
        }
        let open: Vec<Handle> = self.open.iter().filter(|(_, of)| **of == owner).map(|(handle, _)| *handle).collect();
        for handle in open {
            self.issue(Owner::Nobody, Tag(0), Op::CloseFile { handle }, out);
        }
    }
}
