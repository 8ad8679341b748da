//! `WS /events`: who follows it, and what they are told.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Bridge;
use crate::ids::ExId;
use crate::mobile::events::Event;
use crate::mobile::subscriber::Subscriber;

/// The clients that follow events, and the number of the last event.
#[derive(Debug, Default)]
pub(super) struct Events {
    seq: u64,
    subscribers: BTreeMap<ExId, Subscriber>,
}

impl Bridge {
    /// Tells everybody who follows events. Where nobody does, it is numbered and forgotten.
    pub(super) fn publish(&mut self, event: &Event) {
        self.events.seq = self.events.seq.saturating_add(1);
        if self.events.subscribers.is_empty() {
            return;
        }
        let (now, frame) = (self.now.mono, event.frame(self.events.seq, self.now.wall));
        let mut lagging = Vec::new();
        for (ex, subscriber) in &mut self.events.subscribers {
            subscriber.send(now, frame.clone(), &mut self.outputs);
            if subscriber.is_closed() {
                lagging.push(*ex);
            }
        }
        for ex in lagging {
            self.forget(ex);
        }
    }
}
