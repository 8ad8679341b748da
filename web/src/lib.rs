//! The web view as it is embedded in the daemons. Its sources are TypeScript, in `app/`; `build.rs` has npm make a bundle
//! of them, or takes a small page in its place that says how to get it.

use panewire_core::http::site::Asset;

include!(concat!(env!("OUT_DIR"), "/site.rs"));

#[cfg(test)]
mod tests {
    use super::SITE;

    #[test]
    fn there_is_always_something_to_see() {
        let page = SITE.iter().find(|asset| asset.path == "/").unwrap();
        assert_eq!(page.content_type, "text/html; charset=utf-8");
        assert!(page.plain.starts_with(b"<!doctype html>"));
    }

    #[test]
    fn what_never_changes_has_its_content_in_its_name() {
        for asset in SITE {
            assert_eq!(asset.immutable, asset.path.starts_with("/assets/"), "{}", asset.path);
            assert!(asset.etag.starts_with('"') && asset.etag.ends_with('"'), "{}", asset.etag);
        }
    }
}
