//! Ids and counters, each a type of its own so that mixing two of them does not compile.

use alloc::string::String;
use core::fmt;

/// One HTTP exchange: a request and its answer, or the WebSocket it became. Chosen by the runtime, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExId(pub u64);

/// One operation that the core asked for. Chosen by the core, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// An open file. Chosen by the runtime in the answer to [`Op::Open`](crate::io::Op::Open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub u64);

/// A watched directory. Chosen by the runtime in the answer to [`Op::Watch`](crate::io::Op::Watch), never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub u64);

/// The place of an entry in its stream: 1 for the first, the stream's total for the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(u64);

impl Seq {
    /// The first entry of a stream.
    pub const FIRST: Self = Self(1);

    /// The entry after `count` others.
    #[must_use]
    pub const fn after(count: u64) -> Self {
        Self(count.saturating_add(1))
    }

    /// Its number on the wire.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The entry behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub String);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
    };
}

text_id! {
    /// What a client calls a pane: herdr's id (`w1:p1`), a standalone name (`claude:<session>`), or `demo`.
    PaneId
}
text_id! {
    /// A paired device: 8 hexadecimal digits, chosen by us.
    DeviceId
}
text_id! {
    /// An agent's own name for one conversation. Data from outside: never a path and never a pattern.
    SessionId
}
