//! Calls about devices, and the calls that wait until it is known whose they are.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::Bridge;
use super::exchange::{Ending, Exchange};
use super::ops::Owner;
use crate::device::pairing::Grant;
use crate::device::register::{Settled, seconds};
use crate::device::{Caller, Device, Register};
use crate::http::devices::{Listing, Offered, Paired, Revoked};
use crate::http::{self, Answer, Manner, PairCall, Refusal};
use crate::ids::{DeviceId, ExId};
use crate::io::{Fin, Outcome, Output, Request};
use crate::limits::{MAX_BODY_BYTES, MAX_EXCHANGES, MAX_PARKED};
use crate::machine::{Machine as _, Tag};
use crate::mobile::events::Event;

/// The paired devices, and what each of them has open.
#[derive(Debug)]
pub(super) struct Devices {
    register: Register,
    callers: BTreeMap<ExId, DeviceId>,
    parked: usize,
}

/// A request of which nobody knows yet whose it is: the list of devices is being read, or the token file.
#[derive(Debug)]
pub(super) struct Parked {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    upgrade: bool,
    /// What of its body was on the way already.
    body: Vec<u8>,
    fin: Fin,
}

impl Devices {
    pub(super) fn new(state_dir: &str) -> Self {
        Self { register: Register::new(state_dir), callers: BTreeMap::new(), parked: 0 }
    }

    /// The list.
    pub(super) fn register(&self) -> &Register {
        &self.register
    }

    /// Closes every pairing code that is open.
    pub(super) fn close_codes(&mut self) {
        self.register.close_codes();
    }

    /// The device that has this open, if it is one.
    pub(super) fn of(&self, ex: ExId) -> Option<&Device> {
        self.callers.get(&ex).and_then(|id| self.register.device(id))
    }

    /// The exchange is over.
    pub(super) fn leave(&mut self, ex: ExId) -> Option<DeviceId> {
        self.callers.remove(&ex)
    }
}

impl Bridge {
    /// Whether this request must wait for the list of devices, which is being read then.
    pub(super) fn must_park(&mut self, request: &Request<'_>) -> bool {
        if self.stopping || self.devices.register.is_known() || !http::needs_devices(request, &self.config) {
            return false;
        }
        let wait = !self.devices.register.is_ready(self.now);
        self.run_register();
        wait && self.has_room_to_park()
    }

    /// Whether one more request may wait until it is known whose it is.
    pub(super) fn has_room_to_park(&self) -> bool {
        self.devices.parked < MAX_PARKED && self.exchanges.len() < MAX_EXCHANGES
    }

    /// Keeps a request until the list, or the token file, is read.
    pub(super) fn park(&mut self, ex: ExId, request: &Request<'_>) {
        let headers = request.headers.iter().map(|(name, value)| ((*name).to_string(), value.to_vec())).collect();
        let (method, target) = (request.method.to_string(), request.target.to_string());
        let parked = Parked { method, target, headers, upgrade: request.upgrade, body: Vec::new(), fin: Fin::More };
        self.exchanges.insert(ex, Exchange::Parked(Box::new(parked)));
        self.devices.parked = self.devices.parked.saturating_add(1);
        self.outputs.push_back(Output::Hold(ex, true));
    }

    /// A request waits no more.
    pub(super) fn leave_parked(&mut self) {
        self.devices.parked = self.devices.parked.saturating_sub(1);
    }

    /// Notes who calls: what a device has open ends when it is revoked, what the daemon's own token has when there is
    /// another one.
    pub(super) fn note_caller(&mut self, ex: ExId, caller: Caller) {
        match caller {
            Caller::Anyone => {}
            Caller::Admin => self.own_token.opens(ex),
            Caller::Device(id, _) => {
                self.devices.register.seen(self.now.wall, &id);
                self.devices.callers.insert(ex, id);
                self.run_register();
            }
        }
    }

    /// What a device had open is over: it was there until now.
    pub(super) fn leave_device(&mut self, ex: ExId) {
        if let Some(id) = self.devices.leave(ex) {
            self.devices.register.seen(self.now.wall, &id);
            self.run_register();
        }
    }

    /// `POST /admin/pairing`
    pub(super) fn offer(&mut self, ex: ExId, grant: Grant, manner: Manner) {
        self.exchanges.insert(ex, Exchange::Pairing { manner });
        self.devices.register.offer(self.now, ex, grant);
        self.run_register();
    }

