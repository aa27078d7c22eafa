//! The spec language: texts in, scenarios out, every mistake told at its place.
//!
//! [`read`] is a pure function of a [`SourceMap`]: it either asks for texts that are missing or gives a [`Spec`]
//! with the mistakes so far. Merging happens on TOML values and nowhere else (`document`, `overlay`), decoding
//! tells all mistakes (`decode`), templates are rendered in lowering, once for each cell ([`read_at_points`]).

mod decode;
mod document;
mod field;
mod flag;
mod flags;
mod followers;
mod general;
mod names;
mod numbered;
mod only;
mod overlay;
mod refer;
mod root;
mod scalar;
pub mod scenario;
mod schema;
mod scope;
mod tables;
mod template;
#[cfg(test)]
mod tests;
mod unread;
mod without;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

pub use field::At;
pub use flag::{NotAFlag, build_flag, flag};
pub use only::OnlyError;
pub use scalar::VarValue;
pub use scenario::{Numbered, Scenario};
pub use schema::schema;
pub use scope::Chosen;
pub use tables::builds::{Build, BuildSource};
pub use tables::charts::{ChartKind, ChartSpec, Course};
pub use tables::compare::{Compare, Comparison, SCENARIO_AXIS};
pub use tables::expect::{Claim, Selector, Statistic};
pub use tables::report::{As, ColumnSpec, Each, PivotSpec, ReportTable, TableSpec};
pub use tables::run::{LEAST_PAIRS, Order, Paired, Run};
pub use tables::shown::Shown;
pub use unread::Unread;

use self::general::{tell_general, tell_no_phases, tell_uncompared};
use self::names::{numbered_names, referring};
use self::root::RawSpec;
use self::scope::{Kind, Names, Scope, is_name, not_yet};
use self::tables::matrix::Place;
use self::tables::{
    builds, charts, compare, expect, matrix, metrics, nodes, phases, publications, report, run, setup, slots,
    subscriptions, vars, workloads,
};
use self::template::{Engine, Variables};
use crate::text::{Code, Issue, Issues, SourceMap, Span};

/// How a spec is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether the spec's `[quick]` values are laid over its `[vars]`.
    pub quick: bool,
    /// Whether both sides of `[compare]` are alike: the side that the verdict is about is run as the other.
    pub aa: bool,
}

/// A cell as lowered: a scenario at a point of the axes.
#[derive(Clone, Debug)]
pub struct LoweredCell {
    /// Name: the scenario's, with the point where there are axes, such as `text[clients=4]`.
    pub name: String,
    /// Prose for people: the scenario's title, with the point; of the only scenario the point alone.
    pub title: String,
    /// Variables that the point fixes.
    pub point: Point,
    /// Named blocks of the matrix that it belongs to.
    pub blocks: Vec<String>,
    /// The scenario there.
    pub scenario: Arc<Scenario>,
}

/// A point of the axes: a value for each variable that is one.
pub type Point = Vec<(String, VarValue)>;

impl LoweredCell {
    fn new(place: &Place, scenario: Scenario, several: bool) -> Self {
        let Place { point, blocks } = place;
        let place = point_words(point);
        let (name, title) = if place.is_empty() {
            (scenario.name.clone(), scenario.title.clone())
        } else {
            (
                format!("{}[{}]", scenario.name, place.replace(", ", ",")),
                if several { format!("{}, {place}", scenario.title) } else { place.clone() },
            )
        };
        Self { name, title, point: point.clone(), blocks: blocks.clone(), scenario: Arc::new(scenario) }
    }

    /// The value of an axis here.
    pub fn value(&self, axis: &str) -> Option<&VarValue> {
        self.point.iter().find(|(name, _)| name == axis).map(|(_, value)| value)
    }
}

