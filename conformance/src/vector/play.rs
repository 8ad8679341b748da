//! Plays a vector on a stage, and says what came of it.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::vector::document::Vector;
use crate::vector::pattern::{Bindings, Pattern};
use crate::vector::stage::{Answered, Asked, Change, Heard, Stage, Trouble, Welcome};
use crate::vector::step::{Answer, Auth, Closed, Coming, Connect, Expect, Never, Request, Step, TypedInto};

/// Types of frames that every expectation looks at. Others are looked at by steps that name them, and else skipped.
const STREAM: [&str; 5] = ["hello", "entry", "backlog_complete", "page_complete", "session_changed"];
/// Frames that a failure shows, the newest.
const MAX_SHOWN: usize = 6;
/// A token that opens nothing.
const WRONG_TOKEN: &str = "not-the-token";

/// What came of a vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything came as expected.
    Passed,
    /// Something else came.
    Failed(Box<Failure>),
    /// The kit or the server could not go on.
    Broken(Trouble),
    /// It was not played, for this reason.
    LeftOut(String),
}

impl Verdict {
    /// In one word, for programs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::Broken(_) => "broken",
            Self::LeftOut(_) => "left_out",
        }
    }
}

/// Where a vector failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The step, counted from 1.
    pub step: usize,
    /// What was expected.
    pub expected: String,
    /// What came instead.
    pub came: String,
    /// The frames that this client got last before.
    pub before: Vec<String>,
    /// Names of the sentences that this breaks.
    pub breaks: Vec<String>,
}

/// Plays a vector.
pub fn play(vector: &Vector, stage: &mut dyn Stage) -> Verdict {
    if let Some(why) = vector.needs().into_iter().find_map(|need| stage.lacks(need)) {
        return Verdict::LeftOut(why.into());
    }
    let mut player = Player { vector, stage, bindings: Bindings::new(), clients: BTreeMap::new() };
    let played = player.stage.set(vector).map_err(Stop::from).and_then(|()| player.play());
    let struck = player.stage.strike();
    match (played, struck) {
        (Ok(()), Ok(())) => Verdict::Passed,
        (Err(Stop::Failed(mut failure)), struck) => {
            failure.came.extend(struck.err().map(|trouble| format!("\n{trouble}")));
            Verdict::Failed(failure)
        }
        (Err(Stop::Trouble(trouble)), _) | (Ok(()), Err(trouble)) => Verdict::Broken(trouble),
    }
}

/// Why a play ends early.
enum Stop {
    Failed(Box<Failure>),
    Trouble(Trouble),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<String> for Stop {
    fn from(why: String) -> Self {
        Self::Trouble(Trouble(why))
    }
}

/// What a step found wrong.
struct Wrong {
    expected: String,
    came: String,
    client: Option<String>,
}

struct Player<'a> {
    vector: &'a Vector,
    stage: &'a mut dyn Stage,
    bindings: Bindings,
    clients: BTreeMap<String, VecDeque<String>>,
}

