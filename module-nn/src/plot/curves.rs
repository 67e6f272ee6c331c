use std::fmt::Write as _;

use super::axis::Axis;
use super::svg::{begin, escape, width};

/// Colors that can be distinguished on light and dark pages.
const COLORS: [&str; 8] = [
    "#3b82f6", "#ef4444", "#16a34a", "#d97706", "#8b5cf6", "#0891b2", "#db2777", "#65a30d",
];

/// Line styles for the first eight curves, the second eight, …
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];

/// Several curves in one chart, such as losses over steps.
///
/// A curve has a gap where a number is not finite or, on a logarithmic axis, not above 0.
///
/// # Example
///
/// ```
/// use module_nn::plot::Curves;
///
/// let svg = Curves::new()
///     .curve("train", [(0.0, 2.3), (1.0, 0.4), (2.0, 0.1)])
///     .curve("validation", [(0.0, 2.3), (2.0, 0.3)])
///     .title("MNIST")
///     .x_label("epoch")
///     .y_label("loss")
///     .log_y()
///     .to_svg();
/// assert!(svg.starts_with("<svg") && svg.contains("validation"));
///
/// // An error that falls with the root of the number of samples: a line, if both axes are logarithmic.
/// let points = [1.0_f64, 10.0, 100.0].map(|n| (n, 1.0 / n.sqrt()));
/// let svg = Curves::new().curve("error", points).log_x().log_y().to_svg();
/// assert!(svg.contains("error"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curves {
    curves: Vec<(String, Vec<(f64, f64)>)>,
    title: String,
    labels: [String; 2],
    is_log: [bool; 2],
}

/// [`Curves`] on linear axes, each a name and its points.
///
/// # Example
///
/// ```
/// use module_nn::plot::curves;
///
/// let svg = curves(&[("train", &[(0.0, 2.3), (1.0, 0.4)]), ("validation", &[(1.0, 0.5)])]);
/// std::fs::write(std::env::temp_dir().join("doc-curves.svg"), svg).unwrap();
/// ```
pub fn curves(curves: &[(&str, &[(f64, f64)])]) -> String {
    let add = |all: Curves, (name, points): &(&str, &[(f64, f64)])| {
        all.curve(name, points.iter().copied())
    };
    curves.iter().fold(Curves::new(), add).to_svg()
}

impl Curves {
    /// No curves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a curve through points `(x, y)` in the given order.
    #[must_use]
    pub fn curve(mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let points = points.into_iter().collect();
        self.curves.push((name.to_owned(), points));
        self
    }

