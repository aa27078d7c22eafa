//! Whole charts: what they look like, that they are XML, and that everything lies where it should.

use proptest::prelude::*;

use super::checked::{self, Element, Picture};
use super::*;

/// The picture of a chart, after it was found to keep the rules of every picture.
fn picture(chart: &Chart) -> Picture {
    let picture = Picture::of(&draw(chart));
    picture.check();
    picture
}

fn chart(title: &str, figure: Figure) -> Chart {
    Chart { title: title.to_owned(), about: String::new(), note: String::new(), figure }
}

fn plain(title: &str, unit: &str) -> ValueAxis {
    ValueAxis { title: title.to_owned(), unit: Unit::Plain(unit.to_owned()) }
}

/// The areas of series, without their textures and without the legend.
fn segments(picture: &Picture) -> Vec<&Element> {
    picture.drawn().filter(|element| element.name == "rect" && element.told().is_some()).collect()
}

#[test]
fn bars_by_axis_look_like_this() {
    insta::assert_snapshot!(draw(&samples::bars()));
}

#[test]
fn lines_over_time_look_like_this() {
    insta::assert_snapshot!(draw(&samples::lines()));
}

#[test]
fn stacked_bars_look_like_this() {
    insta::assert_snapshot!(draw(&samples::stack()));
}

#[test]
fn every_sample_keeps_the_rules_of_a_picture() {
    for (name, chart) in samples::all() {
        assert_eq!(draw(&chart), draw(&chart), "{name} is drawn in two ways");
        picture(&chart);
    }
}

#[test]
fn a_chart_without_figures_says_so() {
    for name in ["bars-none", "lines-none", "lines-empty", "stack-none"] {
        let (_, chart) = samples::all().into_iter().find(|(other, _)| *other == name).expect("a sample");
        assert!(picture(&chart).texts().any(|text| text.text == "no figures"), "{name}");
    }
}

#[test]
fn what_a_person_wrote_is_escaped_and_told_whole() {
    let name = "a < b && \"c\" > 'd'\u{7}\u{ffff} ".repeat(20);
    let mut chart = samples::bars();
    chart.title.clone_from(&name);
    chart.about.clone_from(&name);
    chart.note.clone_from(&name);
    let Figure::Bars(bars) = &mut chart.figure else { panic!("bars") };
    bars.series[0].name.clone_from(&name);
    bars.groups[0].clone_from(&name);
    let picture = picture(&chart);
    let whole = name.replace(['\u{7}', '\u{ffff}'], " ");
    assert_eq!(picture.root.told(), Some(whole.as_str()));
    // A bar that is missing tells something else.
    let texts = picture.texts().filter(|text| text.text != "–");
    let told: Vec<&str> = texts.filter_map(Element::told).map(str::trim).collect();
    // Two lines of the title, three of the note, three of the group; the legend's entry.
    assert_eq!(told, [whole.trim(); 9]);
}

#[test]
fn values_that_are_no_numbers_are_left_out() {
    let bar = Bar::of(f64::NAN).with_rounds([f64::INFINITY, 1.0]).with_interval(0.0, f64::NAN).with_published(1e200);
    assert_eq!((bar.value(), bar.rounds(), bar.interval(), bar.published()), (None, &[1.0][..], None, None));
    let line = LineSeries::new("x", [(2.0, 1.0), (f64::NAN, 1.0), (0.0, 3.0), (1.0, f64::NAN)]);
    assert_eq!(line.runs(), [[(0.0, 3.0)], [(2.0, 1.0)]]);
    let row = StackRow::new("x", [Some(-1.0), Some(f64::INFINITY), Some(2.0)]);
    assert_eq!([0, 1, 2, 3].map(|role| row.amount(role)), [None, None, Some(2.0), None]);
    assert_eq!(Phase::new("x", f64::NAN), None);
}

#[test]
fn published_figures_are_in_the_legend_only_where_there_are_some() {
    let has = |chart: &Chart| picture(chart).texts().any(|text| text.text == "published");
    assert!(has(&samples::bars()));
    let bars = Bars {
        axis: String::new(),
        groups: vec!["x".to_owned()],
        values: plain("t", "s"),
        series: vec![BarSeries { name: "a".to_owned(), bars: vec![Bar::of(1.0)] }],
        interval: String::new(),
        dot: String::new(),
    };
    assert!(!has(&chart("x", Figure::Bars(bars))));
}

