//! The list of paired devices: read once, written when something in it changes.
//!
//! ```text
//!            load                 read
//!   Unread ───────▶ Loading ─────────────────────▶ Known
//!     ▲                │ ▲ not ours: set aside ─────▶ │ empty
//!     │ after a while  ▼ │                            ▼
//!     └──────────── Unusable                    written on each change
//! ```
//!
//! A list that cannot be read is never taken for an empty one, and never written over: what is damaged is first kept
//! under another name.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::time::Duration;

use bytes::Bytes;

use super::pairing::{Grant, Pairing, Wrong};
use super::{Caller, Device, Scope, code, kept};
use crate::http::auth::TokenDigest;
use crate::ids::{DeviceId, ExId};
use crate::io::{FailureKind, Level, Op, Outcome};
use crate::limits::{DEVICES_AGAIN, MAX_DEVICES, MAX_DEVICES_BYTES, SEEN_EVERY, WRONG_CODES};
use crate::machine::{Asks, Machine, Tag};
use crate::time::{Instant, Now, UnixMillis};

/// The devices, the codes by which more can be paired, and what is on its way.
#[derive(Debug)]
pub struct Register {
    path: String,
    list: List,
    pairing: Pairing,
    asks: Asks,
    pending: BTreeMap<Tag, Pending>,
    settled: VecDeque<(ExId, Settled)>,
    notes: VecDeque<(Level, String)>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each of them has its own answer")]
pub enum Settled {
    /// A code is open.
    Offered {
        /// The code.
        code: String,
        /// What it gives.
        scope: Scope,
    },
    /// A device is paired.
    Paired {
        /// The device.
        device: Device,
        /// Its bearer, which nobody will see again.
        bearer: String,
    },
    /// The device of this name is none any more.
    Revoked {
        /// The name.
        name: String,
    },
    /// Nothing of it was done, or not all.
    Refused {
        /// The HTTP status.
        status: u16,
        /// What happened, and what helps.
        text: String,
        /// When to try again.
        retry_after: Option<Duration>,
    },
}

/// Nobody knows now whose bearer it is: the list of devices cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

#[derive(Debug)]
enum List {
    Unread,
    Loading,
    Known(Vec<Device>),
    Unusable { again: Instant, why: String },
}

/// What an operation is for.
#[derive(Debug)]
enum Pending {
    Load,
    /// A list that is none was set aside.
    SetAside {
        place: String,
    },
    /// Secrets for a code, and for a device.
    Code {
        ex: ExId,
        grant: Grant,
    },
    Secrets {
        ex: ExId,
        name: String,
        scope: Scope,
    },
    /// The list with a new device, without one, or with another `last_seen`.
    Paired {
        ex: ExId,
        device: Device,
        bearer: String,
    },
    Revoked {
        ex: ExId,
        name: String,
    },
    Seen,
}

/// Random bytes of a bearer, and of an id.
const BEARER_BYTES: usize = 32;
const ID_BYTES: usize = 4;

impl Register {
    /// The list that lies in this directory. Nothing is read yet.
    #[must_use]
    pub fn new(state_dir: &str) -> Self {
        Self {
            path: format!("{state_dir}/{}", kept::NAME),
            list: List::Unread,
            pairing: Pairing::default(),
            asks: Asks::default(),
            pending: BTreeMap::new(),
            settled: VecDeque::new(),
            notes: VecDeque::new(),
        }
    }

    /// A list that is known, for tests of those who ask it.
    #[cfg(test)]
    pub(crate) fn of(devices: Vec<Device>) -> Self {
        Self { list: List::Known(devices), ..Self::new("/state") }
    }

    /// Whether the list is known, or known to be unusable; if not, it is being read from now on.
    pub fn is_ready(&mut self, now: Now) -> bool {
        match &self.list {
            List::Known(_) => true,
            List::Unusable { again, .. } if *again > now.mono => true,
            List::Loading => false,
            List::Unread | List::Unusable { .. } => {
                self.list = List::Loading;
                self.ask(Pending::Load, Op::Load { path: self.path.clone(), cap: MAX_DEVICES_BYTES });
                false
            }
        }
    }

    /// Whether the list is known.
    #[must_use]
    pub const fn is_known(&self) -> bool {
        matches!(self.list, List::Known(_))
    }

