//! A mistake of a spec: what is wrong, where, and the way out. All of them are told at once.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::source::{SourceMap, Span};
use super::suggest::nearest;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The kind of a mistake. Each kind has a test that provokes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name,)* }
        impl Code {
            /// Every kind.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];
            /// The kind as printed.
            pub fn as_str(self) -> &'static str { match self { $(Code::$name => $text,)* } }
        }
    };
}

codes! {
    /// The text is not TOML.
    Syntax = "syntax",
    /// A key that its table does not have.
    UnknownKey = "unknown-key",
    /// A value of another type, range or unit than the key takes.
    WrongType = "wrong-type",
    /// A quantity written without its unit.
    UnitMissing = "unit-missing",
    /// A key that must be there.
    MissingKey = "missing-key",
    /// A name that breaks the rule for names, or stands twice.
    BadName = "bad-name",
    /// No node of that name.
    UnknownNode = "unknown-node",
    /// No publication of that name.
    UnknownPublication = "unknown-publication",
    /// No subscription of that name.
    UnknownSubscription = "unknown-subscription",
    /// No slot of that name.
    UnknownSlot = "unknown-slot",
    /// No workload of that name.
    UnknownWorkload = "unknown-workload",
    /// No phase or window of that name.
    UnknownPhase = "unknown-phase",
    /// No setup step of that name.
    UnknownSetup = "unknown-setup",
    /// No scenario of that name.
    UnknownScenario = "unknown-scenario",
    /// No metric of that name.
    UnknownMetric = "unknown-metric",
    /// A label that the metric does not have, or a value it never takes.
    UnknownLabel = "unknown-label",
    /// No build of that name.
    UnknownBuild = "unknown-build",
    /// No axis of the matrix of that name, or no such value of it.
    UnknownAxis = "unknown-axis",
    /// A variable that is not defined.
    UnknownVariable = "unknown-variable",
    /// A setting that the server's version does not have.
    SettingLacking = "setting-lacking",
    /// A setting whose value the server refuses.
    SettingRefused = "setting-refused",
    /// An option that the node's version does not have, or not with that value.
    OptionLacking = "option-lacking",
    /// An option that an older publisher would ignore or refuse.
    OptionPublisher = "option-publisher",
    /// A phase that neither runs nor waits nor holds.
    PhaseIdle = "phase-idle",
    /// Two keys of which exactly one may stand.
    Both = "both",
    /// Two keys of which one must stand.
    Neither = "neither",
    /// `without` names what is not there.
    NothingToRemove = "nothing-to-remove",
    /// A template that does not compile or render.
    Template = "template",
    /// A template that gives another type than the key takes.
    TemplateValue = "template-value",
    /// Two included files set one key.
    IncludeConflict = "include-conflict",
    /// A text that cannot be read.
    Unreadable = "unreadable",
    /// Files that include each other.
    IncludeCycle = "include-cycle",
    /// A table over a scalar or the other way round.
    KindClash = "kind-clash",
    /// A key that a scenario may not change.
    NotInScenario = "not-in-scenario",
    /// A script that is not pgbench's language, or uses what is not there yet.
    Script = "script",
    /// A part of the language that comes later.
    NotYet = "not-yet",
    /// A combination that cannot be run or would not mean anything.
    Impossible = "impossible",
}

/// One mistake.
#[derive(Clone, Debug)]
pub struct Issue {
    /// Its kind.
    pub code: Code,
    /// One sentence, lower case, without a final period.
    pub message: String,
    /// Places, the first being where it is; empty only if no place exists.
    pub labels: Vec<(Span, String)>,
    /// The way out, beginning with a verb.
    pub help: Option<String>,
}

impl Issue {
    /// A mistake at a place.
    pub fn new(code: Code, message: impl Into<String>, span: impl Into<Span>, label: impl Into<String>) -> Self {
        Self { code, message: message.into(), labels: vec![(span.into(), label.into())], help: None }
    }

    /// A second place that disagrees with the first.
    #[must_use]
    pub fn also(mut self, span: impl Into<Span>, label: impl Into<String>) -> Self {
        self.labels.push((span.into(), label.into()));
        self
    }

    /// The way out.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The way out of a misspelt name: the nearest known one, else the list if it is short.
    #[must_use]
    pub fn suggest<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        match nearest(word, known.iter().copied()) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None if known.is_empty() => self.help("none is defined"),
            None if known.len() <= 24 => {
                let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                self.help(format!("choose one of {}", list.join(", ")))
            }
            None => self,
        }
    }

    /// Where it is; the default span when it has no place.
    pub fn span(&self) -> Span {
        self.labels.first().map(|(span, _)| *span).unwrap_or_default()
    }
}

/// A growing list in which one mistake stands once: the base of a spec is read again for each scenario and
/// each cell, and its mistakes come back each time.
#[derive(Default, Debug)]
pub struct Issues {
    list: Vec<Issue>,
    told: HashSet<(Code, Span, Option<String>)>,
}

impl Code {
    /// Whether two mistakes of this kind may be told at one place. Of the others the wording depends on the cell,
    /// so that a second one there is the same mistake.
    fn several_at_a_place(self) -> bool {
        matches!(self, Code::MissingKey | Code::Neither | Code::Both | Code::Script | Code::Impossible)
    }
}

impl Issues {
    /// Adds a mistake unless it was told at that place.
    pub fn push(&mut self, issue: Issue) {
        let by_words = issue.labels.is_empty() || issue.code.several_at_a_place();
        if self.told.insert((issue.code, issue.span(), by_words.then(|| issue.message.clone()))) {
            self.list.push(issue);
        }
    }

    /// Adds the mistakes of another list.
    pub fn extend(&mut self, other: Issues) {
        other.list.into_iter().for_each(|issue| self.push(issue));
    }

    /// Keeps only the mistakes for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&Issue) -> bool) {
        self.list.retain(keep);
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The mistakes so far.
    pub fn as_slice(&self) -> &[Issue] {
        &self.list
    }

    /// All mistakes in the order of the texts.
    pub fn into_sorted(mut self) -> Vec<Issue> {
        self.list.sort_by_key(Issue::span);
        self.list
    }
}

/// All mistakes of a spec with the texts they are in.
pub struct SpecError {
    /// The texts.
    pub sources: Arc<SourceMap>,
    /// The mistakes, in the order of the texts.
    pub issues: Vec<Issue>,
}

impl fmt::Debug for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpecError({:?})", self.issues)
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.issues.len() {
            1 => f.write_str("the spec has a mistake"),
            n => write!(f, "the spec has {n} mistakes"),
        }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SpecError {}
impl std::error::Error for Issue {}

impl miette::Diagnostic for Issue {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code.as_str()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as _)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        let label = |(span, text): &(Span, String)| {
            miette::LabeledSpan::new(Some(text.clone()).filter(|text| !text.is_empty()), span.start, span.len())
        };
        Some(Box::new(self.labels.iter().map(label)))
    }
}

impl miette::Diagnostic for SpecError {
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        Some(&*self.sources)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        Some(Box::new(self.issues.iter().map(|issue| issue as &dyn miette::Diagnostic)))
    }
}
