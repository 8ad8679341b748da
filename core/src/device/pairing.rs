//! The codes that are open, and what becomes of those who guess.

use alloc::collections::VecDeque;
use alloc::string::String;
use core::time::Duration;

use super::Scope;
use super::code;
use crate::http::auth::TokenDigest;
use crate::limits::{CODE_LIFETIME, MAX_CODES, PAIRING_REST, WRONG_CODES};
use crate::time::Instant;

/// What a code gives to the device that brings it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// What the device may do.
    pub scope: Scope,
    /// How it shall be called, whatever it calls itself.
    pub name: Option<String>,
}

/// Why a code gives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It is none, was used, or is too old.
    Code,
    /// It is none, and was one too many: every code is dropped, and pairing rests.
    LastStraw,
    /// Pairing rests for so long still.
    Resting(Duration),
}

/// The codes that are open. They live in memory only, and not even there as they are.
#[derive(Debug, Default)]
pub struct Pairing {
    offers: VecDeque<Offer>,
    /// Wrong codes since the oldest of them was opened.
    wrong: u32,
    rests_until: Option<Instant>,
}

#[derive(Debug)]
struct Offer {
    code: TokenDigest,
    until: Instant,
    grant: Grant,
}

impl Pairing {
    /// Opens a code. With one too many the oldest is closed.
    pub fn open(&mut self, now: Instant, code: &str, grant: Grant) {
        self.drop_old(now);
        if self.offers.len() >= MAX_CODES {
            self.offers.pop_front();
        }
        self.offers.push_back(Offer { code: TokenDigest::of(code), until: now.plus(CODE_LIFETIME), grant });
    }

    /// Takes a code as it was typed. It works once.
    ///
    /// # Errors
    /// [`Wrong`]. While no code is open nobody can guess one, and wrong ones are not counted.
    pub fn redeem(&mut self, now: Instant, typed: &str) -> Result<Grant, Wrong> {
        if let Some(left) = self.rest(now) {
            return Err(Wrong::Resting(left));
        }
        self.drop_old(now);
        let presented = code::typed(typed).map(|code| TokenDigest::of(&code));
        // All of them are compared, so that the time tells nothing.
        let found = self.offers.iter().enumerate().fold(None, |found, (at, offer)| {
            let is_it = presented.as_ref().is_some_and(|presented| offer.code.is(presented));
            if is_it { Some(at) } else { found }
        });
        if let Some(offer) = found.and_then(|at| self.offers.remove(at)) {
            self.drop_old(now);
            return Ok(offer.grant);
        }
        if self.offers.is_empty() {
            return Err(Wrong::Code);
        }
        self.wrong = self.wrong.saturating_add(1);
        if self.wrong < WRONG_CODES {
            return Err(Wrong::Code);
        }
        self.close();
        self.rests_until = Some(now.plus(PAIRING_REST));
        Err(Wrong::LastStraw)
    }

    /// Closes every code.
    pub fn close(&mut self) {
        self.offers.clear();
        self.wrong = 0;
    }

    /// How long pairing rests still.
    #[must_use]
    pub fn rest(&self, now: Instant) -> Option<Duration> {
        self.rests_until.map(|until| until.since(now)).filter(|left| !left.is_zero())
    }

    fn drop_old(&mut self, now: Instant) {
        self.offers.retain(|offer| offer.until > now);
        if self.offers.is_empty() {
            self.wrong = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const FULL: Grant = Grant { scope: Scope::Full, name: None };
    const READ: Grant = Grant { scope: Scope::Read, name: None };

    fn at(seconds: u64) -> Instant {
        Instant::from_millis(seconds * 1_000)
    }

    #[test]
    fn a_code_works_once() {
        let mut pairing = Pairing::default();
        pairing.open(at(0), "K7QM3XTP", FULL);
        pairing.open(at(1), "00000000", READ);
        assert_eq!(pairing.redeem(at(2), "oooo-oooo"), Ok(READ));
        assert_eq!(pairing.redeem(at(2), "00000000"), Err(Wrong::Code));
        assert_eq!(pairing.redeem(at(299), "k7qm 3xtp"), Ok(FULL));
        assert_eq!(pairing.redeem(at(299), "K7QM3XTP"), Err(Wrong::Code));
    }

    #[test]
    fn a_code_works_for_five_minutes() {
        let mut pairing = Pairing::default();
        pairing.open(at(0), "K7QM3XTP", FULL);
        assert_eq!(pairing.redeem(at(300), "K7QM3XTP"), Err(Wrong::Code));
    }

    #[test]
    fn codes_are_closed_and_a_rest_is_not() {
        let mut pairing = Pairing::default();
        pairing.open(at(0), "K7QM3XTP", FULL);
        pairing.close();
        assert_eq!(pairing.redeem(at(1), "K7QM3XTP"), Err(Wrong::Code));
        pairing.open(at(2), "K7QM3XTP", FULL);
        let guesses: Vec<_> = (0..WRONG_CODES).map(|_| pairing.redeem(at(3), "00000000")).collect();
        assert_eq!(guesses.last(), Some(&Err(Wrong::LastStraw)));
        pairing.close();
        assert_eq!(pairing.rest(at(3)), Some(PAIRING_REST));
    }

    #[test]
    fn the_oldest_goes_when_there_are_too_many() {
        let mut pairing = Pairing::default();
        for n in 0..=MAX_CODES {
            pairing.open(at(0), &alloc::format!("{n:08}"), FULL);
        }
        assert_eq!(pairing.redeem(at(1), "00000000"), Err(Wrong::Code));
        assert_eq!(pairing.redeem(at(1), "00000001"), Ok(FULL));
        assert_eq!(pairing.redeem(at(1), &alloc::format!("{MAX_CODES:08}")), Ok(FULL));
    }

    #[test]
    fn whoever_guesses_makes_pairing_rest() {
        let mut pairing = Pairing::default();
        pairing.open(at(0), "K7QM3XTP", FULL);
        for _ in 1..WRONG_CODES {
            assert_eq!(pairing.redeem(at(1), "nonsense"), Err(Wrong::Code));
        }
        assert_eq!(pairing.redeem(at(1), "K7QM3XTQ"), Err(Wrong::LastStraw));
        assert_eq!(pairing.redeem(at(2), "K7QM3XTP"), Err(Wrong::Resting(Duration::from_secs(59))));
        assert_eq!(pairing.rest(at(60)), Some(Duration::from_secs(1)));
        assert_eq!((pairing.rest(at(61)), pairing.redeem(at(61), "K7QM3XTP")), (None, Err(Wrong::Code)));
        pairing.open(at(61), "K7QM3XTP", READ);
        assert_eq!(pairing.redeem(at(61), "K7QM3XTP"), Ok(READ));
    }

    #[test]
    fn guesses_count_only_while_there_is_something_to_guess() {
        let mut pairing = Pairing::default();
        for _ in 0..100 {
            assert_eq!(pairing.redeem(at(0), "K7QM3XTP"), Err(Wrong::Code));
        }
        for round in 0..3 {
            let now = at(round * 300);
            pairing.open(now, "K7QM3XTP", FULL);
            for _ in 1..WRONG_CODES {
                assert_eq!(pairing.redeem(now, "K7QM3XTQ"), Err(Wrong::Code));
            }
        }
        assert_eq!(pairing.rest(at(600)), None);
    }
}
