//! Gradients at the outputs of modules, profiler traces, and diagrams.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::inspect::{Endpoint, GradientFlag, GradientInspector, Picture, Trace};
use module_nn::prelude::*;

/// Two branches that are added, and a layer that is used twice.
#[derive(Module)]
struct Net {
    stem: Linear,
    left: Sequential,
    right: Linear,
    act: ReLU,
    head: Linear,
}

impl Forward for Net {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = self.act.call(self.stem.call(x)?)?;
        let sum = self.left.call(x.clone())?.add(&self.right.call(x)?)?;
        self.head.call(self.act.call(sum.mul(2.0)?)?)
    }
}

fn net() -> Net {
    let linear = || Linear::new(3, 3).unwrap();
    Net {
        stem: linear(),
        left: Sequential::new().push(linear()).push(ReLU::new()),
        right: linear(),
        act: ReLU::new(),
        head: linear(),
    }
}

fn ones() -> Tensor {
    Tensor::ones([2, 3], DType::F32).unwrap()
}

#[test]
fn gradients_run_over_steps() {
    let layer = Linear::new(3, 2).unwrap();
    let inspector = GradientInspector::new(&layer, Select::all()).unwrap();
    let grads = [[[1.0_f32, -2.0], [3.0, 0.0]], [[0.5, 0.5], [-8.0, 4.0]]];
    for grad in grads {
        layer
            .call(ones())
            .unwrap()
            .mul(Tensor::from(grad))
            .unwrap()
            .sum(..)
            .unwrap()
            .backward()
            .unwrap();
    }
    let report = inspector.report();
    let [row] = report.rows() else {
        panic!("{report}")
    };
    let all: Vec<f64> = grads
        .iter()
        .flatten()
        .flatten()
        .map(|&g| f64::from(g.abs()))
        .collect();
    let mean = all.iter().sum::<f64>() / 8.0;
    let variance = all.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / 7.0;
    assert_eq!(
        (row.calls, row.min, row.max, row.kind),
        (2, 0.0, 8.0, "Linear")
    );
    assert!((row.mean - mean).abs() < 1e-12 && (row.std - variance.sqrt()).abs() < 1e-12);
    assert_eq!(row.flag(), GradientFlag::Fine);
    inspector.reset();
    assert!(inspector.report().rows().is_empty());
}

#[test]
fn gradients_that_vanish_explode_or_are_no_numbers_are_flagged() {
    let model = net();
    let inspector = GradientInspector::new(&model, ["head", "left", "stem"]).unwrap();
    let flags = |scale: f64| {
        inspector.reset();
        let y = model.call(ones()).unwrap().mul(scale).unwrap();
        y.sum(..).unwrap().backward().unwrap();
        let report = inspector.report();
        let paths: Vec<_> = report.rows().iter().map(|row| row.path.clone()).collect();
        assert_eq!(paths, ["stem", "left", "head"]);
        (report.get("head").unwrap().flag(), report.to_string())
    };
    let (flag, text) = flags(1e-9);
    assert_eq!(flag, GradientFlag::Vanishing);
    assert!(
        text.starts_with("Module      Path  Calls  Mean |g|"),
        "{text}"
    );
    let row = [
        "Linear",
        "head",
        "1",
        "1.000e-9",
        "0.000e0",
        "1.000e-9",
        "1.000e-9",
        "vanishing",
    ];
    assert!(
        text.lines().any(|line| line.split_whitespace().eq(row)),
        "{text}"
    );
    assert_eq!(flags(101.0).0, GradientFlag::Exploding);
    assert_eq!(flags(f64::NAN).0, GradientFlag::NotFinite);
    assert_eq!(flags(f64::INFINITY).0, GradientFlag::NotFinite);
    assert_eq!(flags(1.0).0, GradientFlag::Fine);
    let error = GradientInspector::new(&model, "hed")
        .unwrap_err()
        .to_string();
    assert_eq!(error, "`hed` selects nothing; did you mean `head`?");
}

#[test]
fn flows_pass_through_operations_between_calls() {
    let trace = Trace::record_flows(&net(), ones()).unwrap();
    let name = |place: Endpoint| match place {
        Endpoint::Input(i) => format!("input {i}"),
        Endpoint::Output(i) => format!("output {i}"),
        Endpoint::Call(i) => format!("{i} {}", trace.calls()[i].path),
    };
    let mut flows: Vec<_> = trace
        .flows()
        .iter()
        .map(|flow| (name(flow.from), name(flow.to)))
        .collect();
    flows.sort();
    let expected = [
        ("1 stem", "2 act"),
        ("2 act", "4 left.0"),
        ("2 act", "6 right"),
        ("4 left.0", "5 left.1"),
        ("5 left.1", "7 act"),
        ("6 right", "7 act"),
        ("7 act", "8 head"),
        ("8 head", "output 0"),
        ("input 0", "1 stem"),
    ];
    let expected = expected.map(|(from, to)| (from.to_owned(), to.to_owned()));
    assert_eq!(flows, expected);
    assert!(Trace::record(&net(), ones()).unwrap().flows().is_empty());
}

#[test]
fn a_profiler_can_read_a_trace() {
    let trace = Trace::record(&net(), ones()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&trace.to_chrome_json()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    assert_eq!(events.len(), trace.calls().len());
    assert_eq!(events[4]["name"], "left.0 (Linear)");
    assert_eq!(
        events[4]["args"]["inputs"],
        serde_json::json!(["float32 [2, 3]"])
    );
    let span = |event: &serde_json::Value| {
        let (start, time) = (
            event["ts"].as_f64().unwrap(),
            event["dur"].as_f64().unwrap(),
        );
        (start, start + time)
    };
    // Bars are inside those of the enclosing calls.
    for (event, call) in events.iter().zip(trace.calls()) {
        assert_eq!(event["ph"], "X");
        if let Some(parent) = call.parent {
            let (outer, inner) = (span(&events[parent]), span(event));
            assert!(outer.0 <= inner.0 && inner.1 <= outer.1 + 1e-3, "{event}");
        }
    }
}

#[test]
fn pictures_show_every_call_and_every_flow() {
    let trace = Trace::record_flows(&net(), ones()).unwrap();
    let picture = Picture::new(&trace);
    let svg = picture.to_svg();
    // Calls, an input and an output; a line for each flow, with its shape.
    assert_eq!(svg.matches("<g><title>").count(), trace.calls().len() + 2);
    assert_eq!(svg.matches("class=\"line\"").count(), trace.flows().len());
    assert_eq!(svg.matches("<g>").count(), svg.matches("</g>").count());
    let dot = picture.to_dot();
    assert_eq!(dot.matches(" -> ").count(), trace.flows().len());
    assert!(dot.contains("subgraph cluster_call3"), "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    // When folded, `left` is a box like the others, and lines lead to it.
    let folded = picture.depth(1).to_dot();
    assert!(
        !folded.contains("cluster_call3") && folded.contains("call2 -> call3"),
        "{folded}"
    );
}
