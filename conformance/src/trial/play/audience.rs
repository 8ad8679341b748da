//! Clients that come, misbehave, leave and return.

use panewire_core::limits::MAX_EXCHANGES;

use super::Stage;
use crate::sim::scene::PANE;
use crate::sim::{Ask, Speed, TOKEN};
use crate::trial::act::{Act, Cursor, Nonsense};
use crate::trial::view::{View, base};

/// Clients that are there at once; one more is not let in.
pub(super) const MAX_VIEWS: usize = 24;

impl Stage {
    pub(super) fn comes(&mut self, cursor: &str, speed: Speed, before: Option<(View, bool)>) {
        self.views.retain(|view| !self.world.client(view.ex).left());
        if self.views.len() >= MAX_VIEWS.min(MAX_EXCHANGES) {
            return;
        }
        self.tally.clients += 1;
        let target = format!("/agent-transcript?pane={PANE}&token={TOKEN}{cursor}");
        let ex = self.world.ask(&Ask::socket(&target).at(speed));
        self.views.push(before.map_or_else(|| View::new(ex), |(view, good)| view.returned(ex, good)));
    }

    /// Breaks off and comes back. With what it has it may say where it wants to go on.
    pub(super) fn returns(&mut self, who: usize, cursor: Cursor) {
        let Some(at) = who.checked_rem(self.views.len()) else { return };
        let view = self.views.remove(at);
        self.world.leave(view.ex);
        let Some(id) = view.head_id() else { return self.comes("", Speed::Full, None) };
        // In a file that lost a line the number before may be the right one.
        let rewritten = self.files.get(base(&view.session)).is_none_or(|file| file.now() > 0);
        let cursor = if rewritten && cursor == Cursor::WrongSeq { Cursor::WrongId } else { cursor };
        let (mut id, mut seq, mut generation) = (id.replace('#', "%23"), view.head, view.generation.clone());
        match cursor {
            Cursor::True => {}
            Cursor::WrongId => id.push('x'),
            Cursor::WrongSeq => seq = seq.saturating_sub(1),
            Cursor::WrongGeneration => generation.push('7'),
        }
        let session = view.session.replace('~', "%7E");
        let query = format!("&session={session}&generation={generation}&since_seq={seq}&since_id={id}");
        self.comes(&query, Speed::Full, Some((view, cursor == Cursor::True)));
    }

    pub(super) fn client_does(&mut self, act: &Act) {
        let (Act::Leaves(who)
        | Act::Takes(who, _)
        | Act::HalfOpen(who)
        | Act::Pages(who, ..)
        | Act::Flood(who, _)
        | Act::Nonsense(who, _)) = act
        else {
            return;
        };
        let Some(at) = who.checked_rem(self.views.len()) else { return };
        let Some(ex) = self.views.get(at).map(|view| view.ex) else { return };
        match act {
            Act::Leaves(_) => self.world.leave(ex),
            Act::Takes(_, speed) => self.world.set_speed(ex, *speed),
            Act::HalfOpen(_) => {
                self.world.stop_answering(ex);
                self.world.set_speed(ex, Speed::Stuck);
            }
            Act::Pages(_, before, limit) => self.world.load_older(ex, *before, *limit),
            Act::Flood(_, times) => (0..*times).for_each(|n| self.world.load_older(ex, 40 * u64::from(n), 50)),
            Act::Nonsense(_, Nonsense::Text) => self.world.say(ex, "nonsense"),
            Act::Nonsense(_, Nonsense::Binary) => self.world.say_binary(ex, &[0, 159]),
            Act::Nonsense(_, Nonsense::Fault(fault)) => self.world.say_wrong(ex, *fault),
            _ => {}
        }
    }
}
