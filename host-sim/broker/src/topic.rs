//! Topic names and filters.
//!
//! The codec crate has these functions too, but its matching recurses once a level, and a topic can have as
//! many levels as it has bytes.

/// Whether a message can be published to `topic`.
pub(super) fn is_valid_name(topic: &str) -> bool {
    !topic.is_empty() && !topic.contains(['+', '#', '\0'])
}

/// Whether `filter`, without its `$share/<group>/`, can be subscribed to.
pub(super) fn is_valid_filter(filter: &str) -> bool {
    let mut levels = filter.split('/').peekable();
    while let Some(level) = levels.next() {
        let valid = match level {
            "#" => levels.peek().is_none(),
            "+" => true,
            _ => !level.contains(['+', '#', '\0']),
        };
        if !valid {
            return false;
        }
    }
    !filter.is_empty()
}

/// Whether a valid `topic` matches a valid `filter`. A leading wildcard does not match topics that begin
/// with `$`.
pub(super) fn matches(topic: &str, filter: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut names = topic.split('/');
    let mut levels = filter.split('/');
    loop {
        match (names.next(), levels.next()) {
            (_, Some("#")) | (None, None) => return true,
            (Some(_), Some("+")) => {}
            (Some(name), Some(level)) if name == level => {}
            _ => return false,
        }
    }
}

/// The filter of a SUBSCRIBE, parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filter<'a> {
    /// The members of a group share its messages.
    pub(super) group: Option<&'a str>,
    pub(super) topics: &'a str,
}

impl<'a> Filter<'a> {
    /// `None` if nothing can match it, or if its group has no proper name.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let filter = match text.strip_prefix("$share/") {
            None => Self { group: None, topics: text },
            Some(shared) => {
                let (group, topics) = shared.split_once('/')?;
                if group.is_empty() || group.contains(['+', '#']) {
                    return None;
                }
                Self { group: Some(group), topics }
            }
        };
        is_valid_filter(filter.topics).then_some(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_as_the_standard_says() {
        let cases = [
            ("a/b", "a/b", true),
            ("a/b", "a/B", false),
            ("a/b", "a/+", true),
            ("a/", "a/+", true),
            ("a", "a/+", false),
            ("a/b/c", "a/+", false),
            ("a/b/c", "a/+/c", true),
            ("a//c", "a/+/c", true),
            ("/a", "+/a", true),
            ("/a", "/+", true),
            ("/a", "+", false),
            ("a", "a/#", true),
            ("a/b/c", "a/#", true),
            ("ab", "a/#", false),
            ("a/b", "#", true),
            ("/", "#", true),
            ("$SYS/x", "#", false),
            ("$SYS/x", "+/x", false),
            ("$SYS/x", "$SYS/#", true),
            ("$SYS/x", "$SYS/+", true),
            ("a/$x", "a/#", true),
        ];
        for (topic, filter, expected) in cases {
            assert_eq!(matches(topic, filter), expected, "{topic} and {filter}");
        }
    }

    #[test]
    fn only_whole_levels_are_wildcards() {
        for filter in ["#", "+", "a/#", "+/a/+", "/", "a//b", "$SYS/#"] {
            assert!(is_valid_filter(filter), "{filter}");
        }
        for filter in ["", "a#", "a/#/b", "#/", "a+/b", "+a", "a/b+", "a\0"] {
            assert!(!is_valid_filter(filter), "{filter}");
        }
        for name in ["a", "/", "a b", "$SYS/x"] {
            assert!(is_valid_name(name), "{name}");
        }
        for name in ["", "a/+", "#", "a\0"] {
            assert!(!is_valid_name(name), "{name}");
        }
    }

    #[test]
    fn a_shared_filter_names_its_group() {
        assert_eq!(Filter::parse("$share/relay/a/+"), Some(Filter { group: Some("relay"), topics: "a/+" }));
        assert_eq!(Filter::parse("$share/relay//"), Some(Filter { group: Some("relay"), topics: "/" }));
        assert_eq!(Filter::parse("a/+"), Some(Filter { group: None, topics: "a/+" }));
        for filter in ["$share/relay", "$share/relay/", "$share//a", "$share/r+/a", "$share/r/a#"] {
            assert_eq!(Filter::parse(filter), None, "{filter}");
        }
    }
}
