//! What terminals show in scenarios: prompts and questions as agents draw them.

const BAR: &str = "────────────────────────────────────────";

/// Claude Code's prompt, with this line below it.
#[must_use]
pub fn prompt(mode: &str) -> String {
    format!("⏺ The roses are wet\n\n────────────\n❯ \n────────────\n  {mode}\n")
}

/// Claude Code asks whether a command may run, yes or no.
#[must_use]
pub fn yes_or_no(command: &str) -> String {
    format!(
        "⏺ Watering the plants\n\n{BAR}\n Bash command\n\n   {command}\n\n \
         Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend\n"
    )
}

/// The same with a third option between them, and the mark on one of the three.
#[must_use]
pub fn permission(command: &str, marked: u32) -> String {
    let mark = |number: u32| if number == marked { '❯' } else { ' ' };
    format!(
        "⏺ Watering the plants\n  ⎿  $ {command}\n\n{BAR}\n Bash command\n\n   {command}\n\n \
         Do you want to proceed?\n {} 1. Yes\n {} 2. Yes, and always allow it in this garden\n {} 3. No\n\n \
         Esc to cancel · Tab to amend\n",
        mark(1),
        mark(2),
        mark(3)
    )
}

/// OpenCode asks whether a command may run, by chips of which one is coloured.
#[must_use]
pub fn chips(labels: &[&str], marked: &str) -> String {
    let chip = |label: &&str| {
        if *label == marked { format!("\u{1b}[48;2;250;170;70m {label} \u{1b}[0m") } else { format!(" {label} ") }
    };
    let chips = labels.iter().map(chip).collect::<Vec<_>>().join(" ");
    format!(
        "┃\n┃  △ Permission required\n┃    # Shell command\n┃\n┃  $ water --all\n┃\n┃   {chips}  ctrl+f fullscreen  \
         ⇆ select  enter confirm\n┃\n"
    )
}
