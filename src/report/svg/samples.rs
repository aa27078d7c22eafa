//! Charts with the data that reports have, and with the worst that they may have.

use super::*;

fn chart(title: &str, figure: Figure) -> Chart {
    let note = "Bars are medians of the rounds; whiskers are 95 % intervals of Student's t.";
    let note = if matches!(figure, Figure::Bars(_)) { note } else { "" };
    Chart { title: title.to_owned(), about: String::new(), note: note.to_owned(), figure }
}

fn axis(title: &str, unit: &str) -> ValueAxis {
    ValueAxis { title: title.to_owned(), unit: Unit::Plain(unit.to_owned()) }
}

/// A number between zero and one that looks like chance and is always the same.
fn noise(seed: usize) -> f64 {
    let mixed = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn bar(value: f64, rounds: usize, seed: usize) -> Bar {
    let spread = |n: usize| value * (1.0 + 0.06 * (noise(seed * 31 + n) - 0.5));
    Bar::of(value).with_rounds((0..rounds).map(spread)).with_interval(value * 0.955, value * 1.045)
}

fn grid(names: &[&str], groups: &[&str], rounds: usize, of: impl Fn(usize, usize) -> f64) -> Bars {
    let series = names.iter().enumerate().map(|(n, name)| BarSeries {
        name: (*name).to_owned(),
        bars: (0..groups.len()).map(|group| bar(of(n, group), rounds, n * 100 + group)).collect(),
    });
    Bars {
        axis: "clients".to_owned(),
        groups: groups.iter().map(|name| (*name).to_owned()).collect(),
        values: axis("time until all is applied", "s"),
        series: series.collect(),
        interval: "95 % interval".to_owned(),
        dot: String::new(),
    }
}

pub(super) fn bars() -> Chart {
    let mut bars = grid(&["head", "patched"], &["4", "8", "16"], 5, |series, group| {
        [[4.671, 6.9, 11.8], [3.2, 3.61, 4.02]][series][group]
    });
    bars.series[0].bars[0] = bars.series[0].bars[0].clone().with_published(4.35);
    bars.series[0].bars[2] = bars.series[0].bars[2].clone().with_published(12.6);
    bars.series[1].bars[0] = bars.series[1].bars[0].clone().with_published(3.6);
    bars.series[1].bars[1] = Bar::missing();
    chart("Parallel apply halves the drain from 8 clients on", Figure::Bars(bars))
}

pub(super) fn lines() -> Chart {
    let series = ["streaming = off", "streaming = on", "streaming = parallel"].into_iter().enumerate();
    let series = series.map(|(n, name)| {
        let points = (0..=120).map(|second| {
            let t = f64::from(second) * 0.5;
            let peak = [52.0, 31.0, 9.0][n] * 1_048_576.0;
            let lag = if t < 30.0 { peak * t / 30.0 } else { peak * (1.0 - (t - 30.0) / [29.0, 16.0, 5.0][n]) };
            let gap = n == 1 && (40..44).contains(&second);
            let wobble = peak * 0.06 * (noise(n * 1000 + second as usize) - 0.5);
            (t, if gap { f64::NAN } else { (lag + wobble).max(0.0) })
        });
        LineSeries::new(name, points)
    });
    let phases = [("load", 0.0), ("drain", 30.0)].into_iter().filter_map(|(name, at)| Phase::new(name, at));
    let lines = Lines {
        axes: LinesAxis {
            time: "time since the load began".to_owned(),
            values: ValueAxis { title: "WAL not yet applied".to_owned(), unit: Unit::Bytes },
        },
        series: series.collect(),
        phases: phases.collect(),
    };
    chart("How far the subscriber is behind", Figure::Lines(lines))
}

pub(super) fn stack() -> Chart {
    let rows = [
        ("streaming = off", [8.2, 2.31, 7.4, 0.0, 0.42]),
        ("streaming = on", [8.4, 2.2, 7.9, 0.0, 0.4]),
        ("streaming = parallel, 4 workers", [8.3, 2.25, 1.1, 7.7, 0.02]),
    ];
    let stack = Stack {
        amounts: axis("CPU", "s"),
        roles: ["client backends", "walsender", "apply worker", "parallel apply workers", "tablesync"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.map(|(name, amounts)| StackRow::new(name, amounts.map(Some))).to_vec(),
        shares: false,
    };
    chart("Where the CPU goes", Figure::Stack(stack))
}

pub(super) fn shares() -> Chart {
    let mut chart = stack();
    if let Figure::Stack(stack) = &mut chart.figure {
        stack.shares = true;
        stack.rows.push(StackRow::new("a run that failed", []));
        stack.rows.push(StackRow::new("idle", [Some(0.0), Some(f64::NAN), Some(-1.0)]));
    }
    chart
}

/// Every sample with a name.
pub(super) fn all() -> Vec<(&'static str, Chart)> {
    let twelve: Vec<String> = (1..=12).map(|n| format!("{} subscriptions", n * 4)).collect();
    let twelve: Vec<&str> = twelve.iter().map(String::as_str).collect();
    let long = "a scenario whose title says everything that is different about it, at length";
    let longs: Vec<String> = (0..12).map(|n| format!("{long} {n}")).collect();
    let longs: Vec<&str> = longs.iter().map(String::as_str).collect();
    let empty = grid(&[], &[], 0, |_, _| 0.0);
    let no_lines = |series| Lines {
        axes: LinesAxis { time: "time".to_owned(), values: axis("transactions", "/s") },
        series,
        phases: Vec::new(),
    };
    let wave = |n: usize, scale: f64| {
        let point = move |t: u32| {
            (f64::from(t) * 0.05, scale * ((f64::from(t) * 0.002 + n as f64).sin() + noise(t as usize + n) * 0.2))
        };
        LineSeries::new(format!("publisher_{n}_against_the_others"), (0..4000).map(point))
    };
    let many_phases = ["prepare", "load", "a phase with a rather long name that goes on", "b", "drain", "verify"];
    let mut waves = no_lines((0..6).map(|n| wave(n, 1800.0)).collect());
    waves.axes.values = axis("difference to the first build", "/s");
    waves.phases = many_phases
        .iter()
        .enumerate()
        .filter_map(|(n, name)| Phase::new(*name, [0.0, 4.0, 60.0, 66.0, 70.0, 199.0][n]))
        .collect();
    let mut cut =
        grid(&["head", "patched"], &["1", "64"], 2, |series, group| 20.0 + 9.0 * series as f64 + group as f64);
    cut.series[0].bars[1] = Bar::of(21.0).with_rounds([20.0, 22.0]).with_interval(-3.0, 90.0);
    let mut stack_long = stack();
    if let Figure::Stack(stack) = &mut stack_long.figure {
        stack.roles = (0..12).map(|n| format!("{n} {long}")).collect();
        stack.rows =
            (0..8).map(|row| StackRow::new(longs[row], (0..12).map(|n| Some(noise(row * 12 + n) * 3e8)))).collect();
        stack.amounts = ValueAxis { title: "WAL written".to_owned(), unit: Unit::Bytes };
    }
    let tps = |bars: Bars| Bars { values: axis("transactions", "/s"), ..bars };
    vec![
        ("bars", bars()),
        ("lines", lines()),
        ("stack", stack()),
        ("shares", shares()),
        ("bars-none", chart("Nothing was measured", Figure::Bars(empty))),
        ("bars-zero", chart("All are zero", Figure::Bars(grid(&["a", "b"], &["x", "y"], 3, |_, _| 0.0)))),
        (
            "bars-one-by-twelve",
            chart(
                "One group of twelve",
                Figure::Bars(tps(grid(&twelve, &["all clients"], 5, |n, _| 4_000.0 + 731.0 * n as f64))),
            ),
        ),
        (
            "bars-twelve-by-two",
            chart(
                "Twelve groups of two",
                Figure::Bars(tps(grid(&["head", "patched"], &twelve, 3, |n, group| {
                    11_000.0 / (1.0 + group as f64 * 0.3) * (1.0 + n as f64 * 0.2)
                }))),
            ),
        ),
        (
            "bars-twelve-by-twelve",
            chart(
                "Twelve groups of twelve",
                Figure::Bars(grid(&twelve, &twelve, 3, |n, group| (n + group) as f64 + noise(n * group))),
            ),
        ),
        (
            "bars-long",
            chart(
                &format!("{long}, {long}, {long}"),
                Figure::Bars(grid(&longs, &longs[..4], 10, |n, group| 2e8 * noise(n * 4 + group) - 3e7)),
            ),
        ),
        (
            "bars-huge",
            chart(
                "From little to much",
                Figure::Bars(grid(&["a"], &["1", "2", "3", "4"], 3, |_, group| [1e-9, 1.0, 1e5, 3e12][group])),
            ),
        ),
        ("bars-cut", chart("An interval beyond the axis", Figure::Bars(cut))),
        ("lines-none", chart("No lines", Figure::Lines(no_lines(Vec::new())))),
        (
            "lines-empty",
            chart(
                "Lines without points",
                Figure::Lines(no_lines(vec![LineSeries::new("a", []), LineSeries::new("b", [(f64::NAN, 1.0)])])),
            ),
        ),
        ("lines-negative", chart("Differences over time", Figure::Lines(waves))),
        (
            "lines-many",
            chart("More lines than names fit beside", Figure::Lines(no_lines((0..20).map(|n| wave(n, 3.0)).collect()))),
        ),
        ("lines-point", chart("One point", Figure::Lines(no_lines(vec![LineSeries::new("lone", [(4.0, 12_345.0)])])))),
        ("stack-long", stack_long),
        (
            "stack-none",
            chart(
                "No stacks",
                Figure::Stack(Stack { amounts: axis("CPU", "s"), roles: Vec::new(), rows: Vec::new(), shares: false }),
            ),
        ),
    ]
}