impl Player<'_> {
    fn play(&mut self) -> Result<(), Stop> {
        for (at, step) in self.vector.steps.iter().enumerate() {
            if let Some(Wrong { expected, came, client }) = self.step(step)? {
                let before = client.and_then(|client| self.clients.remove(&client)).unwrap_or_default().into();
                let own = step.proves();
                let breaks = if own.is_empty() { self.vector.proves.as_slice() } else { own }.to_vec();
                return Err(Stop::Failed(Box::new(Failure { step: at + 1, expected, came, before, breaks })));
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<Option<Wrong>, Stop> {
        match step {
            Step::Append(to) => self.change(&to.file, Change::Append(self.vector.bytes(&to.content)?)),
            Step::Write(to) => self.change(&to.file, Change::Write(self.vector.bytes(&to.content)?)),
            Step::Replace(to) => self.change(&to.file, Change::Replace(self.vector.bytes(&to.content)?)),
            Step::Overwrite(to) => self.change(&to.file, Change::Overwrite(to.offset, self.vector.bytes(&to.content)?)),
            Step::Truncate(cut) => self.change(&cut.file, Change::Truncate(cut.to)),
            Step::Rename(renamed) => self.change(&renamed.file, Change::Rename(renamed.to.clone())),
            Step::Delete(named) => self.change(&named.file, Change::Delete),
            Step::Spoil(named) => self.change(&named.file, Change::Spoil),
            Step::Heal(named) => self.change(&named.file, Change::Heal),
            Step::Herdr(change) => Ok(self.stage.herdr(change).map(|()| None)?),
            Step::Pass(passing) => Ok(self.stage.pass(Duration::from_millis(passing.ms)).map(|()| None)?),
            Step::Connect(connect) => self.connect(connect),
            Step::Say(say) => Ok(self.stage.say(&say.client, &say.message).map(|()| None)?),
            Step::Read(read) => Ok(self.stage.read(&read.client, read.speed).map(|()| None)?),
            Step::Drop(of) => Ok(self.stage.leave(&of.client).map(|()| None)?),
            Step::Mute(of) => Ok(self.stage.mute(&of.client).map(|()| None)?),
            Step::Restart(_) => Ok(self.stage.restart().map(|()| None)?),
            Step::Request(request) => self.request(request),
            Step::Typed(typed) => self.typed(typed),
            Step::Expect(expect) => self.expect(expect),
            Step::Never(never) => self.never(never),
            Step::Closed(closed) => self.closed(closed),
            Step::Pinged(pinged) => {
                let pings = self.stage.pings(&pinged.client)?;
                let fits = pinged.times.fits(&pings.into(), &mut self.bindings);
                Ok(fits.err().map(|_| wrong(&format!("{} pings", pinged.times), format!("{pings} pings"))))
            }
        }
    }

    fn change(&mut self, file: &str, change: Change) -> Result<Option<Wrong>, Stop> {
        Ok(self.stage.change(file, &change).map(|()| None)?)
    }

    fn connect(&mut self, connect: &Connect) -> Result<Option<Wrong>, Stop> {
        let mut query: Vec<(&str, String)> = Vec::new();
        query.extend(connect.pane.iter().map(|pane| ("pane", pane.clone())));
        for (name, value) in &connect.query {
            query.push((name, self.filled(value)?));
        }
        let asked = self.asked("GET", &connect.path, &query, connect.auth, &connect.headers)?;
        self.clients.insert(connect.client.clone(), VecDeque::new());
        let within = self.patience(connect.within_ms);
        let welcome = self.stage.connect(&connect.client, &asked, within)?;
        Ok(match (welcome, &connect.refused) {
            (None, _) => Some(wrong("an answer to the upgrade", format!("none within {} ms", within.as_millis()))),
            (Some(Welcome::Open), None) => None,
            (Some(Welcome::Open), Some(answer)) => Some(wrong(&shown(answer), "the socket is open".into())),
            (Some(Welcome::Refused(came)), None) => Some(wrong("an open socket", told(&came))),
            (Some(Welcome::Refused(came)), Some(answer)) => self.judge(answer, &came),
        })
    }

    fn request(&mut self, request: &Request) -> Result<Option<Wrong>, Stop> {
        let mut query = Vec::new();
        for (name, value) in &request.query {
            query.push((name.as_str(), self.filled(value)?));
        }
        let mut asked = self.asked(&request.method, &request.path, &query, request.auth, &request.headers)?;
        if let Some(body) = &request.body {
            asked.body = Some(self.filled(&body.to_string())?);
        }
        let within = self.patience(request.within_ms);
        Ok(match self.stage.request(&asked, within)? {
            None => Some(wrong(&shown(&request.answer), format!("no answer within {} ms", within.as_millis()))),
            Some(came) => self.judge(&request.answer, &came),
        })
    }

    fn typed(&mut self, typed: &TypedInto) -> Result<Option<Wrong>, Stop> {
        let writes = self.stage.typed(&typed.pane)?;
        let (text, list): (Value, Value) = (writes.concat().into(), writes.clone().into());
        for (pattern, value) in [(&typed.text, text), (&typed.writes, list)] {
            if let Some(pattern) = pattern
                && pattern.fits(&value, &mut self.bindings).is_err()
            {
                return Ok(Some(wrong(&format!("typed into {}: {pattern}", typed.pane), format!("{writes:?}"))));
            }
        }
        Ok(None)
    }

    fn judge(&mut self, answer: &Answer, came: &Answered) -> Option<Wrong> {
        let fits = |pattern: &Pattern, value: Value, bindings: &mut Bindings| pattern.fits(&value, bindings).is_ok();
        let headers: Value =
            came.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let fine = fits(&answer.status, came.status.into(), &mut self.bindings)
            && answer.body.as_ref().is_none_or(|body| fits(body, came.body.as_str().into(), &mut self.bindings))
            && answer.headers.as_ref().is_none_or(|wanted| fits(wanted, headers, &mut self.bindings));
        (!fine).then(|| wrong(&shown(answer), told(came)))
    }

    fn expect(&mut self, expect: &Expect) -> Result<Option<Wrong>, Stop> {
        let named = expect.frames.iter().flat_map(Coming::patterns).filter_map(Pattern::frame_type);
        let looked_at: BTreeSet<&str> = STREAM.into_iter().chain(named).collect();
        let within = self.patience(expect.within_ms);
        for coming in &expect.frames {
            let found = match coming {
                Coming::Frame(pattern) => self.one(&expect.client, pattern, &looked_at, within)?,
                Coming::Repeat(patterns) => self.each(&expect.client, patterns, &looked_at, within)?,
                Coming::SkipTo(pattern) => self.skip_to(&expect.client, pattern, &[], within)?,
                Coming::Interleaved(lanes) => self.interleaved(&expect.client, lanes, &looked_at, within)?,
            };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn each(
        &mut self,
        client: &str,
        patterns: &[Pattern],
        looked_at: &BTreeSet<&str>,
        within: Duration,
    ) -> Result<Option<Wrong>, Stop> {
        for pattern in patterns {
            if let Some(wrong) = self.one(client, pattern, looked_at, within)? {
                return Ok(Some(wrong));
            }
        }
        Ok(None)
    }

    /// The next frame that is looked at fits.
    fn one(
        &mut self,
        client: &str,
        pattern: &Pattern,
        looked_at: &BTreeSet<&str>,
        within: Duration,
    ) -> Result<Option<Wrong>, Stop> {
        let frame = match self.next(client, looked_at, within)? {
            Ok(frame) => frame,
            Err(came) => return Ok(Some(Wrong { expected: pattern.to_string(), came, client: Some(client.into()) })),
        };
        let misfit = pattern.fits(&frame, &mut self.bindings).err();
        Ok(misfit.map(|misfit| Wrong {
            expected: pattern.to_string(),
            came: format!("{frame}\n  {misfit}"),
            client: Some(client.into()),
        }))
    }

    /// Anything up to a frame that fits, but for frames that must not come before.
    fn skip_to(
        &mut self,
        client: &str,
        pattern: &Pattern,
        not: &[Pattern],
        within: Duration,
    ) -> Result<Option<Wrong>, Stop> {
        let until = self.stage.now() + within;
        loop {
            let told = |came: String| Wrong { expected: pattern.to_string(), came, client: Some(client.into()) };
            let frame = match self.heard(client, self.left(until))? {
                Ok(frame) => frame,
                Err(came) => return Ok(Some(told(came))),
            };
            if pattern.fits(&frame, &mut self.bindings).is_ok() {
                return Ok(None);
            }
            if self.stage.now() > until {
                return Ok(Some(told(format!("not within {} ms; last {frame}", within.as_millis()))));
            }
            if not.iter().any(|not| not.fits(&frame, &mut self.bindings.clone()).is_ok()) {
                return Ok(Some(told(format!("before it: {frame}"))));
            }
        }
    }

    /// Every frame is the next one of a lane, until all lanes are empty.
    fn interleaved(
        &mut self,
        client: &str,
        lanes: &[Vec<Pattern>],
        looked_at: &BTreeSet<&str>,
        within: Duration,
    ) -> Result<Option<Wrong>, Stop> {
        let mut lanes: Vec<VecDeque<&Pattern>> = lanes.iter().map(|lane| lane.iter().collect()).collect();
        while lanes.iter().any(|lane| !lane.is_empty()) {
            let next = self.next(client, looked_at, within)?;
            let bindings = &mut self.bindings;
            let fitting = next.as_ref().ok().and_then(|frame| {
                lanes.iter_mut().find(|lane| lane.front().is_some_and(|next| next.fits(frame, bindings).is_ok()))
            });
            if let Some(lane) = fitting {
                lane.pop_front();
                continue;
            }
            let wanted: Vec<String> = lanes.iter().filter_map(|lane| lane.front()).map(ToString::to_string).collect();
            let came = next.map_or_else(|came| came, |frame| frame.to_string());
            return Ok(Some(Wrong { expected: wanted.join("\n  or "), came, client: Some(client.into()) }));
        }
        Ok(None)
    }

    fn never(&mut self, never: &Never) -> Result<Option<Wrong>, Stop> {
        if let Some(until) = &never.until {
            let within = self.patience(never.within_ms);
            return self.skip_to(&never.client, until, &never.frames, within);
        }
        self.stage.pass(Duration::from_millis(never.within_ms))?;
        loop {
            let frame = match self.heard(&never.client, Duration::ZERO)? {
                Ok(frame) => frame,
                Err(came) if came == SILENCE => return Ok(None),
                Err(came) => return Ok(Some(wrong("a socket that stays open", came))),
            };
            if let Some(not) = never.frames.iter().find(|not| not.fits(&frame, &mut self.bindings.clone()).is_ok()) {
                let expected = format!("nothing that is {not} within {} ms", never.within_ms);
                return Ok(Some(Wrong { expected, came: frame.to_string(), client: Some(never.client.clone()) }));
            }
        }
    }

    fn closed(&mut self, closed: &Closed) -> Result<Option<Wrong>, Stop> {
        let until = self.stage.now() + self.patience(closed.within_ms);
        let reason = closed.reason.as_ref().map(|reason| format!(" with reason {reason}")).unwrap_or_default();
        let expected = format!("closed by {}{reason}", closed.code);
        loop {
            let came = match self.stage.hear(&closed.client, self.left(until))? {
                Heard::Text(text) if self.stage.now() <= until => {
                    self.remember(&closed.client, text);
                    continue;
                }
                Heard::Closed(code, reason) => {
                    let fits = closed.code.fits(&code.into(), &mut self.bindings).is_ok()
                        && closed
                            .reason
                            .as_ref()
                            .is_none_or(|wanted| wanted.fits(&reason.as_str().into(), &mut self.bindings).is_ok());
                    if fits {
                        return Ok(None);
                    }
                    told_end(&Heard::Closed(code, reason))
                }
                other => told_end(&other),
            };
            return Ok(Some(Wrong { expected, came, client: Some(closed.client.clone()) }));
        }
    }

    /// The next frame of a type that is looked at; otherwise what came instead.
    fn next(
        &mut self,
        client: &str,
        looked_at: &BTreeSet<&str>,
        within: Duration,
    ) -> Result<Result<Value, String>, Stop> {
        let until = self.stage.now() + within;
        loop {
            let heard = self.heard(client, self.left(until))?;
            let skipped =
                heard.as_ref().is_ok_and(|frame| frame["type"].as_str().is_some_and(|kind| !looked_at.contains(kind)));
            if !skipped {
                return Ok(heard);
            }
            // A server may send what the kit does not know for ever.
            if self.stage.now() > until {
                return Ok(Err(SILENCE.into()));
            }
        }
    }

    fn patience(&self, within_ms: u64) -> Duration {
        self.stage.patience(Duration::from_millis(within_ms))
    }

    /// What is left of the time until then.
    fn left(&self, until: Duration) -> Duration {
        until.saturating_sub(self.stage.now())
    }

    /// The next frame; otherwise what came instead.
    fn heard(&mut self, client: &str, within: Duration) -> Result<Result<Value, String>, Stop> {
        let text = match self.stage.hear(client, within)? {
            Heard::Text(text) => text,
            other => return Ok(Err(told_end(&other))),
        };
        let frame = serde_json::from_str::<Value>(&text);
        let frame = frame.map_err(|error| format!("a frame that is not JSON ({error}): {text}")).and_then(|frame| {
            if frame.is_object() { Ok(frame) } else { Err(format!("a frame that is no object: {text}")) }
        });
        self.remember(client, text);
        Ok(frame)
    }

    fn remember(&mut self, client: &str, text: String) {
        let frames = self.clients.entry(client.into()).or_default();
        frames.push_back(text);
        if frames.len() > MAX_SHOWN {
            frames.pop_front();
        }
    }

    fn asked(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, String)],
        auth: Auth,
        headers: &BTreeMap<String, String>,
    ) -> Result<Asked, Stop> {
        let token = self.stage.token();
        let (in_query, in_header) = match auth {
            Auth::Query => (Some(token), None),
            Auth::Header => (None, Some(token)),
            Auth::None => (None, None),
            Auth::WrongQuery => (Some(WRONG_TOKEN), None),
            Auth::WrongHeader => (None, Some(WRONG_TOKEN)),
            Auth::WrongHeaderRightQuery => (Some(token), Some(WRONG_TOKEN)),
        };
        let pairs =
            query.iter().map(|(name, value)| (*name, value.as_str())).chain(in_query.map(|token| ("token", token)));
        let pairs: Vec<String> = pairs.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let target = if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) };
        let mut all = BTreeMap::new();
        for (name, value) in headers {
            all.insert(name.clone(), self.filled(value)?);
        }
        all.extend(in_header.map(|token| ("Authorization".to_owned(), format!("Bearer {token}"))));
        Ok(Asked { method: method.into(), target, headers: all, body: None })
    }

    /// A text with what was captured in the place of `${name}`.
    fn filled(&self, text: &str) -> Result<String, Stop> {
        let mut out = text.replace("${token}", self.stage.token()).replace("${host}", &self.stage.host());
        for (name, value) in &self.bindings {
            let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            out = out.replace(&format!("$[{name}]"), &value);
        }
        Ok(out)
    }
}

const SILENCE: &str = "nothing";

fn told_end(heard: &Heard) -> String {
    match heard {
        Heard::Text(text) => text.clone(),
        Heard::Binary(bytes) => format!("a binary message of {bytes} bytes"),
        Heard::Closed(code, reason) => format!("closed by {code} with reason {reason:?}"),
        Heard::Garbled(why) => format!("bytes that are no WebSocket frames: {why}"),
        Heard::Cut => "the connection ended without a close frame".into(),
        Heard::Silence => SILENCE.into(),
    }
}

fn wrong(expected: &str, came: String) -> Wrong {
    Wrong { expected: expected.into(), came, client: None }
}

fn told(answer: &Answered) -> String {
    let headers: Vec<String> = answer.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    format!("status {} with body {:?} ({})", answer.status, answer.body, headers.join(", "))
}

fn shown(answer: &Answer) -> String {
    let body = answer.body.as_ref().map(|body| format!(" with body {body}")).unwrap_or_default();
    let headers = answer.headers.as_ref().map(|headers| format!(" and headers {headers}")).unwrap_or_default();
    format!("status {}{body}{headers}", answer.status)
}

/// Percent-encoded, but for what needs it nowhere.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
