//! Reads a server's (or a helper's) log: its last lines, what is new since an offset, and
//! the server's own reason for a failure. Works on any `log_line_prefix`; expects English
//! messages, which `initdb --locale=C` and a bare environment give. Writes nothing.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// How many last lines an error message quotes.
pub const TAIL_LINES: usize = 8;

/// The severities that tell why something failed, as the server writes them.
const FAILURES: [&str; 3] = ["PANIC:  ", "FATAL:  ", "ERROR:  "];

/// The fields that follow a message and belong to it.
const FIELDS: [&str; 3] = ["DETAIL:  ", "HINT:  ", "CONTEXT:  "];

/// The text appended since byte `offset` (lossy UTF-8) and the offset to ask from next.
/// A file that is missing or shorter than `offset` gives nothing.
pub fn since(path: &Path, offset: u64) -> (String, u64) {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(offset))?;
        file.read_to_end(&mut bytes)
    });
    match read {
        Ok(length) => (String::from_utf8_lossy(&bytes).into_owned(), offset + length as u64),
        Err(_) => (String::new(), offset),
    }
}

/// The last `lines` lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// A quotation for the end of an error message: empty, or a colon and the lines.
pub(crate) fn as_suffix(tail: &str) -> String {
    if tail.is_empty() { String::new() } else { format!(":\n{tail}") }
}

/// Each failure message of a log text in order, one line each, with the DETAIL, HINT and
/// CONTEXT that followed: `FATAL: …; HINT: …`.
pub fn failures(text: &str) -> Vec<String> {
    messages(text, &FAILURES)
}

/// The messages of the given severities, each with what followed it.
fn messages(text: &str, severities: &[&'static str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    // Whether the line before belongs to a failure, so that its continuation does too.
    let mut open = false;
    for line in text.lines() {
        if let Some((severity, message)) = field(line, severities) {
            found.push(format!("{severity} {message}"));
            open = true;
        } else if let Some((name, value)) = field(line, &FIELDS) {
            if let (true, Some(last)) = (open, found.last_mut()) {
                *last = format!("{last}; {name} {value}");
            }
        } else if line.starts_with('\t') {
            // The server indents the further lines of a message by a tab.
            if let (true, Some(last)) = (open, found.last_mut()) {
                *last = format!("{last} {}", line.trim());
            }
        } else {
            open = false;
        }
    }
    found
}

/// The server's own reason: the last PANIC or FATAL of the log since `offset`, else its
/// last ERROR, with detail and hint; `None` if it complained of nothing. A FATAL that only
/// ends a start ("could not create any TCP/IP sockets") is led by the warning that tells why.
pub fn reason_since(path: &Path, offset: u64) -> Option<String> {
    let (text, _) = since(path, offset);
    let all = failures(&text);
    let hard = all.iter().rfind(|l| !l.starts_with("ERROR"));
    let reason = hard.or(all.last())?.clone();
    let consequence = reason.contains("could not create any") || reason.contains("configuration file");
    let cause = messages(&text, &["LOG:  ", "WARNING:  "]).into_iter().rfind(|message| {
        let told = ["could not ", "invalid ", "unrecognized ", "syntax error", "outside the valid"];
        told.iter().any(|t| message.contains(t))
    });
    match cause {
        Some(cause) if consequence => {
            let cause = cause.split_once(": ").map_or(cause.as_str(), |(_, told)| told);
            Some(format!("{cause}; {reason}"))
        }
        _ => Some(reason),
    }
}

/// [`reason_since`] over the whole log.
pub fn reason(path: &Path) -> Option<String> {
    reason_since(path, 0)
}

/// Splits a line at the first of `names`; gives the name without its spaces and the rest.
fn field<'a>(line: &'a str, names: &[&'static str]) -> Option<(&'static str, &'a str)> {
    names
        .iter()
        .filter_map(|name| line.find(name).map(|at| (at, *name)))
        .min()
        .map(|(at, name)| (name.trim_end(), line[at + name.len()..].trim_end()))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use proptest::prelude::*;

    const REFUSED: &str = "\
2026-11-30 18:00:25.529 GMT [9133] FATAL:  invalid value for parameter \"shared_buffers\": \"256mb\"
2026-11-30 18:00:25.529 GMT [9133] HINT:  Valid units for this parameter are \"B\", \"kB\", \"MB\".
2026-11-30 18:00:25.530 GMT [9133] LOG:  database system is shut down
";

    #[test]
    fn a_hint_follows_its_message() {
        let expected = "FATAL: invalid value for parameter \"shared_buffers\": \"256mb\"; \
                        HINT: Valid units for this parameter are \"B\", \"kB\", \"MB\".";
        assert_eq!(failures(REFUSED), [expected]);
    }

    #[test]
    fn a_hint_of_a_warning_is_not_glued_to_an_earlier_error() {
        let text = "[1] ERROR:  first\n[1] WARNING:  other\n[1] HINT:  of the warning\n";
        assert_eq!(failures(text), ["ERROR: first"]);
    }

    #[test]
    fn a_fatal_outweighs_a_later_error_and_only_new_lines_count() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "FATAL:  old\nFATAL:  new\nERROR:  later\n").unwrap();
        assert_eq!(reason(file.path()).unwrap(), "FATAL: new");
        assert_eq!(reason_since(file.path(), 24).unwrap(), "ERROR: later");
        assert_eq!(reason_since(file.path(), 1000), None);
    }

    #[test]
    fn the_cause_before_a_mere_consequence_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "[1] LOG:  could not bind IPv4 address \"127.0.0.1\": Address already in use\n\
                    [1] HINT:  Is another postmaster running?\n\
                    [1] WARNING:  could not create listen socket for \"127.0.0.1\"\n\
                    [1] FATAL:  could not create any TCP/IP sockets\n";
        std::fs::write(file.path(), text).unwrap();
        let told = reason(file.path()).unwrap();
        assert!(told.starts_with("could not create listen socket"), "{told}");
        let text = "[1] LOG:  invalid value for parameter \"x\": \"256mb\"\n[1] HINT:  Valid units are …\n\
                    [1] FATAL:  configuration file \"/c\" contains errors\n";
        std::fs::write(file.path(), text).unwrap();
        let told = reason(file.path()).unwrap();
        assert!(told.contains("HINT: Valid units") && told.contains("contains errors"), "{told}");
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in "(ERROR:  |HINT:  |\t|\n|é|x){0,40}") {
            prop_assert!(failures(&text).len() <= text.matches("ERROR:  ").count());
        }
    }
}
