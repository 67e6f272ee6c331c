//! The drawing as SVG.

use std::fmt::Write as _;

use super::graph::{Graph, Node, Role};
use super::layout::{LETTER, Layout, Rect, Route, layout};
use crate::plot::escape;

/// Fill and frame colors of trainable boxes, one pair for each type.
const COLORS: [(&str, &str); 8] = [
    ("#dbeafe", "#3b82f6"),
    ("#dcfce7", "#22c55e"),
    ("#fef3c7", "#d97706"),
    ("#fce7f3", "#db2777"),
    ("#ede9fe", "#8b5cf6"),
    ("#cffafe", "#0891b2"),
    ("#ffedd5", "#ea580c"),
    ("#f7fee7", "#65a30d"),
];

const STYLE: &str = "\
text{font-family:Inter,'Segoe UI',Helvetica,Arial,sans-serif;fill:#1f2937}\
.kind{font-size:12px;font-weight:600;text-anchor:middle}\
.name{font-size:11px;fill:#6b7280;text-anchor:middle}\
.title{font-size:12px;font-weight:600;fill:#374151;stroke-width:4px;paint-order:stroke}\
.title tspan{font-weight:400;fill:#6b7280}\
.end{fill:#f9fafb;font-size:12px;font-weight:600;text-anchor:middle}\
.shape{font-size:10px;fill:#4b5563;stroke:#fff;stroke-width:3px;paint-order:stroke}\
.line{fill:none;stroke:#64748b;stroke-width:1.4}";

pub(super) fn write(graph: &Graph) -> String {
    let Layout { rects, routes } = layout(graph);
    let (width, height) = (rects[0].width, rects[0].height);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
         <defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" \
         markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0 10 5 0 10z\" fill=\"#64748b\"/>\
         </marker></defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut kinds: Vec<&str> = Vec::new();
    // Written last, on top of the lines.
    let mut labels = String::new();
    for (index, node) in graph.nodes.iter().enumerate().skip(1) {
        let depth = graph.ancestors(index).len();
        draw_box(&mut svg, &mut labels, node, rects[index], depth, &mut kinds);
    }
    let straight: Vec<bool> = routes
        .iter()
        .map(|r| matches!(r, Route::Straight))
        .collect();
    for (index, edge) in graph.edges.iter().enumerate() {
        let others = (0..graph.edges.len()).filter(|&i| i != index && graph.edges[i].to == edge.to);
        let line = Line {
            from: rects[edge.from],
            to: rects[edge.to],
            label: &edge.label,
            is_alone: !others.clone().any(|i| straight[i]),
            meets_lane: others.clone().any(|i| !straight[i]),
        };
        draw_line(&mut svg, &mut labels, &line, routes[index]);
    }
    svg.push_str(&labels);
    svg.push_str("</svg>\n");
    svg
}

fn draw_box<'g>(
    svg: &mut String,
    labels: &mut String,
    node: &'g Node,
    rect: Rect,
    depth: usize,
    kinds: &mut Vec<&'g str>,
) {
    let Rect {
        x,
        y,
        width,
        height,
    } = rect;
    let (kind, name) = (escape(&node.kind), escape(&node.name));
    let is_end = matches!(node.role, Role::Input | Role::Output);
    let (fill, frame, radius) = match node.role {
        _ if is_end => ("#334155", "#334155", 20.0),
        _ if !node.children.is_empty() => {
            let fill = if depth.is_multiple_of(2) {
                "#f8fafc"
            } else {
                "#ffffff"
            };
            (fill, "#cbd5e1", 10.0)
        }
        Role::Learned => {
            let place = kinds.iter().position(|known| *known == node.kind);
            let place = place.unwrap_or_else(|| {
                kinds.push(&node.kind);
                kinds.len() - 1
            });
            let (fill, frame) = COLORS[place % COLORS.len()];
            (fill, frame, 6.0)
        }
        _ => ("#f3f4f6", "#9ca3af", 6.0),
    };
    let _ = writeln!(
        svg,
        "<g><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
         rx=\"{radius}\" fill=\"{fill}\" stroke=\"{frame}\"/>",
        escape(&node.about)
    );
    let middle = rect.middle();
    let _ = if !node.children.is_empty() {
        let name = if name.is_empty() {
            name
        } else {
            format!("<tspan dx=\"5\">· {name}</tspan>")
        };
        let (x, y) = (x + 12.0, y + 20.0);
        svg.push_str("</g>\n");
        writeln!(
            labels,
            "<text class=\"title\" x=\"{x:.1}\" y=\"{y:.1}\" stroke=\"{fill}\">{kind}{name}</text>"
        )
    } else if is_end {
        let y = y + 24.0;
        writeln!(
            svg,
            "<text class=\"end\" x=\"{middle:.1}\" y=\"{y:.1}\">{kind} {name}</text></g>"
        )
    } else if name.is_empty() {
        let y = y + 26.0;
        writeln!(
            svg,
            "<text class=\"kind\" x=\"{middle:.1}\" y=\"{y:.1}\">{kind}</text></g>"
        )
    } else {
        let (above, below) = (y + 19.0, y + 34.0);
        writeln!(
            svg,
            "<text class=\"kind\" x=\"{middle:.1}\" y=\"{above:.1}\">{kind}</text>\
             <text class=\"name\" x=\"{middle:.1}\" y=\"{below:.1}\">{name}</text></g>"
        )
    };
}

