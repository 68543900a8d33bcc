//! STACK as users write it: members in front, layers after, read from the bottom to the top.
//!
//! ```text
//!   4xmtron-pro-32:port=onboard+4xmtron-mobi-32/raid5:chunk=64K
//!   |count  |settings          |member         |layer |settings
//! ```
//!
//! This knows the grammar and no name: which drives and layers there are is found out by
//! [`super::open`].

use crate::catalog::BadCatalog;
use block::IoError;
use std::{fmt, str::FromStr};

/// Most drives that one stack can have.
pub const DRIVES_MAX: usize = 64;

/// A stack of modelled drives and layers, bottom first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stack {
    /// The drives, never none.
    pub members: Vec<Member>,
    /// What lies on them, the lowest first.
    pub layers: Vec<Part>,
}

impl Stack {
    /// The same whose array lacks this member, the first being 0; none without an array.
    pub fn without_member(&self, member: u16) -> Option<Self> {
        let mut stack = self.clone();
        let array = stack.layers.first_mut().filter(|layer| layer.name.starts_with("raid"))?;
        array.settings.retain(|(key, _)| key != "degraded");
        array.settings.push(("degraded".to_owned(), member.to_string()));
        Some(stack)
    }
}

/// Equal drives of a stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// How many, never 0.
    pub count: u16,
    /// Which drive, and how it is set.
    pub drive: Part,
}

/// A name with its settings: a drive or a layer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Of a drive or a layer.
    pub name: String,
    /// `key=value`, in the order they were written; no key twice.
    pub settings: Vec<(String, String)>,
}

/// A stack that cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadStack {
    /// What was written names or sets what there is not: one sentence with the cure.
    #[error("{0}")]
    Text(String),
    /// A drive of it cannot be built from its file.
    #[error(transparent)]
    Catalog(#[from] BadCatalog),
    /// No managed volume of that shape fits.
    #[error("`{layer}`: {refusal}")]
    Volume {
        /// The layer as it was written.
        layer: String,
        /// Why.
        refusal: flash::Refusal,
    },
    /// A managed volume is there and cannot be opened.
    #[error("`{layer}`: {error}")]
    Open {
        /// The layer as it was written.
        layer: String,
        /// Why.
        error: flash::OpenError,
    },
    /// The drive below failed.
    #[error("`{layer}`: the drive below failed as it was created: {error:?}")]
    Io {
        /// The layer as it was written.
        layer: String,
        /// How.
        error: IoError,
    },
}

impl Stack {
    /// How many drives it has.
    pub fn drives(&self) -> usize {
        self.members.iter().map(|member| usize::from(member.count)).sum()
    }
}

impl Part {
    /// What a key is set to.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(known, _)| known == key);
        found.map(|(_, value)| value.as_str())
    }

    /// Sets a key, in its place where it was set before.
    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        match self.settings.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.into(),
            None => self.settings.push((key.to_owned(), value.into())),
        }
    }
}

impl FromStr for Stack {
    type Err = BadStack;

    /// Reads what stands after `model:`.
    fn from_str(text: &str) -> Result<Self, BadStack> {
        if text.is_empty() {
            return Err(BadStack::Text(
                "`model:` names no drive: write one after it, such as `model:mtron-pro-32`; `drivelab drives` \
                 lists them"
                    .to_owned(),
            ));
        }
        let mut parts = text.split('/');
        let members = parts.next().expect("a split has a first part");
        let members = members.split('+').map(|part| member(text, part));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let layers = parts.map(|layer| part(text, layer)).collect::<Result<Vec<_>, _>>()?;
        let stack = Self { members, layers };
        if stack.drives() > DRIVES_MAX {
            return Err(BadStack::Text(format!(
                "`model:{text}` has {} drives: {DRIVES_MAX} are the most that one stack takes",
                stack.drives()
            )));
        }
        Ok(stack)
    }
}

/// `4xname:key=value`.
fn member(whole: &str, text: &str) -> Result<Member, BadStack> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    let counted = rest.strip_prefix('x').filter(|_| digits > 0);
    let Some(rest) = counted else { return Ok(Member { count: 1, drive: part(whole, text)? }) };
    let count =
        number.parse::<u16>().ok().filter(|&count| (1..=DRIVES_MAX).contains(&count.into()));
    let count = count.ok_or_else(|| {
        BadStack::Text(format!(
            "`{text}`: a count goes from 1 to {DRIVES_MAX}, and `{number}` does not"
        ))
    })?;
    Ok(Member { count, drive: part(whole, rest)? })
}

/// `name` or `name:key=value,key=value`.
pub(crate) fn part(whole: &str, text: &str) -> Result<Part, BadStack> {
    let (name, settings) = match text.split_once(':') {
        Some((name, settings)) => (name, Some(settings)),
        None => (text, None),
    };
    if name.is_empty() {
        return Err(BadStack::Text(format!(
            "`model:{whole}` has nothing where a name should stand: a drive follows `model:`, `+` and a count, a \
             layer follows `/`; write its name, or leave the mark out"
        )));
    }
    let is_of_a_name = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if let Some(wrong) = name.chars().find(|&letter| !is_of_a_name(letter)) {
        return Err(BadStack::Text(format!(
            "`model:{whole}`: {wrong:?} is in no drive's or layer's name: names are of letters, digits, `-`, \
             `_` and `.`; `drivelab drives` lists them"
        )));
    }
    let mut part = Part { name: name.to_owned(), settings: Vec::new() };
    for setting in settings.map(|settings| settings.split(',')).into_iter().flatten() {
        let (key, value) = key_value(name, setting)?;
        if part.settings.iter().any(|(known, _)| *known == key) {
            return Err(BadStack::Text(format!(
                "`{name}`: `{key}` is set twice: leave one of them out"
            )));
        }
        part.settings.push((key, value));
    }
    Ok(part)
}

