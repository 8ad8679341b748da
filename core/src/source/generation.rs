//! The name of one counting of one file.

use alloc::format;
use alloc::string::String;

use memchr::memchr;
use sha2::{Digest as _, Sha256};

/// A name that two countings share only if they give every entry the same seq: it depends on the version of the counting
/// rules, the cap of a line, the first record, and how often the file was seen rewritten. `head` is the beginning of the
/// file; of a first record that is longer, what is in `head` counts.
pub(crate) fn name(rules_version: u32, line_bytes: usize, head: &[u8], rewrites: u32) -> String {
    let first_record = memchr(b'\n', head).and_then(|end| head.get(..end)).unwrap_or(head);
    let mut digest = Sha256::new();
    digest.update(rules_version.to_be_bytes());
    digest.update((line_bytes as u64).to_be_bytes());
    digest.update(first_record);
    let mut name = String::with_capacity(24);
    for byte in digest.finalize().iter().take(8) {
        name.push_str(&format!("{byte:02x}"));
    }
    name.push_str(&format!("-{rewrites}"));
    name
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn what_makes_another_counting_makes_another_name() {
        let of = |rules, cap, head: &str, rewrites| name(rules, cap, head.as_bytes(), rewrites);
        let base = of(1, 64, "{\"a\":1}\n{\"b\":2}", 0);
        assert_eq!(base.len(), 18);
        assert_eq!(base, of(1, 64, "{\"a\":1}\nsomething that came later", 0));
        assert_eq!(base, of(1, 64, "{\"a\":1}", 0));
        for other in
            [of(2, 64, "{\"a\":1}", 0), of(1, 65, "{\"a\":1}", 0), of(1, 64, "{\"a\":2}", 0), of(1, 64, "{\"a\":1}", 1)]
        {
            assert_ne!(base, other);
        }
    }
}
