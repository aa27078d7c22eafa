//! Ten times as many cells take about ten times as long to lower and to plan.
//!
//! A step that is quadratic in the cells would make it a hundred. What is tested is which of the two it is nearer to:
//! how near to ten it comes (9 to 15) is the machine's matter, for ten times the memory fits into no cache.

use std::path::Path;
use std::time::{Duration, Instant};

use runner::plan;
use runner::spec::{Options, Read, VarValue, read_at_points};
use runner::text::SourceMap;

use crate::texts::{facts, read_file, top};

const SPEC: &str = "specs/replica_identity_full.toml";

/// As far from ten as from a hundred: 10^1.5.
const NEITHER: f64 = 31.6;

/// Points of two axes. The spec has two scenarios, so there are twice as many cells.
fn points(count: usize) -> Vec<Vec<(String, VarValue)>> {
    let value = |n: usize| VarValue::Int(i64::try_from(n).expect("small"));
    (0..count)
        .map(|n| vec![("rows".to_owned(), value(10_000 + n)), ("changed".to_owned(), value(1 + n % 1000))])
        .collect()
}

/// The shortest of several times that reading, lowering and planning so many cells took: reading apart.
fn fastest(cells: usize, repeats: usize) -> (Duration, Duration) {
    let mut sources = SourceMap::default();
    sources.add(SPEC, std::fs::read_to_string(top().join(SPEC)).expect("a spec that is shipped"));
    let (points, facts) = (points(cells / 2), facts(&[18]));
    let mut least = (Duration::MAX, Duration::MAX);
    for _ in 0..repeats {
        let start = Instant::now();
        let Read::Done(spec, mut issues) = read_at_points(Path::new(SPEC), &sources, Options::default(), Some(&points))
        else {
            panic!("every text is there");
        };
        let lowered = start.elapsed();
        let start = Instant::now();
        let plan = plan::plan(&spec, &sources, &facts, &mut issues);
        let planned = start.elapsed();
        assert!(issues.is_empty(), "{:?}", issues.as_slice());
        assert_eq!(plan.cells.len(), cells);
        least = (least.0.min(lowered), least.1.min(planned));
    }
    least
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are for whoever asks with --nocapture")]
fn ten_times_as_many_cells_take_no_hundred_times_as_long() {
    let few = fastest(1_000, 5);
    let many = fastest(10_000, 2);
    let ratio = (many.0 + many.1).as_secs_f64() / (few.0 + few.1).as_secs_f64();
    eprintln!("1,000 cells: {few:?}; 10,000 cells: {many:?} (lowered, planned); ratio {ratio:.1}");
    assert!(ratio < NEITHER, "10,000 cells take {ratio:.1} times as long as 1,000");
}

#[test]
fn mistakes_of_every_cell_are_told_once_and_take_no_hundred_times_as_long() {
    // An undefined variable, a value of the wrong type and an option that a version lacks in each of many cells.
    let text = std::fs::read_to_string(top().join(SPEC)).expect("a spec that is shipped");
    let text = text
        .replace("{{ rows - changed }}", "{{ row - changed }}")
        .replace("transactions = 1", "transactions = \"{{ rows }}.5\"")
        .replace("copy_data = true", "copy_dat = true")
        .replace("clients = 1", "clients = \"{{ rows / 3 }}\"");
    let mut sources = SourceMap::default();
    sources.add(SPEC, text);
    let fastest = |cells: usize, repeats: usize| {
        let points = points(cells / 2);
        let once = || {
            let start = Instant::now();
            let Read::Done(spec, mut issues) =
                read_at_points(Path::new(SPEC), &sources, Options::default(), Some(&points))
            else {
                panic!("every text is there");
            };
            plan::plan(&spec, &sources, &facts(&[18]), &mut issues);
            assert_eq!((spec.cells.len(), issues.as_slice().len()), (0, 4), "{:?}", issues.as_slice());
            start.elapsed()
        };
        (0..repeats).map(|_| once()).min().expect("at least one").as_secs_f64()
    };
    let ratio = fastest(5_000, 2) / fastest(500, 5);
    assert!(ratio < NEITHER, "ten times as many cells with mistakes take {ratio:.1} times as long");
}

#[test]
fn the_spec_is_the_one_that_is_shipped() {
    assert_eq!(read_file(Path::new(SPEC)).spec.cells.len(), 2);
}
