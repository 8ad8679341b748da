//! Visits to files of children: what is read of each, and what becomes of it.

use alloc::format;
use alloc::string::{String, ToString as _};

use super::Children;
use crate::agent::claude::children::directory::Layout;
use crate::agent::claude::children::ends::{Head, head, last_time};
use crate::agent::claude::children::meta::Meta;
use crate::agent::claude::children::said::Said;
use crate::limits::{CHILD_LONG_TAIL_BYTES, CHILD_META_BYTES, CHILD_TAIL_BYTES, MAX_DIRECTORY_NAMES, PROBE_BYTES};
use crate::roster::{Destination, Found, Look, Part};

/// What a child is visited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its metadata.
    Meta,
    /// Its beginning.
    Head,
    /// The last time in it.
    Tail,
    /// The same, behind a last line that is longer than what was read.
    LongTail,
    /// What all of it says.
    Through,
}

impl Children {
    /// What a visit found.
    pub(super) fn take_visit(&mut self, (id, purpose): (String, Purpose), found: Found<Said>, look: &mut Look<Self>) {
        let Some(child) = self.children.get_mut(&id) else { return };
        match (purpose, found) {
            (Purpose::Meta, Found::Bytes { bytes, .. }) => {
                let whole = Some(bytes.as_slice()).filter(|bytes| bytes.len() <= CHILD_META_BYTES);
                child.meta = Some(Meta::parse(whole.unwrap_or_default()));
            }
            (Purpose::Head, Found::Bytes { bytes, .. }) => self.begun(id, head(&bytes), look),
            (Purpose::Tail, Found::Bytes { bytes, cut: true }) if last_time(&bytes, true).is_none() => {
                look.visit((id, Purpose::LongTail));
            }
            (_, Found::Bytes { bytes, cut }) => (child.last_ts, child.closed) = (last_time(&bytes, cut), false),
            (_, Found::Through(through)) => child.through = Some(through),
            (_, Found::Nothing) => child.closed = true,
            (_, Found::Failed(text)) => {
                // It is tried again with the next look.
                (child.visited, child.meta_seen) = (None, child.meta_seen.filter(|_| child.meta.is_some()));
                look.trouble(&child.path, &text);
            }
        }
    }

    /// A child's beginning was read.
    fn begun(&mut self, id: String, head: Head, look: &mut Look<Self>) {
        let Self { children, directories, .. } = self;
        let Some(child) = children.get_mut(&id) else { return };
        let is_shared = directories.get(&child.directory).is_some_and(|d| d.layout == Layout::Shared);
        if is_shared && head.session.as_deref() != Some(self.session.as_str()) {
            let name = child.path.rsplit('/').next().unwrap_or_default().to_string();
            if head.session.is_some() && self.strangers.len() < MAX_DIRECTORY_NAMES {
                self.strangers.insert(name);
            } else if let Some(directory) = directories.get_mut(&child.directory) {
                // Its first line may still be on its way: it is asked for again.
                directory.listed = None;
            }
            children.remove(&id);
        } else {
            child.head = Some(head);
            self.visit_if_changed(&id, look);
        }
    }

    /// What is read on an errand, and where.
    pub(super) fn destination(&mut self, (id, purpose): &(String, Purpose)) -> Option<Destination<Said>> {
        let child = self.children.get_mut(id)?;
        let part = match purpose {
            // One more than it may have tells that it has too many.
            Purpose::Meta => Part::Beginning(CHILD_META_BYTES.saturating_add(1)),
            Purpose::Head => Part::Beginning(PROBE_BYTES),
            Purpose::Tail => Part::End(CHILD_TAIL_BYTES),
            Purpose::LongTail => Part::End(CHILD_LONG_TAIL_BYTES),
            Purpose::Through => Part::Through(child.through.take()),
        };
        let path = match purpose {
            Purpose::Meta => format!("{}/agent-{id}.meta.json", child.directory),
            _ => child.path.clone(),
        };
        Some(Destination { path, under: self.under.clone(), part })
    }
}
