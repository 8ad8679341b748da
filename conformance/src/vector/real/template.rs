//! A server's command line, with places that are filled in for each play.

/// What can be filled in.
const PLACES: [&str; 5] = ["home", "port", "herdr", "herdr-socket", "token"];

/// Words of a command line, or one text of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<String>);

/// What stands in the places during one play.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Filling {
    /// The home directory of the agents.
    pub(super) home: String,
    /// A port of the loopback interface that is free.
    pub(super) port: u16,
    /// The command `herdr`.
    pub(super) herdr: String,
    /// The socket of herdr.
    pub(super) herdr_socket: String,
    /// The token.
    pub(super) token: String,
}

impl Template {
    /// Splits a command into words, at white space. What stands between single or double quotes is one word, and a backslash
    /// takes the next character as it is. Nothing else has a meaning: no shell reads it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn command(text: &str) -> Result<Self, String> {
        let words = words(text)?;
        if words.is_empty() {
            return Err("the command of the server is empty".into());
        }
        Self(words).checked()
    }

    /// A text as it is.
    ///
    /// # Errors
    /// If it has a place that there is none.
    pub fn text(text: &str) -> Result<Self, String> {
        Self(vec![text.into()]).checked()
    }

    /// Whether something is filled in for this.
    #[must_use]
    pub fn has(&self, place: &str) -> bool {
        let written = format!("{{{place}}}");
        self.0.iter().any(|word| word.contains(&written))
    }

    pub(super) fn fill(&self, filling: &Filling) -> Vec<String> {
        self.0.iter().map(|word| filling.put(word)).collect()
    }

    /// A name in braces that is no place is a slip. Other braces are nobody's business.
    fn checked(self) -> Result<Self, String> {
        for word in &self.0 {
            let named = word.split('{').skip(1).filter_map(|behind| behind.split_once('}')).map(|(name, _)| name);
            let of_a_name = |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if let Some(name) = named.filter(of_a_name).find(|name| !PLACES.contains(name)) {
                let known = PLACES.map(|place| format!("{{{place}}}")).join(", ");
                return Err(format!("{{{name}}} in {word:?} is none of {known}"));
            }
        }
        Ok(self)
    }
}

impl Filling {
    /// In one pass: what is filled in is not read again.
    fn put(&self, word: &str) -> String {
        let (mut out, mut rest) = (String::new(), word);
        while let Some((before, behind)) = rest.split_once('{') {
            out.push_str(before);
            match behind.split_once('}').and_then(|(name, after)| Some((self.of(name)?, after))) {
                Some((value, after)) => {
                    out.push_str(&value);
                    rest = after;
                }
                None => {
                    out.push('{');
                    rest = behind;
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn of(&self, place: &str) -> Option<String> {
        Some(match place {
            "home" => self.home.clone(),
            "port" => self.port.to_string(),
            "herdr" => self.herdr.clone(),
            "herdr-socket" => self.herdr_socket.clone(),
            "token" => self.token.clone(),
            _ => return None,
        })
    }
}

fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = characters.next().ok_or_else(|| format!("nothing follows the last backslash: {text}"))?;
                word.get_or_insert_default().push(next);
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(format!("a quote is not closed: {text}"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filling() -> Filling {
        Filling {
            home: "/t/a home".into(),
            port: 4711,
            herdr: "/t/herdr".into(),
            herdr_socket: "/t/h.sock".into(),
            token: "{port}".into(),
        }
    }

    #[test]
    fn words_are_split_as_a_shell_would_and_places_filled_behind_that() {
        let command = Template::command(r#" serve  --home={home} "a b" 'c "d' e\ f "g\"h" '' {port}:{herdr-socket}"#);
        let expected = ["serve", "--home=/t/a home", "a b", "c \"d", "e f", "g\"h", "", "4711:/t/h.sock"];
        assert_eq!(command.unwrap().fill(&filling()), expected);
    }

    #[test]
    fn what_is_filled_in_is_not_read_again() {
        let command = Template::command("{token}{herdr} {\\{{token}}").unwrap();
        assert_eq!(command.fill(&filling()), ["{port}/t/herdr", "{{{port}}"]);
    }

    #[test]
    fn slips_are_said() {
        for (text, said) in [
            ("", "the command of the server is empty"),
            ("  ", "the command of the server is empty"),
            ("a 'b", "a quote is not closed: a 'b"),
            ("a \\", "nothing follows the last backslash: a \\"),
            ("a --home {hom}", "{hom} in \"{hom}\" is none of {home}, {port}, {herdr}, {herdr-socket}, {token}"),
        ] {
            assert_eq!(Template::command(text).unwrap_err(), said);
        }
        assert!(Template::text("{\"a\": {}} ${PATH}").is_ok());
        assert!(Template::text("{token}").unwrap().has("token"));
    }
}
