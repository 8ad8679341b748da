//! The model: everything that the file of one session ever held, read in the plainest way.

use panewire_core::agent::{AgentKind, Line, Reader};
use panewire_core::entry::caps::Caps;
use panewire_core::ids::Seq;
use panewire_core::mobile::frames;
use panewire_core::source::records;

/// Every state of one file. A state that only grew is one; whatever else happens to a file begins another.
#[derive(Debug)]
pub struct Chronicle {
    line_bytes: usize,
    states: Vec<State>,
}

/// One state, as long as it grew.
#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// The entries as they stand in frames.
    entries: Vec<String>,
    /// How many of them stand in whole lines, and where those end.
    settled: usize,
    settled_bytes: usize,
}

impl Chronicle {
    /// A file that is empty, or not there yet. Lines over `line_bytes` are not read.
    #[must_use]
    pub fn new(line_bytes: usize) -> Self {
        Self { line_bytes, states: vec![State::default()] }
    }

    /// What the file holds now.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        self.states.last().map_or(&[], |state| &state.bytes)
    }

    /// The file grows.
    pub fn append(&mut self, bytes: &[u8]) {
        if let Some(state) = self.states.last_mut() {
            state.bytes.extend_from_slice(bytes);
        }
    }

    /// The file holds this from now on.
    pub fn set(&mut self, content: Vec<u8>) {
        let state = self.states.last_mut().filter(|state| content.starts_with(&state.bytes));
        match state {
            Some(state) => state.bytes = content,
            None => self.states.push(State { bytes: content, ..State::default() }),
        }
    }

    /// The number of the state that it is in.
    #[must_use]
    pub fn now(&self) -> usize {
        self.states.len().saturating_sub(1)
    }

    /// Every entry of a state.
    pub fn entries(&mut self, state: usize) -> &[String] {
        let line_bytes = self.line_bytes;
        self.states.get_mut(state).map_or(&[], |state| state.read(line_bytes))
    }
}

impl State {
    /// Lines are read one by one and none depends on another, so that those which were read before need no second look.
    fn read(&mut self, line_bytes: usize) -> &[String] {
        let reader = AgentKind::Claude.reader();
        self.entries.truncate(self.settled);
        while let Some(rest) = self.bytes.get(self.settled_bytes..)
            && let Some(end) = rest.iter().position(|byte| *byte == b'\n')
        {
            let (line, _) = rest.split_at(end);
            read_line(&*reader, self.settled_bytes, line, line_bytes, &mut self.entries);
            self.settled = self.entries.len();
            self.settled_bytes += end + 1;
        }
        let tail = self.bytes.get(self.settled_bytes..).unwrap_or_default();
        if tail.len() <= line_bytes && records::is_whole(tail) {
            read_line(&*reader, self.settled_bytes, tail, line_bytes, &mut self.entries);
        }
        &self.entries
    }
}

fn read_line(reader: &dyn Reader, at: usize, line: &[u8], line_bytes: usize, entries: &mut Vec<String>) {
    let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
    let over_cap = (line.len() > line_bytes).then_some(length);
    let bytes = if over_cap.is_some() { &[] } else { line };
    let line = Line { offset: u64::try_from(at).unwrap_or(u64::MAX), bytes, over_cap };
    reader.read(&line, &Caps::WIRE, &mut |entry| {
        let seq = Seq::after(u64::try_from(entries.len()).unwrap_or(u64::MAX));
        entries.push(String::from_utf8_lossy(&frames::bare_entry(seq, &entry)).into_owned());
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Transcript;

    #[test]
    fn what_only_grows_is_one_state() {
        let mut agent = Transcript::new("s", "/srv/x");
        let (first, second) = (agent.talk(2), agent.talk(1));
        let mut file = Chronicle::new(1 << 20);
        file.append(first.as_bytes());
        assert_eq!((file.now(), file.entries(0).len()), (0, 2));
        let (head, tail) = second.split_at(40);
        file.append(head.as_bytes());
        assert_eq!(file.entries(0).len(), 2);
        file.append(tail.trim_end().as_bytes());
        assert_eq!(file.entries(0).len(), 3);
        file.set([first.as_str(), &second, "x\n"].concat().into_bytes());
        assert_eq!((file.now(), file.entries(0).len()), (0, 4));
        file.set(first.clone().into_bytes());
        assert_eq!((file.now(), file.entries(1).len(), file.entries(0).len()), (1, 2, 4));
    }
}