    /// Sets the title.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        let title = title.to_owned();
        Self { title, ..self }
    }

    /// Sets the label of the horizontal axis.
    #[must_use]
    pub fn x_label(mut self, label: &str) -> Self {
        self.labels[0] = label.to_owned();
        self
    }

    /// Sets the label of the vertical axis.
    #[must_use]
    pub fn y_label(mut self, label: &str) -> Self {
        self.labels[1] = label.to_owned();
        self
    }

    /// Makes the horizontal axis logarithmic.
    #[must_use]
    pub fn log_x(mut self) -> Self {
        self.is_log[0] = true;
        self
    }

    /// Makes the vertical axis logarithmic.
    #[must_use]
    pub fn log_y(mut self) -> Self {
        self.is_log[1] = true;
        self
    }

    /// The chart as an SVG file.
    pub fn to_svg(&self) -> String {
        let area = self.area();
        let legend = self.curves.iter().map(|(name, _)| width(name));
        let legend = legend.fold(0.0, f64::max);
        let page = (area.right + 56.0 + legend, area.bottom + 56.0);
        let mut svg = begin(page.0, page.1);
        area.draw(&mut svg);
        self.draw_labels(&mut svg, &area);
        for (index, (name, points)) in self.curves.iter().enumerate() {
            let line = line(index);
            let _ = writeln!(svg, "<g><title>{}</title>", escape(name));
            for run in runs(&area, points) {
                match run[..] {
                    [(x, y)] => {
                        let color = COLORS[index % COLORS.len()];
                        let _ = writeln!(
                            svg,
                            "<circle class=\"point\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"2.5\" fill=\"{color}\"/>"
                        );
                    }
                    _ => {
                        let points = run.iter().map(|(x, y)| format!("{x:.2} {y:.2}"));
                        let path = points.collect::<Vec<String>>().join("L");
                        let _ = writeln!(svg, "<path class=\"curve\" {line} d=\"M{path}\"/>");
                    }
                }
            }
            svg.push_str("</g>\n");
            let (x, y) = (area.right + 16.0, area.top + 12.0 + 20.0 * index as f64);
            let _ = writeln!(
                svg,
                "<path class=\"curve\" {line} d=\"M{x:.2} {y:.2}H{:.2}\"/>\
                 <text class=\"legend\" x=\"{:.2}\" y=\"{:.2}\">{}</text>",
                x + 22.0,
                x + 28.0,
                y + 4.0,
                escape(name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn area(&self) -> Area {
        let mut points = Vec::new();
        for (_, of_curve) in &self.curves {
            points.extend_from_slice(of_curve);
        }
        let (mut xs, mut ys) = (points.iter().map(|p| p.0), points.iter().map(|p| p.1));
        let [is_log_x, is_log_y] = self.is_log;
        let x = match is_log_x {
            true => Axis::log(&mut xs),
            false => Axis::linear(&mut xs, false),
        };
        let y = match is_log_y {
            true => Axis::log(&mut ys),
            false => Axis::linear(&mut ys, true),
        };
        let widest = y.ticks.iter().map(|(_, name)| width(name));
        let named = if self.labels[1].is_empty() { 0.0 } else { 20.0 };
        let left = 20.0 + widest.fold(14.0, f64::max) + named;
        let top = if self.title.is_empty() { 16.0 } else { 40.0 };
        // As high as the legend, if there are many curves.
        let height = (20.0 * self.curves.len() as f64 + 8.0).max(300.0);
        Area {
            x,
            y,
            left,
            right: left + 480.0,
            top,
            bottom: top + height,
        }
    }

    fn draw_labels(&self, svg: &mut String, area: &Area) {
        let (x, y) = (
            (area.left + area.right) / 2.0,
            (area.top + area.bottom) / 2.0,
        );
        let centered = "text-anchor=\"middle\"";
        if !self.title.is_empty() {
            let title = escape(&self.title);
            let _ = writeln!(
                svg,
                "<text class=\"title\" {centered} x=\"{x:.2}\" y=\"24\">{title}</text>"
            );
        }
        let [x_label, y_label] = self.labels.each_ref().map(|label| escape(label));
        if !x_label.is_empty() {
            let y = area.bottom + 42.0;
            let _ = writeln!(
                svg,
                "<text {centered} x=\"{x:.2}\" y=\"{y:.2}\">{x_label}</text>"
            );
        }
        if !y_label.is_empty() {
            let _ = writeln!(
                svg,
                "<text {centered} transform=\"translate(18 {y:.2})rotate(-90)\">{y_label}</text>"
            );
        }
    }
}

/// The part of the page that the axes span.
struct Area {
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn across(&self, x: f64) -> Option<f64> {
        let place = self.x.place(x)?;
        Some(self.left + place * (self.right - self.left))
    }

    fn down(&self, y: f64) -> Option<f64> {
        let place = self.y.place(y)?;
        Some(self.bottom - place * (self.bottom - self.top))
    }

    fn draw(&self, svg: &mut String) {
        let &Self {
            left,
            right,
            top,
            bottom,
            ..
        } = self;
        for (at, name) in &self.x.ticks {
            let Some(x) = self.across(*at) else { continue };
            let y = bottom + 18.0;
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{x:.2} {top:.2}V{bottom:.2}\"/>\
                 <text class=\"x\" text-anchor=\"middle\" x=\"{x:.2}\" y=\"{y:.2}\">{name}</text>"
            );
        }
        for (at, name) in &self.y.ticks {
            let Some(y) = self.down(*at) else { continue };
            let (x, base) = (left - 8.0, y + 4.0);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{left:.2} {y:.2}H{right:.2}\"/>\
                 <text class=\"y\" text-anchor=\"end\" x=\"{x:.2}\" y=\"{base:.2}\">{name}</text>"
            );
        }
        let (width, height) = (right - left, bottom - top);
        let _ = writeln!(
            svg,
            "<rect class=\"frame\" x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" height=\"{height:.2}\"/>"
        );
    }
}

/// The style of the curve with this index.
fn line(index: usize) -> String {
    let color = COLORS[index % COLORS.len()];
    match DASHES[index / COLORS.len() % DASHES.len()] {
        "" => format!("stroke=\"{color}\""),
        dashes => format!("stroke=\"{color}\" stroke-dasharray=\"{dashes}\""),
    }
}

/// The points on the page, split at gaps.
fn runs(area: &Area, points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let placed = points
        .iter()
        .map(|&(x, y)| area.across(x).zip(area.down(y)));
    let placed: Vec<Option<(f64, f64)>> = placed.collect();
    let runs = placed.split(Option::is_none).filter(|run| !run.is_empty());
    runs.map(|run| run.iter().flatten().copied().collect())
        .collect()
}