    /// `POST /pair`
    pub(super) fn pair(&mut self, ex: ExId, call: &PairCall, manner: Manner) {
        self.exchanges.insert(ex, Exchange::Pairing { manner });
        self.devices.register.pair(self.now, ex, &call.code, &call.name);
        self.run_register();
    }

    /// `GET /admin/devices`
    pub(super) fn list_devices(&mut self, ex: ExId, manner: &Manner) {
        let answer = match self.devices.register.devices() {
            Ok(devices) => Answer::json(&Listing::of(devices), manner),
            Err(why) => Answer::text(500, &why, manner),
        };
        self.answer(ex, answer);
    }

    /// `POST /admin/devices/revoke`
    pub(super) fn revoke(&mut self, ex: ExId, id: &DeviceId, manner: Manner) {
        self.exchanges.insert(ex, Exchange::Pairing { manner });
        if self.devices.register.revoke(ex, id) {
            let open: Vec<ExId> =
                self.devices.callers.iter().filter(|(_, of)| *of == id).map(|(open, _)| *open).collect();
            for open in open {
                self.end(open, &Ending::REVOKED);
            }
        }
        self.run_register();
    }

    /// Whoever waited for a code, for a bearer or for an end of one is gone.
    pub(super) fn leave_pairing(&mut self, ex: ExId) {
        self.devices.register.leave(ex);
        self.run_register();
    }

    pub(super) fn register_outcome(&mut self, tag: Tag, outcome: Outcome<'_>) {
        let was_known = self.devices.register.is_known();
        self.devices.register.handle_outcome(self.now, tag, outcome);
        self.run_register();
        if !was_known && self.devices.register.is_ready(self.now) {
            self.let_parked_go_on();
        }
    }

    /// Goes on with the list: what it wants done, what it has to say, and whose calls are settled.
    fn run_register(&mut self) {
        self.ops.issue_all(Owner::Devices, &mut self.devices.register, &mut self.outputs);
        while let Some((level, note)) = self.devices.register.take_note() {
            self.outputs.push_back(Output::Log(level, note));
        }
        while let Some((ex, settled)) = self.devices.register.take_settled() {
            if let Some(Exchange::Pairing { manner }) = self.exchanges.remove(&ex) {
                self.settle_pairing(ex, settled, &manner);
            }
        }
    }

    fn settle_pairing(&mut self, ex: ExId, settled: Settled, manner: &Manner) {
        let server = &self.config.server;
        let answer = match settled {
            Settled::Offered { code, scope } => {
                let url = format!("{}/#pair={code}", server.url);
                Answer::json(&Offered::of(&code, &url, scope), manner)
            }
            Settled::Paired { device, bearer } => {
                let answer = Answer::json(&Paired::of(&device, &bearer, server), manner);
                self.publish(&Event::device_paired(device.id.as_str(), &device.name));
                answer
            }
            Settled::Revoked { name } => Answer::json(&Revoked::of(&name), manner),
            Settled::Refused { status, text, retry_after } => {
                let mut refusal = Refusal::new(status, &text, manner);
                if let Some(left) = retry_after {
                    refusal = refusal.with_header("retry-after", &seconds(left).to_string());
                }
                refusal.into()
            }
        };
        self.answer(ex, answer);
    }

    /// The list or the token file was read, or cannot be: every request that waited for it is looked at again.
    pub(super) fn let_parked_go_on(&mut self) {
        let is_parked = |exchange: &Exchange| matches!(exchange, Exchange::Parked(_));
        let waiting: Vec<ExId> =
            self.exchanges.iter().filter(|(_, exchange)| is_parked(exchange)).map(|(ex, _)| *ex).collect();
        for ex in waiting {
            let Some(Exchange::Parked(parked)) = self.exchanges.remove(&ex) else { continue };
            self.leave_parked();
            let Parked { method, target, headers, upgrade, body, fin } = *parked;
            let headers: Vec<(&str, &[u8])> = headers.iter().map(|(name, value)| (&**name, &**value)).collect();
            self.outputs.push_back(Output::Hold(ex, false));
            self.request(ex, &Request { method: &method, target: &target, headers: &headers, upgrade });
            self.body(ex, &body, fin);
        }
    }
}

impl Parked {
    /// Keeps a piece of its body. What is far too long is cut: it is refused for its length all the same.
    pub(super) fn take(&mut self, piece: &[u8], fin: Fin) {
        let room = MAX_BODY_BYTES.saturating_add(1).saturating_sub(self.body.len());
        self.body.extend_from_slice(piece.get(..room).unwrap_or(piece));
        self.fin = fin;
    }
}
