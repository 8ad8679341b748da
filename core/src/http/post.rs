//! Calls that are complete only with the body of their request: one JSON object.
//!
//! Fields that nobody knows are ignored, and `null` is no value. A text is taken as it is or not at all: what is typed into
//! an agent is never mended.

use alloc::string::String;

use serde_json::{Map, Value};

use super::route::Call;
use crate::device::pairing::Grant;
use crate::device::{Scope, readable_name};
use crate::ids::{DeviceId, PaneId};
use crate::limits::{MAX_BODY_BYTES, PAIRING_BODY_BYTES};

/// An endpoint that takes a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Post {
    /// `POST /send`
    Send,
    /// `POST /approve`
    Approve,
    /// `POST /agent-mode/cycle`
    CycleMode,
    /// `POST /admin/pairing`
    Offer,
    /// `POST /pair`
    Pair,
    /// `POST /admin/devices/revoke`
    Revoke,
}

/// `POST /send`: something is typed into a pane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendCall {
    /// Into which pane.
    pub pane: PaneId,
    /// What.
    pub typed: Typed,
    /// The fingerprint of the question that it answers: of another one it is no answer.
    pub question: Option<String>,
}

/// What is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    /// One key by its name, such as `esc`.
    Key(String),
    /// A text, not empty; line ends behind it are the Enter key.
    Text(String),
}

/// `POST /approve`: the selected answer of a question is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApproveCall {
    /// Of which pane.
    pub pane: PaneId,
    /// herdr's counter when the question was seen.
    pub seq: u64,
    /// The fingerprint of the question that was seen.
    pub question: Option<String>,
}

/// `POST /pair`: a device brings a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairCall {
    /// The code, as it was typed.
    pub code: String,
    /// How the device calls itself.
    pub name: String,
}

impl Post {
    /// Bytes of its body at most. More is answered 413.
    #[must_use]
    pub const fn body_bytes(self) -> usize {
        match self {
            Self::Send | Self::Approve | Self::CycleMode => MAX_BODY_BYTES,
            Self::Offer | Self::Pair | Self::Revoke => PAIRING_BODY_BYTES,
        }
    }

    /// Whether it does something to an agent: see [`Call::writes`].
    #[must_use]
    pub const fn writes(self) -> bool {
        match self {
            Self::Send | Self::Approve | Self::CycleMode => true,
            Self::Offer | Self::Pair | Self::Revoke => false,
        }
    }

    /// The whole call.
    ///
    /// # Errors
    /// The body of a 400: what would have been a call.
    pub fn read(self, body: &[u8]) -> Result<Call, &'static str> {
        let fields = Fields::parse(body);
        match self {
            // Who asks for nothing in particular gets a code for everything.
            Self::Offer if body.iter().all(u8::is_ascii_whitespace) => {
                Ok(Call::Offer(Grant { scope: Scope::Full, name: None }))
            }
            Self::Offer => fields.and_then(|fields| fields.offer()).map(Call::Offer).ok_or("want {scope,name}"),
            Self::Pair => fields.and_then(|fields| fields.pair()).map(Call::Pair).ok_or("want {code,device_name}"),
            Self::Revoke => {
                let id = fields.and_then(|fields| fields.filled("id").map(DeviceId::from));
                id.map(Call::Revoke).ok_or("want {id}")
            }
            Self::Send => fields.and_then(|fields| fields.send()).map(Call::Send).ok_or("want {pane,text}"),
            Self::Approve => fields.and_then(|fields| fields.approve()).map(Call::Approve).ok_or("want {agent,seq}"),
            Self::CycleMode => fields.and_then(|fields| fields.pane("pane")).map(Call::CycleMode).ok_or("want {pane}"),
        }
    }
}

/// The fields of a body.
struct Fields(Map<String, Value>);

