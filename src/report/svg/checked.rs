//! A picture read back: a small reader of XML, and the rules that every picture keeps.

use super::canvas::Area;
use super::font::Font;

/// An element with what it holds.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    /// Its own text, without that of its children.
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        self.attribute(name).unwrap_or("0").parse().expect("a number")
    }

    /// What a reader is told who points at it.
    pub(super) fn told(&self) -> Option<&str> {
        self.children.iter().find(|child| child.name == "title").map(|title| title.text.as_str())
    }
}

/// Reads a document of one element; panics where it is not well-formed.
fn read(text: &str) -> Element {
    assert!(text.chars().all(|c| c == '\n' || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')));
    let mut open = vec![Element::default()];
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, behind) = after.split_once('>').expect("a tag ends");
        open.last_mut().expect("an element").text += &unescaped(before);
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().expect("an element");
            assert_eq!(closed.name, name, "tags do not match");
            open.last_mut().expect("one above").children.push(closed);
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let element = opened(tag);
        if empty {
            open.last_mut().expect("one above").children.push(element);
        } else {
            open.push(element);
        }
    }
    let mut top = open.pop().expect("the document");
    assert!(open.is_empty() && rest.trim().is_empty() && top.text.trim().is_empty(), "something is left open");
    assert_eq!(top.children.len(), 1);
    top.children.remove(0)
}

/// A name with attributes, each once, in double quotes.
fn opened(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()), "{name:?} is no name");
    let mut element = Element { name: name.to_owned(), ..Element::default() };
    while !rest.is_empty() {
        let (key, behind) = rest.split_once("=\"").expect("an attribute");
        let (value, behind) = behind.split_once('"').expect("a quote ends");
        assert!(element.attribute(key).is_none(), "{key} stands twice");
        assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{key:?} is no name");
        element.attributes.push((key.to_owned(), unescaped(value)));
        rest = behind.strip_prefix(' ').unwrap_or(behind);
    }
    element
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().expect("a beginning").to_owned();
    for part in parts {
        let (entity, behind) = part.split_once(';').expect("an entity ends");
        let known = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"')];
        out.push(known.iter().find(|(name, _)| *name == entity).expect("one of XML's").1);
        out += behind;
    }
    out
}

/// A picture with all that is drawn.
pub(super) struct Picture {
    pub(super) root: Element,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Picture {
    pub(super) fn of(svg: &str) -> Self {
        let root = read(svg);
        assert_eq!((root.name.as_str(), root.attribute("role")), ("svg", Some("img")));
        let size: Vec<f64> =
            root.attribute("viewBox").expect("a box").split(' ').map(|n| n.parse().expect("a number")).collect();
        let [0.0, 0.0, width, height] = size[..] else { panic!("{size:?} is no box") };
        Self { root, width, height }
    }

    /// The elements that are drawn.
    pub(super) fn drawn(&self) -> impl Iterator<Item = &Element> {
        self.root.children.iter().filter(|child| !["title", "desc", "style", "defs"].contains(&child.name.as_str()))
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &Element> {
        self.drawn().filter(|element| element.name == "text")
    }

    /// Everything lies in the box, and no text lies upon another.
    pub(super) fn check(&self) {
        let names: Vec<&str> = self.root.children.iter().map(|child| child.name.as_str()).take(3).collect();
        assert_eq!(names, ["title", "desc", "style"]);
        for element in self.drawn() {
            let area = area(element);
            let inside = area.left >= 0.0 && area.top >= 0.0 && area.right <= self.width && area.bottom <= self.height;
            assert!(inside, "{area:?} is outside of {} x {}: {element:?}", self.width, self.height);
        }
        let texts: Vec<(&Element, Area)> = self.texts().map(|text| (text, area(text))).collect();
        for (n, (text, at)) in texts.iter().enumerate() {
            for (other, there) in &texts[n + 1..] {
                assert!(!at.overlaps(there), "{text:?} lies upon {other:?}");
            }
        }
    }
}

/// What an element covers.
pub(super) fn area(element: &Element) -> Area {
    let of = |name: &str| element.number(name);
    match element.name.as_str() {
        "rect" => {
            assert!(of("width") >= 0.0 && of("height") >= 0.0, "{element:?}");
            Area { left: of("x"), top: of("y"), right: of("x") + of("width"), bottom: of("y") + of("height") }
        }
        "line" => around(&[(of("x1"), of("y1")), (of("x2"), of("y2"))]),
        "circle" => {
            let r = of("r");
            Area { left: of("cx") - r, top: of("cy") - r, right: of("cx") + r, bottom: of("cy") + r }
        }
        "polygon" => around(&points(element.attribute("points").expect("points"), &[' '])),
        "path" => around(&points(element.attribute("d").expect("a path"), &['M', 'L'])),
        "text" => {
            let font = Font { size: of("font-size"), bold: element.attribute("font-weight").is_some() };
            let width = font.width(&element.text);
            let left = match element.attribute("text-anchor") {
                None => of("x"),
                Some("middle") => of("x") - width / 2.0,
                Some(_) => of("x") - width,
            };
            let (top, bottom) = (of("y") - 0.75 * font.size, of("y") + 0.22 * font.size);
            Area { left, top, right: left + width, bottom }
        }
        other => panic!("{other} is not expected"),
    }
}

fn points(text: &str, between: &[char]) -> Vec<(f64, f64)> {
    let point = |point: &str| {
        let (x, y) = point.split_once([' ', ',']).expect("a pair");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    text.split(between).filter(|part| !part.is_empty()).map(point).collect()
}

fn around(points: &[(f64, f64)]) -> Area {
    // A path of no points covers nothing.
    let (x, y) = *points.first().unwrap_or(&(0.0, 0.0));
    let start = Area { left: x, top: y, right: x, bottom: y };
    points.iter().fold(start, |area, (x, y)| Area {
        left: area.left.min(*x),
        top: area.top.min(*y),
        right: area.right.max(*x),
        bottom: area.bottom.max(*y),
    })
}