    /// Whose bearer this is.
    ///
    /// # Errors
    /// [`Unreadable`] if nobody can say.
    pub fn caller(&self, bearer: &TokenDigest) -> Result<Option<Caller>, Unreadable> {
        let List::Known(devices) = &self.list else { return Err(Unreadable) };
        // All of them are compared, so that the time tells nothing.
        let found =
            devices.iter().fold(None, |found, device| if device.bearer.is(bearer) { Some(device) } else { found });
        Ok(found.map(|device| Caller::Device(device.id.clone(), device.scope)))
    }

    /// The devices, the newest first.
    ///
    /// # Errors
    /// Why the list cannot be used, in words.
    pub fn devices(&self) -> Result<impl Iterator<Item = &Device>, String> {
        match &self.list {
            List::Known(devices) => Ok(devices.iter().rev()),
            List::Unread | List::Loading | List::Unusable { .. } => Err(self.why_unusable()),
        }
    }

    /// A device with this id.
    #[must_use]
    pub fn device(&self, id: &DeviceId) -> Option<&Device> {
        let List::Known(devices) = &self.list else { return None };
        devices.iter().find(|device| device.id == *id)
    }

    /// Opens a code.
    pub fn offer(&mut self, now: Now, ex: ExId, grant: Grant) {
        if let Some(refused) = self.full_or_unusable() {
            self.settled.push_back((ex, refused));
        } else if let Some(left) = self.pairing.rest(now.mono) {
            self.settled.push_back((ex, resting(left)));
        } else {
            self.ask(Pending::Code { ex, grant }, Op::Random { bytes: code::CODE_BYTES });
        }
    }

    /// Closes every code that is open.
    pub fn close_codes(&mut self) {
        self.pairing.close();
    }

    /// Pairs a device that brings a code.
    pub fn pair(&mut self, now: Now, ex: ExId, code: &str, name: &str) {
        if let Some(refused) = self.full_or_unusable() {
            return self.settled.push_back((ex, refused));
        }
        let refused = match self.pairing.redeem(now.mono, code) {
            Ok(Grant { scope, name: given }) => {
                let name = given.unwrap_or_else(|| name.to_string());
                return self.ask_for_secrets(ex, name, scope);
            }
            Err(Wrong::Resting(left)) => resting(left),
            Err(wrong @ (Wrong::Code | Wrong::LastStraw)) => {
                if wrong == Wrong::LastStraw {
                    let text = format!(
                        "{WRONG_CODES} wrong pairing codes: every code is dropped, and pairing rests for a minute"
                    );
                    self.notes.push_back((Level::Warn, text));
                }
                refused(403, "invalid or expired pairing code".to_string())
            }
        };
        self.settled.push_back((ex, refused));
    }

    /// Forgets a device. It is none from this moment on, whenever that is written.
    ///
    /// `true`: there was such a device, and what it has open must be closed.
    pub fn revoke(&mut self, ex: ExId, id: &DeviceId) -> bool {
        if let Some(device) = self.remove(id) {
            self.notes.push_back((Level::Info, format!("revoked the device '{}' ({id})", device.name)));
            self.save(Pending::Revoked { ex, name: device.name });
            return true;
        }
        let refused = match &self.list {
            List::Known(_) => refused(404, "no such device".to_string()),
            List::Unread | List::Loading | List::Unusable { .. } => self.unusable(),
        };
        self.settled.push_back((ex, refused));
        false
    }

    /// Who waited for this is gone. A device that has not got its bearer is none.
    pub fn leave(&mut self, ex: ExId) {
        self.settled.retain(|(other, _)| *other != ex);
        let unheard = self.pending.values().find_map(|pending| match pending {
            Pending::Paired { ex: other, device, .. } if *other == ex => Some(device.id.clone()),
            _ => None,
        });
        if let Some(id) = unheard
            && self.remove(&id).is_some()
        {
            self.save(Pending::Seen);
        }
        self.pending.retain(|_, pending| !matches!(pending, Pending::Code { ex: other, .. } | Pending::Secrets { ex: other, .. } if *other == ex));
    }

    /// A device called, or ends what it had open.
    pub fn seen(&mut self, now: UnixMillis, id: &DeviceId) {
        let List::Known(devices) = &mut self.list else { return };
        let Some(device) = devices.iter_mut().find(|device| device.id == *id) else { return };
        let age = Duration::from_millis(now.0.abs_diff(device.last_seen.0));
        if age >= SEEN_EVERY {
            device.last_seen = now;
            self.save(Pending::Seen);
        }
    }