#[test]
fn an_interval_far_beyond_the_figures_does_not_shrink_the_bars() {
    let bars = |high| Bars {
        axis: String::new(),
        groups: vec!["x".to_owned()],
        values: plain("t", "s"),
        series: vec![BarSeries { name: "a".to_owned(), bars: vec![Bar::of(10.0).with_interval(-1e6, high)] }],
        interval: String::new(),
        dot: String::new(),
    };
    let heights = [1e3, 1e9].map(|high| {
        let picture = picture(&chart("x", Figure::Bars(bars(high))));
        segments(&picture)[0].number("height")
    });
    assert!(heights[0] > 100.0 && heights[0].total_cmp(&heights[1]).is_eq(), "{heights:?}");
}

#[test]
fn rules_of_style_are_for_the_chart_alone_and_dark_has_every_colour_of_light() {
    let style = palette::style();
    let (light, dark) = style.split_once("@media (prefers-color-scheme:dark){").expect("both shades");
    let selectors = |rules: &str| -> Vec<String> {
        let rules =
            rules.lines().filter_map(|line| line.split_once('{')).flat_map(|(selectors, _)| selectors.split(','));
        rules.map(str::to_owned).collect()
    };
    assert!(selectors(light).iter().chain(&selectors(dark)).all(|one| one.starts_with(".runner-chart ")), "{style}");
    let lights = selectors(light);
    assert!(!selectors(dark).is_empty() && lights.ends_with(&selectors(dark)), "{style}");
}

#[test]
fn the_description_holds_the_figures() {
    let description = |chart: &Chart| {
        let picture = picture(chart);
        picture.root.children.iter().find(|child| child.name == "desc").expect("a description").text.clone()
    };
    let bars = description(&samples::bars());
    assert!(bars.contains("head: 4: 4.671 s, 8: 6.900 s, 16: 11.80 s."), "{bars}");
    assert!(bars.contains("patched: 4: 3.200 s, 8: no figure, 16: 4.020 s."), "{bars}");
    let lines = description(&samples::lines());
    assert!(lines.contains("drain begins at 30 s.") && lines.contains("streaming = parallel: begins at"), "{lines}");
    let shares = description(&samples::shares());
    assert!(shares.contains("a run that failed: no figures.") && shares.contains("idle:"), "{shares}");
}

/// Figures as a run may give them, with some that are nonsense.
fn figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -10.0..1e4_f64,
        2 => Just(0.0),
        1 => any::<f64>(),
        1 => Just(f64::NAN),
        1 => Just(f64::MAX),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z_]{0,12}( = [0-9]{1,4})?", 1 => "\\PC{0,200}", 1 => any::<String>()]
}

fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![Just(Unit::Bytes), Just(Unit::Fraction), "(s|ms|/s|)".prop_map(Unit::Plain)]
}

fn values() -> impl Strategy<Value = ValueAxis> {
    (name(), unit()).prop_map(|(title, unit)| ValueAxis { title, unit })
}

fn bar() -> impl Strategy<Value = Bar> {
    let rounds = prop::collection::vec(figure(), 0..8);
    (figure(), rounds, figure(), figure(), prop::option::of(figure())).prop_map(
        |(value, rounds, low, high, published)| {
            let bar = Bar::of(value).with_rounds(rounds).with_interval(low, high);
            match published {
                Some(published) => bar.with_published(published),
                None => bar,
            }
        },
    )
}

fn bars() -> impl Strategy<Value = Figure> {
    let series = (name(), prop::collection::vec(bar(), 0..8)).prop_map(|(name, bars)| BarSeries { name, bars });
    let series = prop::collection::vec(series, 0..13);
    (name(), prop::collection::vec(name(), 0..13), values(), series, name(), name()).prop_map(
        |(axis, groups, values, series, interval, dot)| {
            Figure::Bars(Bars { axis, groups, values, series, interval, dot })
        },
    )
}

