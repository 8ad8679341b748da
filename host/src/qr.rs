//! A QR code in a terminal, two rows of it in each line.

use qrcode::{Color, EcLevel, QrCode};

/// Light modules around the code: without them it is not found.
const QUIET: usize = 4;

/// Black on white, whatever colours the terminal has.
const PAPER: &str = "\u{1b}[30;107m";

/// Back to those.
const PLAIN: &str = "\u{1b}[0m";

/// The lines of a code; `None` if the text is too long for one.
#[must_use]
pub fn lines(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (width, modules) = (code.width(), code.to_colors());
    let is_dark = |x: usize, y: usize| {
        let (x, y) = (x.checked_sub(QUIET)?, y.checked_sub(QUIET)?);
        let module = (x < width && y < width).then(|| modules.get(y * width + x))??;
        Some(*module == Color::Dark)
    };
    let side = width + 2 * QUIET;
    let line = |y: usize| {
        let halves = (0..side).map(|x| match (is_dark(x, y), is_dark(x, y + 1)) {
            (Some(true), Some(true)) => '█',
            (Some(true), _) => '▀',
            (_, Some(true)) => '▄',
            _ => ' ',
        });
        format!("{PAPER}{}{PLAIN}", halves.collect::<String>())
    };
    Some((0..side).step_by(2).map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The modules that a terminal shows: true is dark.
    fn shown(lines: &[String]) -> Vec<Vec<bool>> {
        let bare = |line: &String| line.strip_prefix(PAPER).unwrap().strip_suffix(PLAIN).unwrap().to_owned();
        let half = |upper: bool| {
            move |char: char| match char {
                '█' => true,
                '▀' => upper,
                '▄' => !upper,
                ' ' => false,
                other => panic!("{other}"),
            }
        };
        let rows =
            lines.iter().map(bare).flat_map(|line| [true, false].map(|upper| line.chars().map(half(upper)).collect()));
        rows.collect()
    }

    #[test]
    fn what_is_shown_is_the_code_with_light_around_it() {
        let text = "http://192.0.2.7:8787/#pair=K7QM3XTP";
        let rows = shown(&lines(text).unwrap());
        let code = QrCode::with_error_correction_level(text, EcLevel::L).unwrap();
        let (width, modules) = (code.width(), code.to_colors());
        assert_eq!((width, rows[0].len()), (29, 29 + 8));
        for (y, row) in rows.iter().enumerate() {
            for (x, dark) in row.iter().enumerate() {
                let inside = (4..4 + width).contains(&x) && (4..4 + width).contains(&y);
                let expected = inside && modules[(y - 4) * width + (x - 4)] == Color::Dark;
                assert_eq!(*dark, expected, "{x} {y}");
            }
        }
        // The corner that every scanner looks for.
        let finder = [true, true, true, true, true, true, true, false];
        assert_eq!(rows[4][4..12], finder);
    }

    #[test]
    fn a_novel_is_no_code() {
        assert_eq!(lines(&"x".repeat(3_000)), None);
    }
}
