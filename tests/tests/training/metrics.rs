//! Metrics: the values of torchmetrics and scikit-learn, saving and merging, and invalid arguments.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod refused;

use module_nn::Snapshot;
use module_nn::metrics::{
    AUROC, AUROCConfig, Accuracy, AccuracyConfig, Average, ConfusionMatrix, ConfusionMatrixConfig,
    F1ScoreConfig, MeanAbsoluteError, MeanMetric, MeanSquaredError, MeanSquaredErrorConfig, Metric,
    MetricError, Perplexity, PerplexityConfig, Precision, PrecisionConfig, R2Score, Recall,
    RecallConfig, RunningMean, Task,
};
use module_nn::prelude::*;
use module_tests::golden;
use serde_json::{Map, Value, json};

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(golden::path("metrics.json")).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(cases) = file["cases"].take() else {
        panic!("no cases")
    };
    assert_eq!(cases.len(), 26);
    cases
}

/// The numbers of nested lists, and their shape.
fn flat(value: &Value) -> (Vec<f64>, Vec<usize>) {
    let Some(rows) = value.as_array() else {
        return (vec![value.as_f64().unwrap()], vec![]);
    };
    let (mut numbers, mut shape) = (Vec::new(), vec![rows.len()]);
    for (i, row) in rows.iter().enumerate() {
        let (more, inner) = flat(row);
        if i == 0 {
            shape.extend(inner);
        }
        numbers.extend(more);
    }
    (numbers, shape)
}

fn tensor(value: &Value, dtype: DType) -> Tensor {
    let (numbers, shape) = flat(value);
    let tensor = Tensor::from_vec(numbers, shape).unwrap();
    tensor.to_dtype(dtype).unwrap()
}

/// The batches of a case: classes in the narrowest integers that can hold them, in a different dtype in each batch.
fn batches(case: &Value) -> Vec<(Tensor, Tensor)> {
    let rows = case["batches"].as_array().unwrap().iter().enumerate();
    let batch = |(i, row): (usize, &Value)| {
        let preds = match case["dtype"].as_str().unwrap() {
            "int" => tensor(&row["preds"], DType::I32),
            "f64" => tensor(&row["preds"], DType::F64),
            _ => tensor(&row["preds"], DType::F32),
        };
        let (numbers, _) = flat(&row["target"]);
        let integers = [DType::I64, DType::I16, DType::I8, DType::I32];
        let dtype = match numbers.iter().all(|n| n.fract() == 0.0) {
            true => integers[i % integers.len()],
            false => preds.dtype(),
        };
        (preds, tensor(&row["target"], dtype))
    };
    rows.map(batch).collect()
}

fn set<T: serde::de::DeserializeOwned>(arguments: &Map<String, Value>) -> T {
    serde_json::from_value(Value::Object(arguments.clone())).unwrap()
}

fn metric(entry: &Value) -> Box<dyn Metric> {
    let mut arguments = entry["kwargs"].as_object().unwrap().clone();
    match &entry["task"] {
        Value::Null => {}
        Value::String(_) => drop(arguments.insert("task".into(), json!("binary"))),
        classes => drop(arguments.insert("task".into(), json!({ "multiclass": classes }))),
    }
    let arguments = &arguments;
    match entry["metric"].as_str().unwrap() {
        "Accuracy" => Box::new(set::<AccuracyConfig>(arguments).build().unwrap()),
        "Precision" => Box::new(set::<PrecisionConfig>(arguments).build().unwrap()),
        "Recall" => Box::new(set::<RecallConfig>(arguments).build().unwrap()),
        "F1Score" => Box::new(set::<F1ScoreConfig>(arguments).build().unwrap()),
        "ConfusionMatrix" => Box::new(set::<ConfusionMatrixConfig>(arguments).build().unwrap()),
        "AUROC" => Box::new(set::<AUROCConfig>(arguments).build().unwrap()),
        "Perplexity" => Box::new(set::<PerplexityConfig>(arguments).build().unwrap()),
        "MeanSquaredError" => Box::new(set::<MeanSquaredErrorConfig>(arguments).build().unwrap()),
        "MeanAbsoluteError" => Box::new(MeanAbsoluteError::default()),
        "R2Score" => Box::new(R2Score::default()),
        name => panic!("{name}"),
    }
}

