//! A task notification: the text by which the harness tells an agent how its work in the background goes.

use alloc::vec::Vec;

/// What a notification says about the agents that it names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Notification<'a> {
    /// All that stand under its status.
    pub(super) agents: Vec<&'a str>,
    /// Whether they have ended.
    pub(super) ended: bool,
}

const OPENING: &str = "<task-notification>";
const CLOSING: &str = "</task-notification>";

/// The notifications at the beginning of a text, one behind the other. One without status, such as that of a monitor, says
/// nothing about an end.
///
/// An element is read up to its own end, so that tags which stand in a summary are not taken for the notification's. The
/// result is an agent's own prose and may hold anything: nothing behind its beginning is read.
pub(super) fn notifications(text: &str) -> Vec<Notification<'_>> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(inside) = rest.strip_prefix(OPENING) {
        // What is not closed is torn, or is no notification.
        if !inside.contains(CLOSING) {
            break;
        }
        let (notification, behind) = head(inside);
        found.extend(notification);
        let Some(behind) = behind else { break };
        // The harness adds a sentence behind some; the next one begins on a line of its own.
        rest = behind.find("\n<task-notification>").and_then(|at| behind.get(at..)).unwrap_or(behind).trim_start();
    }
    found
}

/// What stands before the result, and what comes behind the end of the notification if there is no result.
fn head(inside: &str) -> (Option<Notification<'_>>, Option<&str>) {
    let (mut agents, mut status) = (Vec::new(), None);
    let mut rest = inside;
    let behind = loop {
        let Some(at) = rest.find('<') else { break None };
        rest = rest.get(at..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(CLOSING) {
            break Some(behind);
        }
        let Some((name, after)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) else { break None };
        if name == "result" {
            break None;
        }
        let content = end_of(name, after);
        let (text, after) = content.unwrap_or(("", after));
        match name {
            "task-id" if !text.trim().is_empty() => agents.push(text.trim()),
            "status" if status.is_none() && !text.trim().is_empty() => status = Some(text.trim()),
            _ => {}
        }
        rest = after;
    };
    let ended = status.map(|status| !status.eq_ignore_ascii_case("running"));
    let notification = ended.filter(|_| !agents.is_empty()).map(|ended| Notification { agents, ended });
    (notification, behind)
}

/// The content of the element of this name, and what comes behind it. It ends within its notification.
fn end_of<'a>(name: &str, after: &'a str) -> Option<(&'a str, &'a str)> {
    let mut from = 0;
    loop {
        let at = from + after.get(from..)?.find("</")?;
        let tag = after.get(at + 2..)?;
        if let Some(behind) = tag.strip_prefix(name).and_then(|tag| tag.strip_prefix('>')) {
            return Some((after.get(..at)?, behind));
        }
        if after.get(at..)?.starts_with(CLOSING) {
            return None;
        }
        from = at + 2;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn read(text: &str) -> Vec<(Vec<&str>, bool)> {
        notifications(text).into_iter().map(|notification| (notification.agents, notification.ended)).collect()
    }

    #[test]
    fn the_shapes_of_all_ages() {
        for (text, agents, ended) in [
            (
                "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n<summary>s</summary>\n\
                 <result>x</result>\n</task-notification>",
                vec!["a1"],
                true,
            ),
            (
                "<task-notification><task-id>b2</task-id><output-file>/tmp/o</output-file><status>failed</status>\
                 <summary>Background command \"x\" failed</summary></task-notification>\nRead the output file.",
                vec!["b2"],
                true,
            ),
            (
                "  <task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t</tool-use-id>\n<status> Running </status>\n\
                 <note>n</note></task-notification>",
                vec!["a1"],
                false,
            ),
            (
                "<task-notification><task-id>a1</task-id><task-id>a2</task-id><status>stopped</status>\
                 </task-notification>",
                vec!["a1", "a2"],
                true,
            ),
        ] {
            assert_eq!(read(text), [(agents, ended)], "{text}");
        }
    }

    #[test]
    fn without_a_status_or_an_agent_nothing_is_said() {
        for text in [
            "<task-notification><task-id>m1</task-id><event>tick</event></task-notification>",
            "<task-notification><status>completed</status></task-notification>",
            "<task-notification><task-id>a1</task-id><status></status></task-notification>",
            "<task-notification><task-id>a1</task-id><status>completed</status>",
            "As I said: <task-notification><task-id>a1</task-id><status>failed</status></task-notification>",
            "",
        ] {
            assert_eq!(read(text), [], "{text}");
        }
    }

    #[test]
    fn tags_in_a_summary_or_a_result_are_prose() {
        let quoted = "<task-notification><task-id>x9</task-id><status>failed</status></task-notification>";
        let in_summary = "<task-notification><task-id>a1</task-id><summary>says <status>failed</status></summary>\
            <status>running</status></task-notification>";
        assert_eq!(read(in_summary), [(vec!["a1"], false)]);
        let in_result = ["<task-notification><task-id>a1</task-id><result>", quoted, "</result></task-notification>"];
        assert_eq!(read(&in_result.concat()), []);
        let behind =
            ["<task-notification><task-id>a1</task-id><status>completed</status><result>\n", quoted, "</result>"];
        assert_eq!(read(&behind.concat()), [(vec!["a1"], true)]);
    }

    #[test]
    fn a_status_of_the_next_one_is_not_taken_for_one_that_has_none() {
        let text = "<task-notification><task-id>m1</task-id></task-notification>\n\
            <task-notification><task-id>a1</task-id><status>killed</status></task-notification>";
        assert_eq!(read(text), [(vec!["a1"], true)]);
        let torn = "<task-notification><task-id>m1<task-notification><task-id>a1</task-id></task-notification>";
        assert_eq!(read(torn), []);
    }
}
