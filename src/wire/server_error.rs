//! What the server says when something fails (`ErrorResponse`, `NoticeResponse`), field by field.
//!
//! It keeps the server's words; judging them is left to whoever asked.

use std::fmt;

/// An error or notice of the server. Fields as in the protocol documentation's "Error and Notice Message Fields".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerError {
    /// `ERROR`, `FATAL`, `PANIC`, or a notice's `WARNING` and so on; never translated where the server says it (9.6+).
    pub severity: String,
    /// The five-character code, e.g. `40001`.
    pub sqlstate: String,
    /// The primary message.
    pub message: String,
    /// The secondary message with more about the problem.
    pub detail: Option<String>,
    /// What the server suggests.
    pub hint: Option<String>,
    /// The context in which it happened, e.g. a stack of PL/pgSQL calls.
    pub where_: Option<String>,
}

impl ServerError {
    /// Reads the body of an `ErrorResponse` or `NoticeResponse`. A body that ends early yields the fields before.
    pub fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        let mut untranslated = false;
        for field in body.split(|&byte| byte == 0) {
            let Some((&code, value)) = field.split_first() else {
                break;
            };
            let value = || String::from_utf8_lossy(value).into_owned();
            match code {
                b'V' => {
                    error.severity = value();
                    untranslated = true;
                }
                b'S' if !untranslated => error.severity = value(),
                b'C' => error.sqlstate = value(),
                b'M' => error.message = value(),
                b'D' => error.detail = Some(value()),
                b'H' => error.hint = Some(value()),
                b'W' => error.where_ = Some(value()),
                _ => {}
            }
        }
        error
    }

    /// Whether the session ends with this error.
    pub fn ends_session(&self) -> bool {
        matches!(self.severity.as_str(), "FATAL" | "PANIC")
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (SQLSTATE {})", self.severity, self.message, self.sqlstate)?;
        for (name, text) in [("detail", &self.detail), ("hint", &self.hint), ("context", &self.where_)] {
            if let Some(text) = text {
                write!(f, "; {name}: {text}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_and_unknown_ones_skipped() {
        let body = b"SFEHLER\0VERROR\0C40001\0Mcould not serialize\0Dbecause\0Htry again\0Wline 1\0Fx.c\0L12\0\0";
        let error = ServerError::parse(body);
        assert_eq!(error.sqlstate, "40001");
        assert_eq!(
            error.to_string(),
            "ERROR: could not serialize (SQLSTATE 40001); detail: because; hint: try again; context: line 1"
        );
        assert!(!error.ends_session());
    }

    #[test]
    fn a_body_cut_short_yields_what_is_there() {
        let error = ServerError::parse(b"VFATAL\0C57P01\0Mterminat");
        assert_eq!((error.severity.as_str(), error.message.as_str()), ("FATAL", "terminat"));
        assert!(error.ends_session());
        assert_eq!(ServerError::parse(b""), ServerError::default());
    }
}