fn lines() -> impl Strategy<Value = Figure> {
    let points = prop::collection::vec((figure(), figure()), 0..40);
    let series = (name(), points).prop_map(|(name, points)| LineSeries::new(name, points));
    let phases = prop::collection::vec((name(), figure()), 0..9);
    (name(), values(), prop::collection::vec(series, 0..24), phases).prop_map(|(time, values, series, phases)| {
        let phases = phases.into_iter().filter_map(|(name, begin)| Phase::new(name, begin)).collect();
        Figure::Lines(Lines { axes: LinesAxis { time, values }, series, phases })
    })
}

fn stacks() -> impl Strategy<Value = Figure> {
    let row = (name(), prop::collection::vec(prop::option::of(figure()), 0..13));
    let row = row.prop_map(|(name, amounts)| StackRow::new(name, amounts));
    let roles = prop::collection::vec(name(), 0..13);
    (values(), roles, prop::collection::vec(row, 0..9), any::<bool>())
        .prop_map(|(amounts, roles, rows, shares)| Figure::Stack(Stack { amounts, roles, rows, shares }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_drawn_is_xml_inside_its_box_and_no_text_lies_upon_another(
        (title, about, note) in (name(), name(), name()),
        figure in prop_oneof![bars(), lines(), stacks()],
    ) {
        picture(&Chart { title, about, note, figure });
    }

    #[test]
    fn bars_are_as_long_as_their_values_say(figures in prop::collection::vec(-50.0..1e3_f64, 1..8)) {
        let series = BarSeries { name: "a".to_owned(), bars: figures.iter().map(|value| Bar::of(*value)).collect() };
        let groups = (0..figures.len()).map(|n| n.to_string()).collect();
        let values = plain("t", "s");
        let bars = Bars { axis: String::new(), groups, values, series: vec![series], interval: String::new(), dot: String::new() };
        let picture = picture(&chart("x", Figure::Bars(bars)));
        let heights: Vec<f64> = segments(&picture).iter().map(|bar| bar.number("height")).collect();
        prop_assert_eq!(heights.len(), figures.len());
        let largest = figures.iter().map(|value| value.abs()).fold(0.0, f64::max);
        let longest = heights.iter().copied().fold(0.0, f64::max);
        for (value, height) in figures.iter().zip(heights) {
            prop_assert!((height - value.abs() / largest * longest).abs() <= 0.05, "{value}: {height}");
        }
    }

    #[test]
    fn segments_are_as_long_as_their_amounts_say_and_meet(
        amounts in prop::collection::vec(1.0..1e3_f64, 1..12),
        shares in any::<bool>(),
    ) {
        let stack = Stack {
            amounts: plain("CPU", "s"),
            roles: (0..amounts.len()).map(|n| n.to_string()).collect(),
            rows: vec![StackRow::new("x", amounts.iter().copied().map(Some))],
            shares,
        };
        let picture = picture(&chart("x", Figure::Stack(stack)));
        let areas: Vec<_> = segments(&picture).into_iter().map(checked::area).collect();
        prop_assert_eq!(areas.len(), amounts.len());
        let whole = areas[areas.len() - 1].right - areas[0].left;
        let total: f64 = amounts.iter().sum();
        for (area, amount) in areas.iter().zip(&amounts) {
            // The gap to the next segment is a part of its width.
            prop_assert!((area.width() - amount / total * whole).abs() <= 1.1, "{amount}: {area:?}");
        }
        for pair in areas.windows(2) {
            prop_assert!((-0.001..=1.011).contains(&(pair[1].left - pair[0].right)), "{pair:?}");
        }
    }

    #[test]
    fn a_name_takes_no_more_room_than_there_is(text in name(), room in 0.0..300.0_f64, most in 1..4_usize) {
        let short = font::LABEL.shorten(&text, room);
        prop_assert!(font::LABEL.width(&short) <= room);
        prop_assert!(short == text || font::LABEL.width(&text) > room);
        let wrapped = font::LABEL.wrap(&text, room, most);
        prop_assert!(wrapped.lines.len() <= most && wrapped.width(font::LABEL) <= room);
        let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert!(wrapped.shortened || plain(&wrapped.lines.concat()) == plain(&text));
    }
}