    /// What became of a call, and whose.
    pub fn take_settled(&mut self) -> Option<(ExId, Settled)> {
        self.settled.pop_front()
    }

    /// Something to say to the operator.
    pub fn take_note(&mut self) -> Option<(Level, String)> {
        self.notes.pop_front()
    }

    fn ask(&mut self, pending: Pending, op: Op) {
        let tag = self.asks.ask(op);
        self.pending.insert(tag, pending);
    }

    fn ask_for_secrets(&mut self, ex: ExId, name: String, scope: Scope) {
        self.ask(Pending::Secrets { ex, name, scope }, Op::Random { bytes: BEARER_BYTES.saturating_add(ID_BYTES) });
    }

    fn save(&mut self, pending: Pending) {
        let List::Known(devices) = &self.list else { return };
        let bytes = kept::write(devices);
        self.ask(pending, Op::Write { path: self.path.clone(), bytes });
    }

    fn remove(&mut self, id: &DeviceId) -> Option<Device> {
        let List::Known(devices) = &mut self.list else { return None };
        let at = devices.iter().position(|device| device.id == *id)?;
        Some(devices.remove(at))
    }

    fn full_or_unusable(&self) -> Option<Settled> {
        match &self.list {
            List::Known(devices) if devices.len() < MAX_DEVICES => None,
            List::Known(_) => {
                let text = format!("{MAX_DEVICES} devices are paired, and no more are allowed: revoke one first");
                Some(refused(409, text))
            }
            List::Unread | List::Loading | List::Unusable { .. } => Some(self.unusable()),
        }
    }

    fn unusable(&self) -> Settled {
        refused(500, self.why_unusable())
    }

    fn why_unusable(&self) -> String {
        let why = if let List::Unusable { why, .. } = &self.list { why } else { "it was not read yet" };
        format!("the list of devices cannot be used: {why}")
    }

    fn give_up(&mut self, now: Now, why: String) {
        self.notes.push_back((Level::Warn, format!("no device is known: the list of devices cannot be used: {why}")));
        self.list = List::Unusable { again: now.mono.plus(DEVICES_AGAIN), why };
    }

    fn loaded(&mut self, now: Now, outcome: Outcome<'_>) {
        let path = &self.path;
        match outcome {
            Outcome::Bytes { bytes, .. } => match kept::read(bytes) {
                Ok(devices) => self.list = List::Known(devices),
                Err(wrong) => {
                    let place = format!("{path}.damaged-{}", now.wall.0);
                    let text = format!("{path} is damaged ({wrong}): it is kept as {place}");
                    self.notes.push_back((Level::Warn, text));
                    let bytes = Bytes::copy_from_slice(bytes);
                    self.ask(Pending::SetAside { place: place.clone() }, Op::Write { path: place, bytes });
                }
            },
            Outcome::Failed(failure) if failure.kind == FailureKind::NotFound => self.list = List::Known(Vec::new()),
            Outcome::Failed(failure) if failure.kind == FailureKind::TooLarge => {
                self.give_up(
                    now,
                    format!("{path} is larger than {MAX_DEVICES_BYTES} bytes, so it is not ours: move it away"),
                );
            }
            outcome => self.give_up(now, format!("cannot read {path}: {}", failure_of(outcome))),
        }
    }

    fn set_aside(&mut self, now: Now, place: &str, outcome: Outcome<'_>) {
        if matches!(outcome, Outcome::Done) {
            let text = format!("no device is known any more: pair each again, or repair {place} and put it back");
            self.notes.push_back((Level::Warn, text));
            self.list = List::Known(Vec::new());
            // Otherwise the next start would find the damaged list once more.
            self.save(Pending::Seen);
        } else {
            self.give_up(
                now,
                format!("{} is damaged, and cannot be kept as {place}: {}", self.path, failure_of(outcome)),
            );
        }
    }

    fn opened(&mut self, now: Now, ex: ExId, grant: Grant, outcome: Outcome<'_>) {
        let code = if let Outcome::Random(bytes) = outcome { code::of(bytes) } else { None };
        let settled = match code {
            Some(code) => {
                let scope = grant.scope;
                self.pairing.open(now.mono, &code, grant);
                Settled::Offered { code, scope }
            }
            None => refused(500, format!("no code can be made: {}", failure_of(outcome))),
        };
        self.settled.push_back((ex, settled));
    }