/// A point in words: `clients=4, build=head`; empty where there are no axes.
pub fn point_words(point: &[(String, VarValue)]) -> String {
    point.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// Everything a spec says, valid.
#[derive(Debug)]
pub struct Spec {
    /// Title, or the file's name.
    pub title: String,
    /// Markdown about it.
    pub about: Option<String>,
    /// Variables as written, by scenario: name and value.
    pub vars: Vec<(String, String, Span)>,
    /// How often and in which order.
    pub run: Run,
    /// Scenarios at the points of the axes: those that can be run.
    pub cells: Vec<LoweredCell>,
    /// Those that cannot be run, as far as they could be read. Only what asks for mistakes may look at them: what
    /// depends on versions and servers is then told beside what made them unfit.
    pub unfit: Vec<LoweredCell>,
    /// Claims.
    pub claims: Vec<Claim>,
    /// Tables of the report.
    pub tables: Vec<ReportTable>,
    /// Charts of the report.
    pub charts: Vec<ChartSpec>,
    /// Axes of the matrix with their values.
    pub axes: IndexMap<String, Vec<VarValue>>,
    /// What is compared.
    pub compare: Option<Compare>,
}

impl Spec {
    /// What `[compare]` compares, at each point of the other axes; none without it.
    pub fn comparisons(&self) -> Vec<Comparison> {
        self.compare.as_ref().map(|compare| compare::comparisons(compare, &self.cells)).unwrap_or_default()
    }
}

/// What reading gave.
#[derive(Debug)]
pub enum Read {
    /// Texts that must be added (or marked absent) first.
    Missing(Vec<PathBuf>),
    /// The spec as far as it could be read, and every mistake: it may be run only if there is none.
    Done(Box<Spec>, Issues),
}

/// Reads the spec at `root` from texts. Pure: what is missing is asked for.
pub fn read(root: &Path, sources: &SourceMap, options: Options) -> Read {
    read_at_points(root, sources, options, None)
}

/// As [`read`], with each scenario at each of `points` rather than those of the matrix.
pub fn read_at_points(root: &Path, sources: &SourceMap, options: Options, points: Option<&[Point]>) -> Read {
    let mut loader = document::Loader::new(sources);
    let doc = loader.load(root, None);
    if !loader.missing.is_empty() {
        return Read::Missing(loader.missing);
    }
    let mut issues = loader.issues;
    let mut missing = Vec::new();
    let mut engine = Engine::new(sources);
    let texts_good = issues.is_empty();
    let (base, overlay::Scenarios { laid, all_named, unread: root_unread }) = overlay::scenarios(doc, &mut issues);
    let mut of_flags = Issues::default();
    let flags = flags::Flags::read(options.quick, sources, &laid, &mut of_flags);
    let base_table = flags.lay(base, &mut of_flags);
    let common_good = texts_good && of_flags.is_empty();
    issues.extend(of_flags);
    let (base, mut base_unread): (RawSpec, _) = decode::decode(base_table, sources, &mut issues);
    base_unread.extend(&root_unread);
    tell_general(&base, &base_unread, sources, options, &mut issues);

    let names: Vec<&str> = laid.iter().map(|scenario| scenario.name.as_str()).filter(|name| !name.is_empty()).collect();
    let variables: IndexSet<String> = base.vars.keys().map(|name| name.value.clone()).collect();
    let by_flag = |span: Span| sources.flags().any(|flag| flag.base == sources.file_of(span).base);
    let pinned = |axis: &str| {
        let value = base.vars.get(axis)?;
        let quick = options.quick && base.quick.contains_key(axis);
        (quick || by_flag(value.span)).then(|| value.value.clone())
    };
    let around = matrix::Around { scenarios: &names, known: &variables, pinned: &pinned, unread: &base_unread };
    let matrix = matrix::lower(&base.matrix, &around, &mut issues);
    let alike = if options.aa { compare::sides(base.compare.as_ref()) } else { None };

    let (mut cells, mut unfit) = (Vec::new(), Vec::new());
    let mut raws = Vec::new();
    for scenario in &laid {
        let mut own = Issues::default();
        if scenario.span != Span::default() && !scenario.name.is_empty() && !is_name(&scenario.name) {
            own.push(
                Issue::new(Code::BadName, format!("`{}` is no name", scenario.name), scenario.span, "not a name")
                    .help("write a letter, then letters, digits and `_`, all in lower case; prose goes into `title`"),
            );
        }
        let table = flags.lay(scenario.table.clone(), &mut own);
        let (raw, mut unread): (RawSpec, _) = decode::decode(table, sources, &mut own);
        unread.extend(&scenario.unread);
        for (path, issue) in &scenario.not_there {
            if !unread.covers(&path.split('.').collect::<Vec<_>>()) {
                own.push(issue.clone());
            }
        }
        let good = common_good && scenario.good && own.is_empty();
        issues.extend(own);
        matrix.tell_clashes(&scenario.name, &raw.vars, &base.vars, &mut issues);
        let places = match points {
            None => matrix.points(&scenario.name, &raw.vars),
            Some(points) => points.iter().map(|point| Place { point: point.clone(), blocks: Vec::new() }).collect(),
        };
        raws.push((raw, unread, good, places));
    }
    for (scenario, (raw, unread, good, places)) in laid.iter().zip(&raws) {
        for place in places {
            // In an A/A run this side is what the other is, under its own name.
            let (axis, of, to) = alike.as_ref().map_or(("", "", ""), |(axis, of, to)| (axis, of, to));
            let other = (axis == SCENARIO_AXIS && scenario.name == of)
                .then(|| laid.iter().zip(&raws).find(|(laid, _)| laid.name == to))
                .flatten();
            let (raw, unread) = other.map_or((raw, unread), |(_, (raw, unread, ..))| (raw, unread));
            let mut point = place.point.clone();
            for (name, value) in &mut point {
                if name == axis && value.to_string() == of {
                    let values = matrix.axes();
                    let same = values.get(axis).and_then(|all| all.iter().find(|value| value.to_string() == to));
                    *value = same.cloned().unwrap_or_else(|| VarValue::Str(to.to_owned()));
                }
            }
            let surroundings = Surroundings { name: &scenario.name, raw, unread, point: &point };
            let (lowered, whole) = lower(&surroundings, &mut engine, &mut issues, &mut missing);
            let cell = LoweredCell::new(place, lowered, laid.len() > 1);
            if whole && *good { cells.push(cell) } else { unfit.push(cell) }
        }
    }
    let raws: Vec<(RawSpec, Unread)> = raws.into_iter().map(|(raw, unread, ..)| (raw, unread)).collect();
    if !missing.is_empty() {
        missing.sort();
        missing.dedup();
        return Read::Missing(missing);
    }
    tell_no_phases(root, sources, &laid, &raws, &mut issues);
    numbered::tell_mistakable(&raws, &mut issues);

    let mut scope = bare_scope(&mut engine, &mut issues, &mut missing);
    scope.vars = vars::variables("", &base.vars, &[], scope.engine, &base_unread, |_| {});
    scope.unread = base_unread.clone();
    let run = run::lower(base.run.as_ref(), &mut scope);
    let mut known = referring(sources, &laid, &raws, all_named, &base_unread);
    known.axes = matrix.axes();
    known.pinned = known.axes.keys().filter(|axis| pinned(axis).is_some()).cloned().collect();
    known.varying =
        matrix.names().into_iter().map(Some).chain([None]).map(|b| (b.map(str::to_owned), matrix.varying(b))).collect();
    known.compares = compare::sides(base.compare.as_ref()).map(|(axis, ..)| axis);
    let scenarios: Vec<&Scenario> = cells.iter().chain(&unfit).map(|cell| &*cell.scenario).collect();
    known.numbered_nodes = numbered_names(&raws, |raw| &raw.nodes, &scenarios, |own| &own.nodes);
    known.numbered_subscriptions =
        numbered_names(&raws, |raw| &raw.subscriptions, &scenarios, |own| &own.subscriptions);
    known.blocks = matrix.names().into_iter().map(str::to_owned).collect();
    known.computed = metrics::lower(&base.metrics, &known, &mut issues);
    let claims = expect::lower(&base.expect, &known, &mut issues);
    let compare = compare::lower(base.compare.as_ref(), &known, &mut issues);
    tell_uncompared(&run, base.compare.as_ref().map(|at| at.span), &mut issues);
    let tables = report::lower(base.report.as_ref(), &known, &mut engine, &mut issues);
    let raw_charts = base.report.as_ref().map_or(&[][..], |report| &report.value.charts);
    let charts = charts::lower(raw_charts, &known, &mut engine, &mut issues);
    let name = root.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let spec = Spec {
        title: base.title.map_or(name, |title| title.value),
        about: base.about.map(|about| about.value),
        vars: base.vars.iter().map(|(name, at)| (name.value.clone(), at.value.to_string(), at.span)).collect(),
        run,
        cells,
        unfit,
        claims,
        tables,
        charts,
        axes: std::mem::take(&mut known.axes),
        compare,
    };
    followers::leave_out(&mut issues, sources, loader.incomplete);
    Read::Done(Box::new(spec), issues)
}

fn bare_scope<'a, 's>(
    engine: &'a mut Engine<'s>,
    issues: &'a mut Issues,
    missing: &'a mut Vec<PathBuf>,
) -> Scope<'a, 's> {
    Scope {
        engine,
        vars: Variables::default(),
        names: Names::default(),
        numbered: false,
        issues,
        missing,
        builds: IndexMap::new(),
        unread: Unread::default(),
        failed: false,
    }
}

/// What one cell is lowered from.
struct Surroundings<'a> {
    name: &'a str,
    raw: &'a RawSpec,
    unread: &'a Unread,
    point: &'a [(String, VarValue)],
}