fn assert_near(found: &[f64], entry: &Value, label: &str) {
    let references = [("torchmetrics", 1e-6), ("sklearn", 1e-12)];
    let mut compared = 0;
    for (name, near) in references {
        if entry[name].is_null() {
            continue;
        }
        let (expected, _) = flat(&entry[name]);
        assert_eq!(found.len(), expected.len(), "{label}: {entry}");
        for (a, b) in found.iter().zip(&expected) {
            let error = (a - b).abs() / b.abs().max(1.0);
            assert!(error <= near, "{label}: {name}: {found:?} of {entry}");
        }
        compared += 1;
    }
    assert!(compared > 0, "{entry}");
}

fn value(metric: &dyn Metric) -> Vec<f64> {
    let value = metric.compute().unwrap();
    value.to_dtype(DType::F64).unwrap().to_vec().unwrap()
}

fn is_metric(entry: &&Value) -> bool {
    entry["metric"] != "MeanMetric" && entry["metric"] != "RunningMean"
}

#[test]
fn metrics_are_those_of_torchmetrics_and_scikit_learn() {
    let mut compared = 0;
    for case in cases() {
        let batches = batches(&case);
        for entry in case["expected"]
            .as_array()
            .unwrap()
            .iter()
            .filter(is_metric)
        {
            let mut all = metric(entry);
            for (preds, target) in &batches {
                all.update(preds, target).unwrap();
            }
            assert_near(&value(&*all), entry, "in order");
            if entry["metric"] == "ConfusionMatrix" && entry["kwargs"]["normalize"].is_null() {
                let (_, shape) = flat(&entry["sklearn"]);
                let matrix = all.compute().unwrap();
                assert_eq!(
                    (matrix.shape(), matrix.dtype()),
                    (&shape.into(), DType::I64)
                );
            }

            // Forgotten, half of it seen, saved and taken up by another, which a third joins.
            all.reset();
            assert!(all.compute().is_err());
            let (first, rest) = batches.split_at(1);
            let mut other = metric(entry);
            all.update(&first[0].0, &first[0].1).unwrap();
            other.load_state(&all.state().unwrap()).unwrap();
            for (preds, target) in rest {
                let mut more = metric(entry);
                more.update(preds, target).unwrap();
                other.merge_state(&more.state().unwrap()).unwrap();
            }
            assert_near(&value(&*other), entry, "joined");
            compared += 1;
        }
    }
    assert!(compared >= 300, "{compared}");
}

#[test]
fn means_are_those_of_torchmetrics() {
    let cases = cases();
    let is_mean = |case: &&Value| case["expected"][0]["metric"] == "MeanMetric";
    let case = cases.iter().find(is_mean).expect("a case of means");
    let (mut mean, mut joined) = (MeanMetric::default(), MeanMetric::default());
    let mut running = RunningMean::new(2).unwrap();
    let mut after = Vec::new();
    for (values, weights) in batches(case) {
        let mut part = MeanMetric::default();
        part.update_weighted(values.clone(), weights.clone())
            .unwrap();
        joined.merge(&part);
        mean.update_weighted(values.clone(), weights).unwrap();
        let mut next = RunningMean::new(2).unwrap();
        next.load_state(&running.state().unwrap()).unwrap();
        next.update(values).unwrap();
        running = next;
        after.push(running.compute().unwrap());
    }
    assert_near(&[mean.compute().unwrap()], &case["expected"][0], "mean");
    assert_near(&[joined.compute().unwrap()], &case["expected"][0], "joined");
    assert_near(&after, &case["expected"][1], "running");

    // Values without weight do not count.
    mean.reset();
    mean.update_weighted([f64::NAN, 3.0], [0.0, 2.0]).unwrap();
    assert_eq!(mean.compute().unwrap(), 3.0);
    mean.update(f64::NAN).unwrap();
    let mut other = MeanMetric::default();
    other.load_state(&mean.state().unwrap()).unwrap();
    assert!(other.compute().unwrap().is_nan());
    let error = mean.update_weighted(1.0, -1.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        "MeanMetric: weight = -1: must be at least 0, and finite"
    );
}

