//! The drawing in Graphviz format.

use std::fmt::Write as _;

use super::graph::{Graph, Role};

pub(super) fn write(graph: &Graph) -> String {
    let mut dot = String::from(
        "digraph model {\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f3f4f6\", fontname=Helvetica, fontsize=11];\n  \
         edge [fontname=Helvetica, fontsize=9, color=\"#64748b\"];\n",
    );
    for &child in &graph.nodes[0].children {
        write_node(&mut dot, graph, child, 1);
    }
    for edge in &graph.edges {
        let (from, to) = (&graph.nodes[edge.from].id, &graph.nodes[edge.to].id);
        let _ = writeln!(dot, "  {from} -> {to} [label={}]", quote(&edge.label));
    }
    dot.push_str("}\n");
    dot
}

fn write_node(dot: &mut String, graph: &Graph, index: usize, depth: usize) {
    let node = &graph.nodes[index];
    let indent = "  ".repeat(depth);
    if node.children.is_empty() {
        let fill = match node.role {
            Role::Learned => ", fillcolor=\"#dbeafe\"",
            Role::Input | Role::Output => ", fillcolor=\"#334155\", fontcolor=white",
            Role::Module => "",
        };
        let label = quote(&format!("{}\n{}", node.kind, node.name));
        let _ = writeln!(dot, "{indent}{} [label={label}{fill}]", node.id);
        return;
    }
    let label = quote(&format!("{} {}", node.kind, node.name));
    let _ = writeln!(
        dot,
        "{indent}subgraph cluster_{} {{\n{indent}  label={label}; labeljust=l; color=\"#cbd5e1\"; fontname=Helvetica; fontsize=11;",
        node.id
    );
    for &child in &node.children {
        write_node(dot, graph, child, depth + 1);
    }
    let _ = writeln!(dot, "{indent}}}");
}

fn quote(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.trim_end().replace('\n', "\\n"))
}
