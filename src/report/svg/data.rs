//! What is drawn, as plain data. Figures that are not numbers do not get in: constructors leave them out.

/// A chart: what it is called, what is said about it, and the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The heading; wrapped to two lines.
    pub title: String,
    /// What a reader who does not see the picture should know first; the data follow in words by themselves.
    pub about: String,
    /// A line or two below the picture, such as what an interval is; empty for none.
    pub note: String,
    /// The data, by kind.
    pub figure: Figure,
}

/// The kinds of charts.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// Bars by the values of an axis.
    Bars(Bars),
    /// Lines over time.
    Lines(Lines),
    /// Stacked amounts by role.
    Stack(Stack),
}

/// What a value is counted in, and so how it is written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Unit {
    /// As it is called: `s`, `ms`, `/s`; empty for counts and ratios.
    Plain(String),
    /// Bytes; written in KiB, MiB and so on.
    Bytes,
    /// Fractions of one; written in per cent.
    Fraction,
}

/// What the axis of values shows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ValueAxis {
    /// Its name without the unit.
    pub title: String,
    /// The unit of every value of the chart.
    pub unit: Unit,
}

/// Groups of bars side by side, one bar a series in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// What the groups are values of, such as `clients`; empty for nothing.
    pub axis: String,
    /// The names of the groups, from left to right.
    pub groups: Vec<String>,
    /// What the bars' lengths are.
    pub values: ValueAxis,
    /// The series, in the order of the legend.
    pub series: Vec<BarSeries>,
    /// What the whiskers are, for the legend, such as `95 % interval`.
    pub interval: String,
    /// What a dot is, for the legend, such as `one pair`; empty for a round.
    pub dot: String,
}

/// The bars of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct BarSeries {
    /// Its name in the legend.
    pub name: String,
    /// A bar a group, in the groups' order; where the list ends early, bars are missing.
    pub bars: Vec<Bar>,
}

/// One bar with what is known about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    value: Option<f64>,
    rounds: Vec<f64>,
    interval: Option<(f64, f64)>,
    published: Option<f64>,
}

impl Bar {
    /// A bar that is missing; a published figure may still stand in its place.
    pub fn missing() -> Self {
        Self::default()
    }

    /// A bar from zero to the value; missing if that is no finite number.
    pub fn of(value: f64) -> Self {
        Self { value: figure(value), ..Self::default() }
    }

    /// The same with a dot for every round; what is no finite number has none.
    #[must_use]
    pub fn with_rounds(mut self, rounds: impl IntoIterator<Item = f64>) -> Self {
        self.rounds = rounds.into_iter().filter_map(figure).collect();
        self
    }

    /// The same with a whisker between both ends, in either order; none if one of them is no finite number.
    #[must_use]
    pub fn with_interval(mut self, low: f64, high: f64) -> Self {
        self.interval = figure(low).zip(figure(high)).map(|(a, b)| (a.min(b), a.max(b)));
        self
    }

    /// The same with the figure that was published for it.
    #[must_use]
    pub fn with_published(mut self, published: f64) -> Self {
        self.published = figure(published);
        self
    }

    /// How long the bar is.
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// The figures of single rounds, in their order.
    pub fn rounds(&self) -> &[f64] {
        &self.rounds
    }

    /// Where the whisker begins and ends, the lower end first.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval
    }

    /// The figure that was published.
    pub fn published(&self) -> Option<f64> {
        self.published
    }
}

/// Lines over time. The axis of values always holds zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Both axes.
    pub axes: LinesAxis,
    /// The series, in the order of the legend.
    pub series: Vec<LineSeries>,
    /// Phases by their beginnings, drawn as vertical lines with names.
    pub phases: Vec<Phase>,
}

/// The axes of [`Lines`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinesAxis {
    /// What the time is counted from, such as `time since the load began`; the unit (s) is added.
    pub time: String,
    /// What the lines show.
    pub values: ValueAxis,
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSeries {
    /// Its name, beside its end or in the legend.
    pub name: String,
    runs: Vec<Vec<(f64, f64)>>,
}

impl LineSeries {
    /// A line through points of (seconds, value), sorted by time. A value that is no finite number is a gap in the
    /// line; a time that is none is left out.
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut points: Vec<(f64, f64)> = points.into_iter().filter_map(|(x, y)| figure(x).map(|x| (x, y))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut runs = vec![Vec::new()];
        for (x, y) in points {
            match (figure(y), runs.last_mut()) {
                (Some(y), Some(run)) => run.push((x, y)),
                _ => runs.push(Vec::new()),
            }
        }
        runs.retain(|run| !run.is_empty());
        Self { name: name.into(), runs }
    }

    /// The points without the gaps: each run of them is joined by a line; none is empty.
    pub fn runs(&self) -> &[Vec<(f64, f64)>] {
        &self.runs
    }
}

/// Where a phase begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// Its name, such as `drain`.
    pub name: String,
    begin: f64,
}

impl Phase {
    /// A phase that begins at that second; nothing if that is no finite number.
    pub fn new(name: impl Into<String>, begin: f64) -> Option<Self> {
        figure(begin).map(|begin| Self { name: name.into(), begin })
    }

    /// Its beginning in seconds, on the time of the lines.
    pub fn begin(&self) -> f64 {
        self.begin
    }
}

/// Horizontal bars made of segments, one bar a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// What the segments are amounts of.
    pub amounts: ValueAxis,
    /// The names of the segments, in the order they are stacked and stand in the legend.
    pub roles: Vec<String>,
    /// The bars, from above.
    pub rows: Vec<StackRow>,
    /// Whether every bar is drawn as long as the others, so that segments are shares of its total.
    pub shares: bool,
}

/// One stacked bar.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRow {
    /// Its name, on its left.
    pub name: String,
    amounts: Vec<Option<f64>>,
}

impl StackRow {
    /// An amount a role, in the roles' order. Amounts that are negative or no finite numbers are missing, as are
    /// those after the end of the list.
    pub fn new(name: impl Into<String>, amounts: impl IntoIterator<Item = Option<f64>>) -> Self {
        let amount = |amount: Option<f64>| amount.and_then(figure).filter(|amount| *amount >= 0.0);
        Self { name: name.into(), amounts: amounts.into_iter().map(amount).collect() }
    }

    /// The amount of the role at that place.
    pub fn amount(&self, role: usize) -> Option<f64> {
        self.amounts.get(role).copied().flatten()
    }
}

/// A number that can be drawn. Above 1e100, differences would overflow; below 1e-100, quotients would.
fn figure(value: f64) -> Option<f64> {
    match value.abs() {
        size if size <= 1e-100 => Some(0.0),
        size if size <= 1e100 => Some(value),
        _ => None,
    }
}