/// One scenario at one point, and whether it is whole: it is not if anything in it is wrong, whether told now or
/// before.
fn lower(
    of: &Surroundings<'_>,
    engine: &mut Engine<'_>,
    issues: &mut Issues,
    missing: &mut Vec<PathBuf>,
) -> (Scenario, bool) {
    let Surroundings { name, raw, unread, point } = *of;
    let wanted_before = missing.len();
    let mut failed = !unread.is_empty();
    let variables = vars::variables(name, &raw.vars, point, engine, unread, |issue| {
        failed = true;
        issues.push(issue);
    });
    let mut scope = bare_scope(engine, issues, missing);
    scope.failed = failed || variables.any_poisoned();
    scope.vars = variables;
    scope.unread = unread.clone();
    let keys = |map: Vec<&At<String>>| map.into_iter().map(|key| key.value.clone()).collect::<Vec<_>>();
    scope.names.define(Kind::Publication, keys(raw.publications.keys().collect()));
    scope.names.define(Kind::Workload, keys(raw.workloads.keys().collect()));
    let named: Vec<&At<String>> = raw
        .nodes
        .keys()
        .chain(raw.publications.keys())
        .chain(raw.subscriptions.keys())
        .chain(raw.slots.keys())
        .chain(raw.workloads.keys())
        .chain(raw.vars.keys())
        .collect();
    for key in named {
        setup::check_name(key, &mut scope);
    }
    for (key, comes_with, at) in raw.later() {
        if let Some(at) = at {
            scope.tell(not_yet(key, comes_with, at.span));
        }
    }
    let all_nodes = numbered::copies(&raw.nodes, &mut scope);
    let all_subscriptions = numbered::copies(&raw.subscriptions, &mut scope);
    scope.builds = builds::lower(&raw.builds, &mut scope);
    let transport = nodes::transport(raw.postgres.as_ref(), &mut scope);
    let publications = publications::lower(&raw.publications, &mut scope);
    let subscriptions = subscriptions::lower(&all_subscriptions, &publications, &mut scope);
    let nodes = nodes::lower(raw.postgres.as_ref(), &all_nodes, &subscriptions, &mut scope);
    let setup = setup::lower(&raw.setup, &mut scope);
    let slots = slots::lower(&raw.slots, &publications, &mut scope);
    let all_setup = setup.len() == raw.setup.len()
        && setup.iter().all(|step| !step.nodes.is_empty())
        && !scope.unread.covers(&["setup"]);
    let workloads = workloads::lower(&raw.workloads, &setup, all_setup, &mut scope);
    let phases = phases::lower(&raw.phases, &mut scope);
    let windows = phases::windows(&raw.windows, &raw.phases, &phases, &mut scope);
    let marker_commit = run::marker_commit(raw.marker.as_ref(), &mut scope);
    let title = raw.title.as_ref().map_or_else(|| name.to_owned(), |title| title.value.clone());
    let counted =
        |kind| scope.names.counted(kind).map(|(base, count)| (base.clone(), count.unwrap_or_default())).collect();
    let numbered = Numbered { nodes: counted(Kind::Node), subscriptions: counted(Kind::Subscription) };
    let (whole, unread) = (!scope.failed, scope.unread);
    let scenario = Scenario {
        name: name.to_owned(),
        title,
        transport,
        nodes,
        setup,
        publications,
        subscriptions,
        slots,
        workloads,
        phases,
        windows,
        marker_commit,
        numbered,
        unread,
    };
    (scenario, whole && missing.len() == wanted_before)
}
