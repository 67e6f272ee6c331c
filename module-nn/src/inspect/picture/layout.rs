//! Where boxes and lines go: the children of a box are in rows, each below those that it gets tensors from; a line that
//! would cross boxes goes around them, in a lane to the right of the rows.

use super::graph::{Graph, Role};

/// The width of a letter.
pub(super) const LETTER: f64 = 6.7;
const ROW_GAP: f64 = 36.0;
const COLUMN_GAP: f64 = 36.0;
const PADDING: f64 = 18.0;
const TITLE: f64 = 34.0;
const LANE: f64 = 20.0;

#[derive(Clone, Copy, Default)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Rect {
    pub(super) fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    pub(super) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    fn right(&self) -> f64 {
        self.x + self.width
    }
}

/// The course of a line.
#[derive(Clone, Copy)]
pub(super) enum Route {
    Straight,
    /// Down a lane at this position.
    Lane(f64),
}

pub(super) struct Layout {
    pub(super) rects: Vec<Rect>,
    pub(super) routes: Vec<Route>,
}

/// A line in a lane of a box, from one row to another.
struct Detour {
    edge: usize,
    around: usize,
    lane: usize,
}

struct Placing<'g> {
    graph: &'g Graph,
    /// The row of each node in its box.
    rows: Vec<usize>,
    /// The number of rows of each box.
    counts: Vec<usize>,
    detours: Vec<Detour>,
    lanes: Vec<usize>,
    rects: Vec<Rect>,
}

pub(super) fn layout(graph: &Graph) -> Layout {
    let count = graph.nodes.len();
    let mut placing = Placing {
        graph,
        rows: vec![0; count],
        counts: vec![0; count],
        detours: Vec::new(),
        lanes: vec![0; count],
        rects: vec![Rect::default(); count],
    };
    placing.find_rows();
    placing.find_detours();
    // Inner boxes have greater numbers than those around them.
    for node in (0..count).rev() {
        placing.measure(node);
    }
    for node in 0..count {
        placing.shift_children(node);
    }
    let mut routes = vec![Route::Straight; graph.edges.len()];
    for detour in &placing.detours {
        let rect = placing.rects[detour.around];
        let lanes = placing.lanes[detour.around] - detour.lane;
        routes[detour.edge] =
            Route::Lane(rect.right() - PADDING / 2.0 - (lanes as f64 - 0.5) * LANE);
    }
    Layout {
        rects: placing.rects,
        routes,
    }
}

impl Placing<'_> {
    /// A child is placed below those that it gets tensors from; one that gets none is placed below the previous one.
    fn find_rows(&mut self) {
        let nodes = &self.graph.nodes;
        let mut sources: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        let mut fed = vec![false; nodes.len()];
        for edge in &self.graph.edges {
            self.graph
                .ancestors(edge.to)
                .into_iter()
                .for_each(|node| fed[node] = true);
            if let Some((_, from, to)) = self.graph.find_common_ancestor(edge) {
                sources[to].push(from);
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            let mut before = None;
            for &child in &node.children {
                let after = sources[child]
                    .iter()
                    .map(|&source| self.rows[source] + 1)
                    .max();
                let alone = before.filter(|_| !fed[child] && nodes[child].role != Role::Input);
                let after_last = alone.map(|last: usize| self.rows[last] + 1);
                self.rows[child] = after.or(after_last).unwrap_or(0);
                before = Some(child);
            }
            let rows = node.children.iter().map(|&child| self.rows[child] + 1);
            self.counts[index] = rows.max().unwrap_or(0);
        }
    }

    /// Whether a node is in the first or the last row of all its containers, up to `outer`.
    fn is_at_edge(&self, mut node: usize, outer: usize, last: bool) -> bool {
        while node != outer {
            let parent = self.graph.nodes[node].parent;
            let edge = if last {
                self.counts[parent].saturating_sub(1)
            } else {
                0
            };
            if self.rows[node] != edge {
                return false;
            }
            node = parent;
        }
        true
    }

    fn find_detours(&mut self) {
        // For each box the lanes, with the rows in which they are taken.
        let mut taken: Vec<Vec<Vec<(usize, usize)>>> = vec![Vec::new(); self.graph.nodes.len()];
        for (index, edge) in self.graph.edges.iter().enumerate() {
            let Some((around, from, to)) = self.graph.find_common_ancestor(edge) else {
                continue;
            };
            let (first, last) = (self.rows[from], self.rows[to]);
            let straight = last == first + 1
                && self.is_at_edge(edge.from, from, true)
                && self.is_at_edge(edge.to, to, false);
            if straight {
                continue;
            }
            let lanes = &mut taken[around];
            let free =
                |lane: &Vec<(usize, usize)>| lane.iter().all(|&(a, b)| last <= a || b <= first);
            let lane = lanes.iter().position(free).unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push((first, last));
            self.lanes[around] = lanes.len();
            self.detours.push(Detour {
                edge: index,
                around,
                lane,
            });
        }
    }

    /// The size of a box, and the positions of its children relative to its corner.
    fn measure(&mut self, node: usize) {
        let of = &self.graph.nodes[node];
        if of.children.is_empty() {
            let letters = of.kind.chars().count().max(of.name.chars().count());
            self.rects[node].width = (letters as f64 * LETTER + 32.0).max(176.0);
            self.rects[node].height = if of.role == Role::Input || of.role == Role::Output {
                40.0
            } else {
                44.0
            };
            return;
        }
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.counts[node]];
        for &child in &of.children {
            rows[self.rows[child]].push(child);
        }
        let row_width = |row: &Vec<usize>| {
            let boxes: f64 = row.iter().map(|&child| self.rects[child].width).sum();
            boxes + COLUMN_GAP * row.len().saturating_sub(1) as f64
        };
        let widths: Vec<f64> = rows.iter().map(row_width).collect();
        let content = widths.iter().copied().fold(0.0, f64::max);
        let title = if node == 0 { 0.0 } else { TITLE };
        let mut y = PADDING + title;
        // The same space on the left, so that boxes are aligned.
        let lanes = self.lanes[node] as f64 * LANE;
        for (row, width) in rows.iter().zip(&widths) {
            let mut x = PADDING + lanes + (content - width) / 2.0;
            let height = row
                .iter()
                .map(|&child| self.rects[child].height)
                .fold(0.0, f64::max);
            for &child in row {
                let rect = &mut self.rects[child];
                (rect.x, rect.y) = (x, y);
                x += rect.width + COLUMN_GAP;
            }
            y += height + ROW_GAP;
        }
        let letters = of.kind.chars().count() + of.name.chars().count() + 3;
        let width = content + 2.0 * (lanes + PADDING);
        let wider = (letters as f64 * LETTER + 2.0 * PADDING - width).max(0.0);
        for &child in &of.children {
            self.rects[child].x += wider / 2.0;
        }
        self.rects[node].width = width + wider;
        self.rects[node].height = y - ROW_GAP + PADDING;
    }

    /// Converts positions in the box to positions in the drawing.
    fn shift_children(&mut self, node: usize) {
        let Rect { x, y, .. } = self.rects[node];
        for &child in &self.graph.nodes[node].children {
            self.rects[child].x += x;
            self.rects[child].y += y;
        }
    }
}
