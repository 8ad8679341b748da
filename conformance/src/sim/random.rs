//! Where the simulated bridge takes its secrets from: a sequence that is the same in every run.

use core::time::Duration;

use panewire_core::io::{FailureKind, Op};

use super::disk::Performed;
use super::reply::Reply;

/// Random bytes that everybody can foretell.
#[derive(Debug, Clone, Default)]
pub struct Random {
    drawn: u64,
    /// The system has none.
    pub dry: bool,
}

impl Random {
    /// Performs an operation, if it is one for secrets.
    pub fn perform(&mut self, op: &Op) -> Option<Performed> {
        let Op::Random { bytes } = op else { return None };
        let reply = if self.dry { Reply::failed(FailureKind::Other) } else { Reply::Random(self.draw(*bytes)) };
        Some(Performed { reply, after: Duration::ZERO })
    }

    fn draw(&mut self, bytes: usize) -> Vec<u8> {
        let mut drawn = Vec::with_capacity(bytes.next_multiple_of(8));
        while drawn.len() < bytes {
            self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
            // SplitMix64: bytes that look like none of their neighbours.
            let mixed = (self.drawn ^ (self.drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            drawn.extend_from_slice(&(mixed ^ (mixed >> 31)).to_be_bytes());
        }
        drawn.truncate(bytes);
        drawn
    }
}