fn problem(result: Result<()>) -> MetricError {
    let error = result.unwrap_err();
    error
        .downcast_ref::<MetricError>()
        .expect("a MetricError")
        .clone()
}

#[test]
fn a_value_of_nothing_is_an_error() {
    let all: [Box<dyn Metric>; 8] = [
        Box::new(Accuracy::new(2).unwrap()),
        Box::new(Accuracy::new(Task::Binary).unwrap()),
        Box::new(Recall::new(2).unwrap()),
        Box::new(ConfusionMatrix::new(2).unwrap()),
        Box::new(AUROC::new(2).unwrap()),
        Box::new(Perplexity::default()),
        Box::new(MeanSquaredError::default()),
        Box::new(R2Score::default()),
    ];
    for metric in all {
        let error = problem(metric.compute().map(drop));
        assert_eq!(
            error,
            MetricError::Empty {
                metric: metric.name()
            }
        );
    }
    assert_eq!(
        problem(MeanMetric::default().compute().map(drop)),
        MetricError::Empty {
            metric: "MeanMetric"
        }
    );
    let mut ignored = AccuracyConfig::new(2).ignore_index(1).build().unwrap();
    let ones = Tensor::from([1_i64, 1]);
    ignored.update(&ones, &ones).unwrap();
    assert!(ignored.compute().is_err());

    let mut auroc = AUROC::new(Task::Binary).unwrap();
    auroc.update(&Tensor::from([0.1_f32, 0.2]), &ones).unwrap();
    let error = auroc.compute().unwrap_err();
    assert_eq!(
        error.to_string(),
        "AUROC: class 1 has 2 sample(s), and the others have 0; it is defined only where both have at least one"
    );
    let mut score = R2Score::default();
    let one = Tensor::from([1.0_f32]);
    score.update(&one, &one).unwrap();
    assert!(matches!(
        problem(score.compute().map(drop)),
        MetricError::TooFew {
            samples: 1,
            least: 2,
            ..
        }
    ));
}

#[test]
fn only_the_same_metric_accepts_a_state() {
    let mut accuracy = Accuracy::new(3).unwrap();
    let classes = Tensor::from([0_i64, 2]);
    accuracy.update(&classes, &classes).unwrap();
    let before = accuracy.state().unwrap();
    let of_two = Accuracy::new(2).unwrap().state().unwrap();
    let recall = Recall::new(3).unwrap().state().unwrap();
    for wrong in [of_two, recall, Snapshot::default()] {
        assert!(accuracy.load_state(&wrong).is_err());
        assert!(accuracy.merge_state(&wrong).is_err());
    }
    assert_eq!(accuracy.value().unwrap(), 1.0);
    // Two with arguments of the same names.
    let mut precision = Precision::new(3).unwrap();
    let recall = Recall::new(3).unwrap().state().unwrap();
    let error = precision.load_state(&recall).unwrap_err();
    assert_eq!(
        error.to_string(),
        "load_state: metric = Recall: this is Precision; give the state of one"
    );
    let mut other = Accuracy::new(3).unwrap();
    other.update(&classes, &Tensor::from([1_i64, 1])).unwrap();
    other.merge(&accuracy).unwrap();
    assert_eq!(other.value().unwrap(), 0.5);
    other.load_state(&before).unwrap();
    assert_eq!(other.value().unwrap(), 1.0);
}

#[test]
fn scores_that_are_equal_have_a_place_among_the_best() {
    let top = |logits: [f32; 3], class: i64| {
        let mut top = AccuracyConfig::new(3).top_k(2).build().unwrap();
        top.update(&Tensor::from([logits]), &Tensor::from([class]))
            .unwrap();
        top.value().unwrap()
    };
    // Constant scores are right for two classes of three, not for all.
    assert_eq!([0, 1, 2].map(|class| top([1.0; 3], class)), [1.0, 1.0, 0.0]);
    // NaN is above all numbers, as in PyTorch.
    assert_eq!(top([1.0, f32::NAN, 0.0], 0), 1.0);
    assert_eq!(top([1.0, f32::NAN, f32::NAN], 0), 0.0);
}
