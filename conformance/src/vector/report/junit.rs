//! What a run tells a continuous integration, as JUnit XML.

use core::fmt::Write as _;

use super::Report;
use crate::vector::play::Verdict;

impl Report<'_> {
    /// One JUnit test suite; each vector is a test case, its class the contract and its mark.
    #[must_use]
    pub fn junit(&self) -> String {
        let count = |verdict: &str| self.played.iter().filter(|played| played.verdict.name() == verdict).count();
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            xml,
            "<testsuites><testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\">",
            escaped(&self.subject),
            self.played.len(),
            count("failed"),
            count("broken"),
            count("left_out"),
            self.took.as_secs_f64(),
        );
        for played in &self.played {
            let (name, mark) = (escaped(&played.vector.name), played.vector.mark.name());
            let time = played.took.as_secs_f64();
            let _ = write!(xml, "  <testcase classname=\"mobile.{mark}\" name=\"{name}\" time=\"{time:.3}\">");
            match &played.verdict {
                Verdict::Passed => {}
                Verdict::Failed(failure) => {
                    let message = escaped(&failure.breaks.join(", "));
                    let text = escaped(&self.told(failure));
                    let _ = write!(xml, "<failure message=\"{message}\">{text}</failure>");
                }
                Verdict::Broken(trouble) => {
                    let first = escaped(trouble.0.lines().next().unwrap_or_default());
                    let _ = write!(xml, "<error message=\"{first}\">{}</error>", escaped(&trouble.0));
                }
                Verdict::LeftOut(why) => {
                    let _ = write!(xml, "<skipped message=\"{}\"/>", escaped(why));
                }
            }
            xml.push_str("</testcase>\n");
        }
        xml.push_str("</testsuite></testsuites>\n");
        xml
    }
}

/// As text of an element and of an attribute. What XML cannot hold is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push('\t'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if u32::from(control) < 0x20 => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_came_is_xml() {
        assert_eq!(escaped("a<b>&\"c\"\n\u{1b}[0m\u{ffff}é"), "a&lt;b&gt;&amp;&quot;c&quot;&#10;\u{fffd}[0m\u{fffd}é");
    }
}
