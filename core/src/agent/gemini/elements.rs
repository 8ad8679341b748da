//! The messages of a document, as its bytes come: the elements of the list `messages` at its top level.
//!
//! Of the document no more is held than the element that is on its way. What an element says is for others to judge.

use alloc::vec::Vec;

use memchr::memchr2;

/// The key of the list.
const LIST: &[u8] = b"messages";

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element<'a> {
    /// All of its bytes.
    Whole(&'a [u8]),
    /// It is over the cap: how long it is.
    TooLong(u64),
}

/// Finds them.
#[derive(Debug, Default)]
pub(super) struct Elements {
    cap_bytes: usize,
    /// How many objects and lists are open here.
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The last string of the top level, as far as it may be that key; and whether the key was it.
    key: Vec<u8>,
    is_messages: bool,
    in_list: bool,
    has_list: bool,
    /// The element on its way.
    element: Option<Vec<u8>>,
    /// How long it is, if it is over the cap.
    over: u64,
    complete: bool,
    /// Something stands behind the end of the document.
    goes_on: bool,
}

impl Elements {
    pub(super) fn new(cap_bytes: usize) -> Self {
        Self { cap_bytes, ..Self::default() }
    }

    /// Whether the document has come to its end, and nothing stands behind it.
    pub(super) const fn is_whole(&self) -> bool {
        self.complete && !self.goes_on
    }

    /// Whether there was a list of messages.
    pub(super) const fn has_list(&self) -> bool {
        self.has_list
    }

    /// Takes the next bytes, and lends each element that ends in them.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Element<'_>)) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if self.in_string && !self.escaped {
                let run = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                let (said, behind) = rest.split_at(run);
                if !said.is_empty() {
                    self.keep(said);
                    self.keep_key(said);
                    rest = behind;
                    continue;
                }
            }
            rest = after;
            if self.complete {
                self.goes_on |= !byte.is_ascii_whitespace();
            } else if self.in_string {
                self.keep(&[byte]);
                match (self.escaped, byte) {
                    (true, _) => self.escaped = false,
                    (false, b'\\') => self.escaped = true,
                    (false, _) => self.in_string = false,
                }
            } else {
                self.take(byte, &mut each);
            }
        }
    }

    /// Takes a byte that is in no string.
    fn take(&mut self, byte: u8, each: &mut impl FnMut(Element<'_>)) {
        let at_list = self.in_list && self.depth == 2;
        match byte {
            b',' if at_list => return self.finish(each),
            b']' if at_list => {
                self.finish(each);
                (self.in_list, self.depth) = (false, 1);
                return;
            }
            b'[' if self.depth == 1 && self.is_messages => {
                (self.in_list, self.has_list, self.depth) = (true, true, 2);
                return;
            }
            _ => {}
        }
        if at_list && self.element.is_none() && !byte.is_ascii_whitespace() {
            (self.element, self.over) = (Some(Vec::new()), 0);
        }
        self.keep(&[byte]);
        match byte {
            b'"' => {
                self.in_string = true;
                self.key.clear();
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.complete = self.depth == 0;
            }
            b':' if self.depth == 1 => self.is_messages = self.key == LIST,
            b',' if self.depth == 1 => self.is_messages = false,
            _ => {}
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let Some(element) = &mut self.element else { return };
        if self.over > 0 || element.len().saturating_add(bytes.len()) > self.cap_bytes {
            self.over = self.over.max(element.len() as u64).saturating_add(bytes.len() as u64);
            *element = Vec::new();
        } else {
            element.extend_from_slice(bytes);
        }
    }

    fn keep_key(&mut self, bytes: &[u8]) {
        if self.depth == 1 && self.key.len() <= LIST.len() {
            self.key.extend(bytes.iter().take(LIST.len().saturating_add(1)));
        }
    }

    fn finish(&mut self, each: &mut impl FnMut(Element<'_>)) {
        if let Some(element) = self.element.take() {
            each(if self.over > 0 { Element::TooLong(self.over) } else { Element::Whole(element.trim_ascii()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;

    use super::*;

    const TEXT: &str = r#" {"a":"messages","b":["messages", {"messages":[9]}], "messages" : [
        {"id":"x", "content":"]}\"\\"}, 7,[ [1] ,2], "s,]" ,null ] , "kind":"x,[" } "#;

    fn elements(text: &str, step: usize, cap: usize) -> (Vec<String>, Elements) {
        let (mut found, mut elements) = (Vec::new(), Elements::new(cap));
        for piece in text.as_bytes().chunks(step) {
            elements.push(piece, |element| {
                found.push(match element {
                    Element::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                    Element::TooLong(bytes) => alloc::format!("{bytes} bytes"),
                });
            });
        }
        (found, elements)
    }

    #[test]
    fn every_element_of_the_list_is_lent_however_the_bytes_come() {
        let expected = [r#"{"id":"x", "content":"]}\"\\"}"#, "7", "[ [1] ,2]", r#""s,]""#, "null"];
        for step in [1, 2, 7, TEXT.len()] {
            let (found, elements) = elements(TEXT, step, 1 << 20);
            assert_eq!(found, expected, "{step}");
            assert!(elements.is_whole() && elements.has_list());
        }
        assert!(!elements(&TEXT[..TEXT.len() - 3], 9, 99).1.is_whole());
        assert!(!elements(&alloc::format!("{TEXT}x"), 9, 99).1.is_whole());
    }

    #[test]
    fn what_is_over_the_cap_is_counted_and_not_kept() {
        for step in [1, 5, TEXT.len()] {
            let (found, elements) = elements(TEXT, step, 9);
            assert_eq!(found, vec!["30 bytes", "7", "[ [1] ,2]", r#""s,]""#, "null"], "{step}");
            assert!(elements.is_whole());
        }
    }

    #[test]
    fn a_document_without_the_list_has_none() {
        for text in ["{}", "[1]", r#"{"messages":{"a":[1]}}"#, r#"{"messages2":[1],"x":{"messages":[1]}}"#] {
            let (found, elements) = elements(text, 3, 99);
            assert_eq!((found.len(), elements.is_whole(), elements.has_list()), (0, true, false), "{text}");
        }
    }
}
