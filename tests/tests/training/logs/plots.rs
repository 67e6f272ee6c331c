//! Plots: points are where the axes indicate, and files are XML.

use module_nn::metrics::{ConfusionMatrix, Metric};
use module_nn::plot::{self, Curves, curves};
use module_nn::prelude::*;

/// An element: its name, attributes and the text within.
#[derive(Clone, Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
}

impl Element {
    fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        &found.unwrap_or_else(|| panic!("{self:?} has no {name}")).1
    }

    fn is_of(&self, class: &str) -> bool {
        self.attributes
            .iter()
            .any(|(key, value)| key == "class" && value == class)
    }

    fn number(&self, name: &str) -> f64 {
        self.attribute(name).parse().unwrap()
    }
}

/// Text without entities; only those of XML are there.
fn unescape(text: &str) -> String {
    assert!(!text.contains('<'), "{text}");
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').expect("an entity ends");
        plain.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            other => panic!("&{other};"),
        });
        plain.push_str(rest);
    }
    plain
}

/// The elements of a document, which must be well formed.
fn elements(xml: &str) -> Vec<Element> {
    let (mut all, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut rest = xml.trim_end();
    while let Some((text, tag)) = rest.split_once('<') {
        match open.last() {
            Some(&inside) => all[inside].text.push_str(&unescape(text)),
            None => assert!(text.is_empty() && all.is_empty(), "text outside: {text:?}"),
        }
        // No attribute has a `>`.
        let (tag, after) = tag.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let ended = open.pop().expect("an open element");
            assert_eq!(all[ended].name, name);
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, mut left) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut element = Element {
            name: name.to_owned(),
            ..Element::default()
        };
        while !left.trim().is_empty() {
            let (key, value) = left.split_once("=\"").expect("an attribute with a value");
            let (value, more) = value.split_once('"').expect("a value ends");
            element
                .attributes
                .push((key.trim().to_owned(), unescape(value)));
            left = more;
        }
        if !is_empty {
            open.push(all.len());
        }
        all.push(element);
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest:?}");
    assert_eq!(all[0].name, "svg");
    all
}

/// The points of each line, without those of the legend and the grid.
fn lines(all: &[Element]) -> Vec<Vec<(f64, f64)>> {
    let of_curves = all.iter().filter(|element| element.is_of("curve"));
    let paths = of_curves.map(|element| element.attribute("d"));
    let drawn = paths.filter(|path| !path.contains('H'));
    let point = |text: &str| {
        let (x, y) = text.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    drawn
        .map(|path| path[1..].split('L').map(point).collect())
        .collect()
}

/// Maps a number to its position on the page, given two labels of an axis.
fn scale(all: &[Element], class: &str, of: fn(f64) -> f64) -> impl Fn(f64) -> f64 {
    let named = all
        .iter()
        .filter(|element| element.name == "text" && element.is_of(class));
    let ticks: Vec<(f64, f64)> = named
        .map(|text| {
            // The base line of a name is 4 below its line of the grid.
            let at = if class == "x" {
                text.number("x")
            } else {
                text.number("y") - 4.0
            };
            (of(text.text.parse().unwrap()), at)
        })
        .collect();
    assert!((2..=12).contains(&ticks.len()), "{ticks:?}");
    let ((from, a), (to, b)) = (ticks[0], ticks[ticks.len() - 1]);
    let scale = move |number: f64| a + (of(number) - from) / (to - from) * (b - a);
    for (tick, at) in ticks {
        assert!((a + (tick - from) / (to - from) * (b - a) - at).abs() < 0.02);
    }
    scale
}

fn frame(all: &[Element]) -> [f64; 4] {
    let frame = all.iter().find(|element| element.is_of("frame")).unwrap();
    let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| frame.number(name));
    [x, y, x + width, y + height]
}

fn assert_at(
    found: &[(f64, f64)],
    points: &[(f64, f64)],
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) {
    assert_eq!(found.len(), points.len());
    for (found, point) in found.iter().zip(points) {
        let expected = (x(point.0), y(point.1));
        let apart = (found.0 - expected.0)
            .abs()
            .max((found.1 - expected.1).abs());
        assert!(
            apart < 0.03,
            "{found:?} for {point:?}, expected {expected:?}"
        );
    }
}