    fn admit(&mut self, now: Now, ex: ExId, name: String, scope: Scope, outcome: Outcome<'_>) {
        let secrets = if let Outcome::Random(bytes) = outcome { bytes.split_at_checked(BEARER_BYTES) } else { None };
        let Some((bearer, id)) = secrets.filter(|(_, id)| id.len() == ID_BYTES) else {
            let text = format!("no bearer can be made: {}; ask for a new code", failure_of(outcome));
            return self.settled.push_back((ex, refused(500, text)));
        };
        let (bearer, id) = (hex(bearer), DeviceId(hex(id)));
        if self.device(&id).is_some() {
            // One in a hundred million: another one, then.
            return self.ask_for_secrets(ex, name, scope);
        }
        // Whoever came first while these were drawn has the seat.
        if let Some(refused) = self.full_or_unusable() {
            return self.settled.push_back((ex, refused));
        }
        let (paired_at, last_seen) = (now.wall, now.wall);
        let device = Device { id, name, scope, bearer: TokenDigest::of(&bearer), paired_at, last_seen };
        if let List::Known(devices) = &mut self.list {
            devices.push(device.clone());
        }
        self.save(Pending::Paired { ex, device, bearer });
    }

    fn written(&mut self, pending: Pending, outcome: Outcome<'_>) {
        let done = matches!(outcome, Outcome::Done);
        let failure = || failure_of(outcome);
        match pending {
            Pending::Paired { ex, device, bearer } => {
                let settled = if self.device(&device.id).is_none() {
                    refused(403, "the device was revoked".to_string())
                } else if done {
                    let Device { name, id, scope, .. } = &device;
                    let may = if *scope == Scope::Full { "read and answer" } else { "read" };
                    self.notes.push_back((Level::Info, format!("paired the device '{name}' ({id}): it may {may}")));
                    Settled::Paired { device, bearer }
                } else {
                    self.remove(&device.id);
                    let text = format!(
                        "the device cannot be kept: cannot write {}: {}; ask for a new code",
                        self.path,
                        failure()
                    );
                    refused(500, text)
                };
                self.settled.push_back((ex, settled));
            }
            Pending::Revoked { ex, name } => {
                let settled = if done {
                    Settled::Revoked { name }
                } else {
                    let text =
                        format!("revoked until the daemon is started again: cannot write {}: {}", self.path, failure());
                    refused(500, text)
                };
                self.settled.push_back((ex, settled));
            }
            _ if done => {}
            _ => self.notes.push_back((Level::Warn, format!("cannot write {}: {}", self.path, failure()))),
        }
    }
}

impl Machine for Register {
    fn poll_op(&mut self) -> Option<(Tag, Op)> {
        self.asks.take()
    }

    fn handle_outcome(&mut self, now: Now, tag: Tag, outcome: Outcome<'_>) {
        match self.pending.remove(&tag) {
            Some(Pending::Load) => self.loaded(now, outcome),
            Some(Pending::SetAside { place }) => self.set_aside(now, &place, outcome),
            Some(Pending::Code { ex, grant }) => self.opened(now, ex, grant, outcome),
            Some(Pending::Secrets { ex, name, scope }) => self.admit(now, ex, name, scope, outcome),
            Some(pending @ (Pending::Paired { .. } | Pending::Revoked { .. } | Pending::Seen)) => {
                self.written(pending, outcome);
            }
            None => {}
        }
    }
}

fn refused(status: u16, text: String) -> Settled {
    Settled::Refused { status, text, retry_after: None }
}

fn resting(left: Duration) -> Settled {
    let text = format!("too many wrong codes: pairing rests for {} s", seconds(left));
    Settled::Refused { status: 429, text, retry_after: Some(left) }
}

/// Whole seconds, rounded up: who waits that long does not come too early.
#[must_use]
pub fn seconds(left: Duration) -> u64 {
    left.as_secs().saturating_add(u64::from(left.subsec_nanos() > 0))
}

fn failure_of(outcome: Outcome<'_>) -> String {
    match outcome {
        Outcome::Failed(failure) => failure.text.to_string(),
        _ => "the program around this one answered something else".to_string(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
