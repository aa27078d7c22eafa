//! Whole charts: what they look like, that they are XML, and that everything lies where it should.

use proptest::prelude::*;

use super::checked::Picture;
use super::*;

fn written(chart: &Chart) -> String {
    let svg = draw(chart);
    Picture::of(&svg).check();
    svg
}

#[test]
fn pictures_of_every_sample() {
    for (name, chart) in samples::all() {
        eprintln!("{name}");
        let svg = draw(&chart);
        if let Ok(folder) = std::env::var("CHARTS") {
            std::fs::write(format!("{folder}/{name}.svg"), &svg).expect("written");
        }
        Picture::of(&svg).check();
    }
}