#[test]
fn points_match_the_axes() {
    type Points = &'static [(f64, f64)];
    let cases: [[Points; 2]; 6] = [
        [
            &[(0.0, 2.3), (1.0, 0.4), (7.5, 0.1)],
            &[(0.0, 2.0), (10.0, 0.7)],
        ],
        [
            &[(-3.0, -5.0), (4.0, 5.0)],
            &[(0.0, 0.0), (0.5, 0.5), (1.0, -0.25)],
        ],
        [&[(1e6, 1e9), (3e6, 2e9)], &[(2e6, 1.5e9), (2.5e6, 1e8)]],
        [&[(0.0, 1e-7), (1.0, 3e-7)], &[(0.5, 2e-7), (1.0, 0.0)]],
        [&[(5.0, 3.0), (5.0, 3.0)], &[(5.0, 3.0), (5.0, 3.0)]],
        [
            &[(0.0, 100.1), (1.0, 100.2)],
            &[(0.0, 100.15), (1.0, 100.11)],
        ],
    ];
    for [first, second] in cases {
        let all = elements(&curves(&[("first", first), ("second", second)]));
        let (x, y) = (scale(&all, "x", |x| x), scale(&all, "y", |y| y));
        let [one, two] = &lines(&all)[..] else {
            panic!("two lines")
        };
        assert_at(one, first, &x, &y);
        assert_at(two, second, &x, &y);
        let [left, top, right, bottom] = frame(&all);
        for (x, y) in one.iter().chain(two) {
            let inside = (left..=right).contains(x) && (top..=bottom).contains(y);
            assert!(inside, "{x} {y} of {first:?}");
        }
        // Up is more.
        assert!(y(1.0) < y(0.0));
    }
}

#[test]
fn points_match_logarithmic_axes() {
    let wide = [(1.0, 1e-6), (10.0, 0.5), (1000.0, 2000.0)];
    let narrow = [(2.0, 1.5), (3.0, 1.8), (9.0, 4.0)];
    let huge = [(1e-30, 1e30), (1e30, 1e-30)];
    for points in [&wide[..], &narrow[..], &huge[..]] {
        let all = elements(
            &Curves::new()
                .curve("a", points.iter().copied())
                .log_x()
                .log_y()
                .to_svg(),
        );
        let (x, y) = (scale(&all, "x", f64::log10), scale(&all, "y", f64::log10));
        assert_at(&lines(&all)[0], points, &x, &y);
    }
    // Values without a logarithm leave a gap.
    let points = [
        (0.0, 1.0),
        (1.0, 10.0),
        (2.0, 0.0),
        (3.0, -1.0),
        (4.0, 5.0),
        (5.0, 6.0),
    ];
    let all = elements(&Curves::new().curve("a", points).log_y().to_svg());
    let lines = lines(&all);
    assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn numbers_that_are_not_finite_are_gaps() {
    let points = [
        (0.0, 1.0),
        (1.0, 2.0),
        (2.0, f64::NAN),
        (3.0, 3.0),
        (4.0, f64::INFINITY),
        (5.0, 1.0),
        (6.0, 1.5),
        (f64::NAN, 1.0),
    ];
    let all = elements(&curves(&[("a", &points)]));
    let (x, y) = (scale(&all, "x", |x| x), scale(&all, "y", |y| y));
    let lines = lines(&all);
    assert_eq!(lines.len(), 2);
    assert_at(&lines[0], &points[..2], &x, &y);
    assert_at(&lines[1], &points[5..7], &x, &y);
    // A point between two gaps is a dot.
    let dots: Vec<(f64, f64)> = all
        .iter()
        .filter(|element| element.name == "circle")
        .map(|dot| (dot.number("cx"), dot.number("cy")))
        .collect();
    assert_at(&dots, &points[3..4], &x, &y);
}

#[test]
fn curves_without_points_and_of_extreme_numbers_are_drawn() {
    let max = f64::MAX;
    let drawings: [&[(f64, f64)]; 5] = [
        &[],
        &[(f64::NAN, f64::NAN)],
        &[(0.0, 0.0)],
        &[(-max, -max), (max, max)],
        &[(0.0, 5e-324), (5e-324, 0.0)],
    ];
    for points in drawings {
        let drawn = curves(&[("a", points)]);
        let log = Curves::new()
            .curve("a", points.iter().copied())
            .log_x()
            .log_y()
            .to_svg();
        for svg in [drawn, log] {
            assert!(!elements(&svg).is_empty());
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{points:?}: {svg}"
            );
        }
    }
}

