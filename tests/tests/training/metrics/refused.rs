//! Predictions and arguments that are refused.

use super::*;

#[test]
fn wrong_predictions_are_refused_and_change_nothing() {
    let mut accuracy = Accuracy::new(3).unwrap();
    let classes = Tensor::from([0_i64, 1]);
    accuracy.update(&classes, &classes).unwrap();
    let class = |what, class| MetricError::Class {
        metric: "Accuracy",
        what,
        class,
        num_classes: 3,
    };
    let wrong = Tensor::from([1_i64, 3]);
    assert_eq!(
        problem(accuracy.update(&classes, &wrong)),
        class("target", 3)
    );
    assert_eq!(
        problem(accuracy.update(&wrong, &classes)),
        class("preds", 3)
    );
    let negative = Tensor::from([-1_i64, 0]);
    let error = accuracy.update(&classes, &negative).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Accuracy: target has class -1, and there are 3 classes, counted from 0; increase the number of classes, or \
         set `ignore_index` if it marks what is not counted"
    );
    let logits = Tensor::zeros([2, 4], DType::F32).unwrap();
    let error = accuracy.update(&logits, &classes).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Accuracy: preds have shape [2, 4] and target [2]; give target [N, …] and preds [N, 3, …] with the same sizes"
    );
    let floats = Tensor::from([0.0_f32, 1.0]);
    assert!(matches!(
        problem(accuracy.update(&classes, &floats)),
        MetricError::DType {
            what: "target",
            dtype: DType::F32,
            ..
        }
    ));
    assert!(accuracy.update(&Tensor::from([0_i64]), &classes).is_err());
    let mut matrix = ConfusionMatrix::new(3).unwrap();
    matrix.update(&classes, &classes).unwrap();
    assert!(matrix.update(&wrong, &classes).is_err());
    assert_eq!(
        matrix
            .compute()
            .unwrap()
            .sum(..)
            .unwrap()
            .item::<i64>()
            .unwrap(),
        2
    );
    assert_eq!(accuracy.value().unwrap(), 1.0);

    // Logits passed as probabilities, and values that are neither.
    for wrong in [1.5_f32, -0.1, f32::NAN] {
        let preds = Tensor::from([0.5, wrong]);
        for mut metric in [
            Box::new(Precision::new(Task::Binary).unwrap()) as Box<dyn Metric>,
            Box::new(AUROC::new(Task::Binary).unwrap()),
        ] {
            let error = problem(metric.update(&preds, &classes));
            assert!(matches!(error, MetricError::Probability { .. }), "{error}");
            assert!(metric.compute().is_err());
        }
    }
    let too_large = Tensor::from([5_i64, 0]);
    assert!(
        Perplexity::default()
            .update(&Tensor::zeros([2, 4], DType::F32).unwrap(), &too_large)
            .is_err()
    );
    assert!(Perplexity::default().update(&classes, &classes).is_err());
    let both = (
        Tensor::from([1.0_f32, 2.0]),
        Tensor::from([[1.0_f32], [2.0]]),
    );
    assert!(
        MeanSquaredError::default()
            .update(&both.0, &both.1)
            .is_err()
    );
    assert!(
        R2Score::default()
            .update(&Tensor::from(1.0_f32), &Tensor::from(1.0_f32))
            .is_err()
    );
}

#[test]
fn arguments_without_meaning_are_refused() {
    assert!(Accuracy::new(1).is_err());
    for top_k in [0, 4] {
        let error = AccuracyConfig::new(3).top_k(top_k).build().unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("Accuracy: top_k = {top_k}: must be from 1 to 3 for this task")
        );
    }
    assert!(AccuracyConfig::new(Task::Binary).top_k(2).build().is_err());
    assert!(
        PrecisionConfig::new(Task::Binary)
            .threshold(1.5)
            .build()
            .is_err()
    );
    assert!(
        RecallConfig::new(3)
            .zero_division(f64::NAN)
            .build()
            .is_err()
    );
    assert!(AUROCConfig::new(3).average(Average::Micro).build().is_err());
    assert!(RunningMean::new(0).is_err());
    // A state of more updates than count, which none of this window saves.
    let mut longer = RunningMean::new(3).unwrap();
    (0..3).for_each(|value| longer.update(f64::from(value)).unwrap());
    let mut running = RunningMean::new(2).unwrap();
    running.update(7.0).unwrap();
    let config = running.hyperparameters().unwrap();
    let config: Value = config.get("config").unwrap();
    let state = longer.state().unwrap().with("config", &config).unwrap();
    assert_eq!(
        running.load_state(&state).unwrap_err().to_string(),
        "load_state: sum = 3: there must be at most as many as the window has, 2"
    );
    assert_eq!(running.compute().unwrap(), 7.0);
    let mut top = AccuracyConfig::new(3).top_k(2).build().unwrap();
    let classes = Tensor::from([0_i64]);
    assert!(top.update(&classes, &classes).is_err());
}