impl Fields {
    fn parse(body: &[u8]) -> Option<Self> {
        match serde_json::from_slice(body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body)) {
            Ok(Value::Object(fields)) => Some(Self(fields)),
            _ => None,
        }
    }

    /// A text that is not empty.
    fn filled(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    fn pane(&self, key: &str) -> Option<PaneId> {
        self.filled(key).map(PaneId::from)
    }

    /// A whole number, or its digits.
    fn number(&self, key: &str) -> Option<u64> {
        let value = self.0.get(key)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    }

    /// The question that is named, if one is. What is no text is no call: who means to name one must not be taken for one
    /// who does not care.
    fn question(&self) -> Option<Option<String>> {
        match self.0.get("question") {
            None | Some(Value::Null) => Some(None),
            Some(Value::String(question)) => Some(Some(question.clone()).filter(|question| !question.is_empty())),
            Some(_) => None,
        }
    }

    fn send(&self) -> Option<SendCall> {
        let key = self.filled("key").map(|key| Typed::Key(key.into()));
        let typed = key.or_else(|| self.filled("text").map(|text| Typed::Text(text.into())))?;
        Some(SendCall { pane: self.pane("pane")?, typed, question: self.question()? })
    }

    fn approve(&self) -> Option<ApproveCall> {
        Some(ApproveCall { pane: self.pane("agent")?, seq: self.number("seq")?, question: self.question()? })
    }

    fn offer(&self) -> Option<Grant> {
        let scope = match self.0.get("scope") {
            None | Some(Value::Null) => Scope::Full,
            Some(Value::String(scope)) if scope == "full" => Scope::Full,
            Some(Value::String(scope)) if scope == "read" => Scope::Read,
            Some(_) => return None,
        };
        Some(Grant { scope, name: self.filled("name").and_then(readable_name) })
    }

    fn pair(&self) -> Option<PairCall> {
        let name = self.filled("device_name").and_then(readable_name)?;
        Some(PairCall { code: self.filled("code")?.into(), name })
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use proptest::prelude::*;

    use super::*;

    fn send(body: &str) -> Option<(String, Typed, Option<String>)> {
        match Post::Send.read(body.as_bytes()) {
            Ok(Call::Send(call)) => Some((call.pane.0, call.typed, call.question)),
            Ok(_) => None,
            Err(text) => {
                assert_eq!(text, "want {pane,text}");
                None
            }
        }
    }

    #[test]
    fn a_key_wins_over_a_text() {
        let text = |text: &str| Typed::Text(text.into());
        let key = Typed::Key("esc".into());
        assert_eq!(send(r#"{"pane":"w1:p1","text":"go\n"}"#), Some(("w1:p1".into(), text("go\n"), None)));
        assert_eq!(
            send(r#"{"pane":"w1:p1","text":"go","key":"esc","question":"q1"}"#),
            Some(("w1:p1".into(), key, Some("q1".into())))
        );
        assert_eq!(
            send("\u{feff} {\"key\":null,\"text\":\"é\",\"pane\":\"w1:p1\",\"new\":[{}]} \n"),
            Some(("w1:p1".into(), text("é"), None))
        );
    }

    #[test]
    fn without_a_pane_or_anything_to_type_there_is_no_call() {
        for body in [
            "",
            "[]",
            "null",
            "{",
            r#"{"pane":"w1:p1"}"#,
            r#"{"pane":"w1:p1","text":""}"#,
            r#"{"pane":"","text":"a"}"#,
            r#"{"pane":1,"text":"a"}"#,
            r#"{"text":"a"}"#,
            r#"{"pane":"w1:p1","text":"\ud800"}"#,
            r#"{"pane":"w1:p1","text":"a"} {}"#,
            r#"{"pane":"w1:p1","text":"a","question":5}"#,
            r#"{"pane":"w1:p1","text":"a","question":["q1"]}"#,
        ] {
            assert_eq!(send(body), None, "{body}");
        }
        assert_eq!(Post::Send.read(b"{\"pane\":\"w1:p1\",\"text\":\"\xff\"}"), Err("want {pane,text}"));
    }

    #[test]
    fn the_counter_may_come_as_text() {
        let approve = |body: &str| Post::Approve.read(body.as_bytes());
        for seq in ["7", "\"7\""] {
            let body = alloc::format!("{{\"agent\":\"w1:p1\",\"seq\":{seq},\"question\":\"\"}}");
            let call = ApproveCall { pane: PaneId::from("w1:p1"), seq: 7, question: None };
            assert_eq!(approve(&body), Ok(Call::Approve(call)), "{body}");
        }
        for body in [
            r#"{"agent":"w1:p1"}"#,
            r#"{"seq":7}"#,
            r#"{"agent":"w1:p1","seq":-1}"#,
            r#"{"pane":"w1:p1","seq":7}"#,
            r#"{"agent":"w1:p1","seq":7,"question":5}"#,
            r#"{"agent":"w1:p1","seq":7,"question":false}"#,
        ] {
            assert_eq!(approve(body), Err("want {agent,seq}"), "{body}");
        }
    }

    #[test]
    fn a_mode_is_of_one_pane() {
        assert_eq!(Post::CycleMode.read(br#"{"pane":"w1:p1"}"#), Ok(Call::CycleMode(PaneId::from("w1:p1"))));
        assert_eq!(Post::CycleMode.read(br#"{"pane":null}"#), Err("want {pane}"));
    }

    #[test]
    fn a_code_is_for_everything_unless_it_says_otherwise() {
        let offer = |body: &str| Post::Offer.read(body.as_bytes());
        let grant = |scope, name: Option<&str>| Ok(Call::Offer(Grant { scope, name: name.map(Into::into) }));
        for body in ["", " \r\n", "{}", r#"{"scope":null,"name":" "}"#, r#"{"scope":"full","name":null}"#] {
            assert_eq!(offer(body), grant(Scope::Full, None), "{body}");
        }
        assert_eq!(offer(r#"{"scope":"read","name":"wall\ttablet"}"#), grant(Scope::Read, Some("wall tablet")));
        for body in ["[]", "{", r#"{"scope":"Read"}"#, r#"{"scope":1}"#] {
            assert_eq!(offer(body), Err("want {scope,name}"), "{body}");
        }
    }

    #[test]
    fn a_device_has_a_code_and_a_name() {
        let pair = |body: &str| Post::Pair.read(body.as_bytes());
        let call = Call::Pair(PairCall { code: "k7qm-3xtp".into(), name: "Ana's phone".into() });
        assert_eq!(pair(r#"{"code":"k7qm-3xtp","device_name":" Ana's phone\n","fcm_token":"x"}"#), Ok(call));
        for body in [
            r#"{"code":"K7QM3XTP"}"#,
            r#"{"code":"K7QM3XTP","device_name":" "}"#,
            r#"{"code":"","device_name":"a"}"#,
            r#"{"code":12345678,"device_name":"a"}"#,
            "",
        ] {
            assert_eq!(pair(body), Err("want {code,device_name}"), "{body}");
        }
        assert_eq!(Post::Revoke.read(br#"{"id":"1f2e3d4c"}"#), Ok(Call::Revoke(DeviceId::from("1f2e3d4c"))));
        assert_eq!(Post::Revoke.read(br#"{"id":7}"#), Err("want {id}"));
    }

    proptest! {
        #[test]
        fn no_body_is_too_odd(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            for post in [Post::Send, Post::Approve, Post::CycleMode, Post::Offer, Post::Pair, Post::Revoke] {
                let _ = post.read(&body);
            }
        }

        #[test]
        fn what_is_typed_is_what_was_sent(text in ".+") {
            let body = serde_json::json!({"pane": "w1:p1", "text": text}).to_string();
            prop_assert_eq!(send(&body), Some(("w1:p1".into(), Typed::Text(text), None)));
        }
    }
}