#[test]
fn the_legend_has_the_names_unchanged() {
    let names: Vec<String> = (0..20).map(|n| format!("<{n}> & \"more\"")).collect();
    let add = |all: Curves, name: &String| all.curve(name, [(0.0, 0.0), (1.0, 1.0)]);
    let drawn = names.iter().fold(
        Curves::new().title("a < b").x_label("x&y").y_label("\u{1}"),
        add,
    );
    let svg = drawn.to_svg();
    let all = elements(&svg);
    let legend: Vec<&Element> = all
        .iter()
        .filter(|element| element.is_of("legend"))
        .collect();
    assert_eq!(
        legend.iter().map(|entry| &entry.text).collect::<Vec<_>>(),
        names.iter().collect::<Vec<_>>()
    );
    let texts: Vec<&str> = all.iter().map(|element| element.text.as_str()).collect();
    assert!(texts.contains(&"a < b") && texts.contains(&"x&y"));
    // Each curve has a different line style, and the legend fits on the page.
    let looks: std::collections::HashSet<String> = all
        .iter()
        .filter(|element| element.is_of("curve"))
        .map(|curve| {
            let dashes = curve
                .attributes
                .iter()
                .find(|(key, _)| key == "stroke-dasharray");
            format!("{} {dashes:?}", curve.attribute("stroke"))
        })
        .collect();
    assert_eq!(looks.len(), 20);
    let last = legend.last().unwrap();
    assert!(last.number("y") < all[0].number("height"));
    assert!(last.number("x") + 7.0 * last.text.len() as f64 <= all[0].number("width"));
}

#[test]
fn a_confusion_matrix_has_rows_of_true_classes() {
    let mut matrix = ConfusionMatrix::new(3).unwrap();
    let predicted = Tensor::from([0_i64, 0, 1, 2, 2, 2]);
    let truth = Tensor::from([0_i64, 0, 0, 1, 1, 1]);
    matrix.update(&predicted, &truth).unwrap();
    let counts = matrix.compute().unwrap();
    let svg = plot::confusion_matrix(&counts, &["cat", "<dog>", "ant"]).unwrap();
    let all = elements(&svg);
    let cells: Vec<&Element> = all.iter().filter(|element| element.is_of("cell")).collect();
    let shown: Vec<&Element> = all
        .iter()
        .filter(|element| element.is_of("count"))
        .collect();
    let texts: Vec<&str> = shown.iter().map(|element| element.text.as_str()).collect();
    assert_eq!(texts, ["2", "1", "0", "0", "0", "3", "0", "0", "0"]);
    let [left, top, right, bottom] = frame(&all);
    for (place, (cell, count)) in cells.iter().zip(&shown).enumerate() {
        let (row, column) = ((place / 3) as f64, (place % 3) as f64);
        let side = (right - left) / 3.0;
        assert_eq!(
            (cell.number("x"), cell.number("y")),
            (left + column * side, top + row * side)
        );
        assert_eq!(
            (cell.number("width"), cell.number("height")),
            (side, (bottom - top) / 3.0)
        );
        assert_eq!(count.number("x"), left + (column + 0.5) * side);
    }
    // Of a row: none, a third, two thirds, all. A row of nothing is as none.
    let fills: Vec<&str> = cells.iter().map(|cell| cell.attribute("fill")).collect();
    assert_eq!(
        (fills[2], fills[5], fills[8]),
        ("#eff6ff", "#1d4ed8", "#eff6ff")
    );
    let red = |fill: &str| u8::from_str_radix(&fill[1..3], 16).unwrap();
    assert_eq!([red(fills[0]), red(fills[1])], [99, 169]);
    let about: Vec<&str> = all
        .iter()
        .filter(|e| e.name == "title")
        .map(|e| e.text.as_str())
        .collect();
    assert_eq!(about[1], "true cat, predicted <dog>: 1 (33.3 %)");
    for class in ["row", "column"] {
        let names = all.iter().filter(|element| element.is_of(class));
        assert_eq!(
            names.map(|name| &name.text).collect::<Vec<_>>(),
            ["cat", "<dog>", "ant"]
        );
    }

    let shares = counts
        .to_dtype(DType::F64)
        .unwrap()
        .mul(Tensor::from(0.25_f64))
        .unwrap();
    assert!(
        plot::confusion_matrix(&shares, &[])
            .unwrap()
            .contains(">0.50</text>")
    );
    assert!(plot::confusion_matrix(&counts, &["a", "b"]).is_err());
    assert!(plot::confusion_matrix(&Tensor::from([[1_i64, 2]]), &[]).is_err());
    assert!(plot::confusion_matrix(&Tensor::from([[-1_i64]]), &[]).is_err());
    assert!(plot::confusion_matrix(&Tensor::from([[f64::NAN]]), &[]).is_err());
}