struct Line<'l> {
    from: Rect,
    to: Rect,
    label: &'l str,
    /// Whether no other line enters the same box straight.
    is_alone: bool,
    /// Whether another line enters the same box from a lane.
    meets_lane: bool,
}

fn draw_line(svg: &mut String, labels: &mut String, line: &Line<'_>, route: Route) {
    let &Line {
        from,
        to,
        label,
        is_alone,
        meets_lane,
    } = line;
    let text = escape(label);
    let letters = label.chars().count() as f64 * LETTER;
    match route {
        Route::Straight => {
            let (x1, y1, x2, y2) = (from.middle(), from.bottom(), to.middle(), to.y);
            let middle = (y1 + y2) / 2.0;
            let _ = writeln!(
                svg,
                "<path class=\"line\" marker-end=\"url(#arrow)\" d=\"M{x1:.1} {y1:.1}C{x1:.1} {middle:.1} {x2:.1} {middle:.1} {x2:.1} {y2:.1}\"/>"
            );
            // Away from the other end; else to the left, because lanes come from the right. Where
            // lines meet, at their other ends.
            let is_right = x1 < x2 - 1.0;
            let (x, y, other) = if is_alone && !(is_right && meets_lane) {
                (x2, y2 - 14.0, x1)
            } else {
                (x1, y1 + 16.0, x2)
            };
            let (x, anchor) = if other < x - 1.0 {
                (x + 7.0, "start")
            } else {
                (x - 7.0, "end")
            };
            let _ = writeln!(
                labels,
                "<text class=\"shape\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
            );
        }
        Route::Lane(lane) => {
            const ASIDE: f64 = 16.0;
            const ROUND: f64 = 8.0;
            let (x1, y1) = (from.middle() + ASIDE, from.bottom());
            let (x2, y2) = (to.middle() + ASIDE, to.y);
            let (top, bottom) = (y1 + 12.0, y2 - 14.0);
            let _ = writeln!(
                svg,
                "<path class=\"line\" marker-end=\"url(#arrow)\" d=\"M{x1:.1} {y1:.1}V{:.1}Q{x1:.1} {top:.1} {:.1} {top:.1}\
                 H{:.1}Q{lane:.1} {top:.1} {lane:.1} {:.1}V{:.1}Q{lane:.1} {bottom:.1} {:.1} {bottom:.1}\
                 H{:.1}Q{x2:.1} {bottom:.1} {x2:.1} {:.1}V{y2:.1}\"/>",
                top - ROUND,
                x1 + ROUND,
                lane - ROUND,
                top + ROUND,
                bottom - ROUND,
                lane - ROUND,
                x2 + ROUND,
                (bottom + ROUND).min(y2),
            );
            if bottom - top > letters + 2.0 * ROUND {
                let (x, y) = (lane - 4.0, (top + bottom) / 2.0);
                let _ = writeln!(
                    labels,
                    "<text class=\"shape\" text-anchor=\"middle\" transform=\"translate({x:.1} {y:.1})rotate(-90)\">{text}</text>"
                );
            }
        }
    }
}
