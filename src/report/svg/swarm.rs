//! Placing dots beside one another where they would hide each other.

use super::canvas::Area;

/// An x for each dot at a height, as near the middle as it can stand without touching another dot or something in the
/// way; where there is no such place, the one that is farthest from the others. In the order of the heights given.
pub(super) fn beside(heights: &[f64], middle: f64, half: f64, radius: f64, in_the_way: &[Area]) -> Vec<f64> {
    let step = radius / 2.0;
    let steps = (half / step).max(0.0) as usize;
    let offsets: Vec<f64> = (0..=steps).flat_map(|n| [n as f64 * step, -(n as f64) * step]).skip(1).collect();
    let mut placed: Vec<(f64, f64)> = Vec::with_capacity(heights.len());
    for y in heights {
        let mut best = (f64::NEG_INFINITY, middle);
        for offset in &offsets {
            let x = middle + offset;
            let dots = placed.iter().map(|(other, height)| (x - other).hypot(y - height) - 2.0 * radius);
            let others = in_the_way.iter().map(|area| distance(area, (x, *y)) - radius);
            let free = dots.chain(others).fold(f64::INFINITY, f64::min);
            if free >= 0.0 {
                best = (free, x);
                break;
            }
            if free > best.0 {
                best = (free, x);
            }
        }
        placed.push((best.1, *y));
    }
    placed.into_iter().map(|(x, _)| x).collect()
}

/// How far a point is from an area; zero inside.
fn distance(area: &Area, (x, y): (f64, f64)) -> f64 {
    let right = (area.left - x).max(x - area.right).max(0.0);
    let down = (area.top - y).max(y - area.bottom).max(0.0);
    right.hypot(down)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_figures_stand_side_by_side_around_what_is_in_the_way() {
        let whisker = Area { left: 49.0, top: 0.0, right: 51.0, bottom: 100.0 };
        let found = beside(&[10.0, 10.0, 10.0, 40.0], 50.0, 20.0, 2.0, &[whisker]);
        assert_eq!(found, [53.0, 47.0, 57.0, 53.0]);
        assert_eq!(beside(&[10.0], 50.0, 20.0, 2.0, &[]), [50.0]);
    }

    proptest! {
        #[test]
        fn dots_stay_in_their_bar_and_apart_where_there_is_room(
            heights in prop::collection::vec(0.0..200.0_f64, 0..12),
            half in 0.0..60.0_f64,
        ) {
            let radius = 2.0;
            let found = beside(&heights, 100.0, half, radius, &[]);
            prop_assert!(found.iter().all(|x| (x - 100.0).abs() <= half));
            // Each of eleven others keeps less than four radii of the width from a dot.
            if half >= 11.0 * 2.0 * radius {
                for (a, (x, y)) in found.iter().zip(&heights).enumerate() {
                    for (other, height) in found.iter().zip(&heights).skip(a + 1) {
                        prop_assert!((x - other).hypot(y - height) >= 2.0 * radius - 1e-9);
                    }
                }
            }
        }
    }
}