fn key_value(name: &str, text: &str) -> Result<(String, String), BadStack> {
    if text.is_empty() {
        return Err(BadStack::Text(format!(
            "`{name}:` has no setting where one should stand: write KEY=VALUE, several with commas between, or leave \
             the mark out"
        )));
    }
    let both = text.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
    let (key, value) = both.ok_or_else(|| {
        BadStack::Text(format!(
            "`{text}` after `{name}:` is no setting: write KEY=VALUE, several with commas between"
        ))
    })?;
    Ok((key.to_owned(), value.to_owned()))
}

impl fmt::Display for Stack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, member) in self.members.iter().enumerate() {
            let plus = if number == 0 { "" } else { "+" };
            write!(formatter, "{plus}{member}")?;
        }
        self.layers.iter().try_for_each(|layer| write!(formatter, "/{layer}"))
    }
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name that looks like a count needs one in front.
        let looks_counted = member("", &self.drive.name)
            .map_or(true, |read| read.count != 1 || read.drive.name != self.drive.name);
        if self.count != 1 || looks_counted {
            write!(formatter, "{}x", self.count)?;
        }
        write!(formatter, "{}", self.drive)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        for (number, (key, value)) in self.settings.iter().enumerate() {
            let mark = if number == 0 { ':' } else { ',' };
            write!(formatter, "{mark}{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Stack {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn members_stand_in_front_and_layers_after_each_with_its_settings() {
        let stack = read("4xpro:port=onboard,seed=3+4xmobi/raid5:chunk=64K/flash:spare=28%");
        assert_eq!(stack.drives(), 8);
        let names: Vec<_> = stack.members.iter().map(|member| &member.drive.name).collect();
        assert_eq!(names, ["pro", "mobi"]);
        let settings = [("port", "onboard"), ("seed", "3")];
        assert_eq!(stack.members[0].drive.settings, settings.map(|(k, v)| (k.into(), v.into())));
        assert_eq!(stack.layers[1].settings, [("spare".to_owned(), "28%".to_owned())]);
        assert_eq!(read("xfast").members[0].count, 1, "an x alone is no count");
    }

    #[test]
    fn a_setting_is_set_once_and_keeps_its_place() {
        let mut stack = read("2xa:write-cache=on,port=esata+b/raid5:chunk=64K");
        stack.members.iter_mut().for_each(|member| member.drive.set("write-cache", "off"));
        assert_eq!(
            stack.to_string(),
            "2xa:write-cache=off,port=esata+b:write-cache=off/raid5:chunk=64K"
        );
        assert_eq!(stack.layers[0].get("chunk"), Some("64K"));
        assert_eq!(stack.layers[0].get("driver"), None);
    }

    #[test]
    fn what_ends_in_nothing_is_refused() {
        for text in ["", "a/", "/raid0", "a//raid0", "a+", "+a", "4x", "a/:chunk=4K", ":port=x"] {
            let refusal = text.parse::<Stack>().expect_err(text).to_string();
            assert!(refusal.contains("name"), "{text}: {refusal}");
        }
    }

    #[test]
    fn counts_and_settings_that_say_nothing_are_refused_with_the_cure() {
        for (text, word) in [
            ("0xa", "from 1 to 64"),
            ("65xa", "from 1 to 64"),
            ("99999999xa", "from 1 to 64"),
            ("40xa+40xb/raid0", "80 drives"),
            ("a:", "KEY=VALUE"),
            ("a:port", "KEY=VALUE"),
            ("a:port=", "KEY=VALUE"),
            ("a:port=x,,seed=1", "KEY=VALUE"),
            ("a:port=x,port=y", "twice"),
            ("a b", "names are of"),
        ] {
            let refusal = text.parse::<Stack>().expect_err(text).to_string();
            assert!(refusal.contains(word), "{text}: {refusal}");
        }
    }

    fn a_part() -> impl Strategy<Value = Part> {
        let setting = ("[a-z-]{1,6}", "[a-zA-Z0-9.%=:-]{1,6}");
        let settings = prop::collection::btree_map(setting.0, setting.1, 0..4);
        ("[a-z0-9._-]{1,8}", settings)
            .prop_map(|(name, settings)| Part { name, settings: settings.into_iter().collect() })
    }

    fn a_stack() -> impl Strategy<Value = Stack> {
        let member = (1u16..=9, a_part()).prop_map(|(count, drive)| Member { count, drive });
        (prop::collection::vec(member, 1..4), prop::collection::vec(a_part(), 0..4))
            .prop_map(|(members, layers)| Stack { members, layers })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_as_it_was(stack in a_stack()) {
            prop_assert_eq!(stack.to_string().parse::<Stack>(), Ok(stack));
        }

        #[test]
        fn any_text_is_read_or_refused_in_one_line(text in ".{0,60}") {
            match text.parse::<Stack>() {
                Ok(stack) => {
                    let again: Stack = stack.to_string().parse().expect("its own text");
                    prop_assert_eq!(again, stack);
                }
                Err(refusal) => prop_assert!(!refusal.to_string().is_empty()),
            }
        }
    }
}
