//! What must hold after every act, and what must be reached at the end.

use core::time::Duration;

use panewire_core::ids::ExId;
use panewire_core::limits::RING_BYTES;

use super::Stage;
use super::audience::MAX_VIEWS;
use crate::herdr::Mode;
use crate::sim::Speed;

/// What the core may hold beside its streams and clients.
const BASE_BYTES: usize = 1024 * 1024;
/// What one stream may hold beside its ring and two lines: the line it splits, and the entry it makes of it.
const STREAM_BYTES: usize = 256 * 1024;
/// What one client may hold beside its window and two lines.
const CLIENT_BYTES: usize = 128 * 1024;

impl Stage {
    pub(super) fn check(&mut self) -> Result<(), String> {
        self.world.disk.take_accesses();
        self.world.herdr.take_questions();
        let broken = self.world.broken();
        for view in &mut self.views {
            let before = view.seen();
            let seen = view.look(self.world.client(view.ex), &mut self.files);
            self.tally.frames += view.seen() - before;
            if let Err(wrong) = seen {
                let story = if self.told { self.world.story() } else { String::new() };
                return Err(format!("{wrong}\n{story}"));
            }
        }
        broken.map_or(Ok(()), Err)?;
        self.check_visitors()?;
        self.check_memory()
    }

    /// Everything works again, and everybody has time: then all of them have what the file has, and nothing is left.
    pub(super) fn settles(&mut self) -> Result<(), String> {
        self.world.disk.heal();
        self.world.herdr.set_mode(Mode::Normal);
        (self.world.herdr.socket_latency, self.world.herdr.cli_latency) = (Duration::ZERO, Duration::ZERO);
        self.show(self.current);
        // A session whose file names no directory is not gone over to.
        self.writes(|agent| ["\n", &agent.talk(1)].concat());
        for at in 0..self.views.len() {
            if let Some(ex) = self.views.get(at).map(|view| view.ex) {
                self.world.set_speed(ex, Speed::Full);
            }
        }
        self.visitors_have_time();
        for _ in 0..30 {
            self.world.advance(Duration::from_secs(1));
            self.check()?;
        }
        self.check_terminals()?;
        self.comes("", Speed::Full, None);
        self.world.advance(Duration::from_secs(10));
        if let Some(ex) = self.views.last().map(|view| view.ex) {
            self.page_to_the_beginning(ex)?;
        }
        self.check()?;
        let session = self.script().agent.session().to_owned();
        for view in &self.views {
            let client = self.world.client(view.ex);
            if client.accepted() && client.closing().is_none() && !client.left() {
                view.settled(&session, &mut self.files)?;
            }
        }
        let entries = self.file().now();
        let all = self.file().entries(entries).len();
        if let Some(last) = self.views.last()
            && last.entries.len() != all
        {
            return Err(format!("paged to the beginning: {} of {all} entries", last.entries.len()));
        }
        self.check_open_files()?;
        self.world.close_down();
        self.check()
    }

    fn check_memory(&mut self) -> Result<(), String> {
        let Some(meter) = self.meter else { return Ok(()) };
        let peak = (meter.take_peak)();
        self.tally.peak_bytes = self.tally.peak_bytes.max(peak);
        let lines = 3 * self.longest_line;
        let streams = self.scripts.len() * (RING_BYTES + STREAM_BYTES + lines);
        // Of a client that is gone a frame may still be on its way.
        let clients = (MAX_VIEWS.min(self.views.len()) + self.visitors.count() + 1)
            * (self.plan.window_bytes + CLIENT_BYTES + lines);
        let ceiling = BASE_BYTES + streams + clients;
        if peak > ceiling { Err(format!("{peak} bytes of memory, the ceiling is {ceiling}")) } else { Ok(()) }
    }

    /// Nobody is looking for anything now: a file is open for its stream and for nothing else.
    fn check_open_files(&self) -> Result<(), String> {
        let mut open = self.world.disk.open_files();
        open.sort_unstable();
        match open.windows(2).find(|pair| matches!(pair, [one, other] if one == other)) {
            Some(pair) => Err(format!("open more than once: {pair:?}")),
            None => Ok(()),
        }
    }

    fn page_to_the_beginning(&mut self, ex: ExId) -> Result<(), String> {
        loop {
            self.check()?;
            let oldest =
                self.views.iter().find(|view| view.ex == ex).and_then(|view| view.entries.keys().next().copied());
            let Some(oldest @ 2..) = oldest else { return Ok(()) };
            self.world.load_older(ex, oldest, 500);
            self.world.advance(Duration::from_secs(1));
            self.check()?;
            let now = self.views.iter().find(|view| view.ex == ex).and_then(|view| view.entries.keys().next().copied());
            if now.is_none_or(|now| now >= oldest) {
                return Err(format!("no page before entry {oldest}"));
            }
        }
    }
}
