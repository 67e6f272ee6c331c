//! Early stopping, and the snapshot of the best model.

use module_nn::optim::{BestSnapshot, EarlyStopping, EarlyStoppingConfig};
use module_nn::prelude::*;
use module_tests::golden;

use super::{input, same, trained};

#[test]
fn epochs_without_a_better_metric_are_counted_as_by_pytorch() {
    let (case, recorded) = golden::load("averaging.safetensors");
    let cases = case["stopping"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for (i, case) in cases.iter().enumerate() {
        let numbers = |name: &str| {
            let tensor = recorded.get(&format!("stopping/{i}/{name}")).unwrap();
            tensor.to_vec::<f64>().unwrap()
        };
        let (metrics, counts) = (numbers("metrics"), numbers("counts"));
        for patience in [1_usize, 2, 5, 9] {
            let mode = match case["mode"].as_str().unwrap() {
                "min" => PlateauMode::Min,
                _ => PlateauMode::Max,
            };
            let min_delta = case["min_delta"].as_f64().unwrap();
            let config = EarlyStoppingConfig::new(patience)
                .mode(mode)
                .min_delta(min_delta);
            let mut stopping = config.build().unwrap();
            let mut best = BestSnapshot::new(mode);
            let net = trained();
            for (epoch, metric) in metrics.iter().enumerate() {
                let (expected, bad) = (counts[2 * epoch], counts[2 * epoch + 1]);
                assert_eq!(
                    stopping.step(*metric),
                    bad >= patience as f64,
                    "{case}: {epoch}"
                );
                assert_eq!(stopping.num_bad_epochs() as f64, bad);
                if expected.is_finite() {
                    assert_eq!(stopping.best(), Some(expected));
                } else {
                    assert_eq!((stopping.best(), stopping.best_epoch()), (None, None));
                }
                if min_delta == 0.0 {
                    assert_eq!(best.update(*metric, &net).unwrap(), bad == 0.0);
                    assert_eq!(best.best(), stopping.best());
                    assert_eq!(best.best_epoch(), stopping.best_epoch());
                }
                // A resumed count continues like this one.
                let mut resumed = EarlyStopping::new(77).unwrap();
                resumed.load_state(&stopping.state().unwrap()).unwrap();
                stopping = resumed;
            }
            assert_eq!(stopping.config().patience, patience);
        }
    }
}

#[test]
fn what_is_no_count_is_refused() {
    let config = EarlyStoppingConfig::new(3_usize).min_delta(-0.1);
    let error = config.build().err().unwrap().to_string();
    assert_eq!(error, "EarlyStopping: min_delta = -0.1: must be at least 0");
    let mut stopping = EarlyStopping::new(3).unwrap();
    let other = trained().state().unwrap();
    let error = stopping.load_state(&other).unwrap_err().to_string();
    assert!(
        error.contains("something other than EarlyStopping"),
        "{error}"
    );
    assert!(
        BestSnapshot::new(PlateauMode::Min)
            .load_state(&other)
            .is_err()
    );
    // Without patience the first epoch that is not better ends it, and a better one does not.
    let mut stopping = EarlyStopping::new(0).unwrap();
    assert_eq!(
        [0.5, 0.4, 0.4].map(|loss| stopping.step(loss)),
        [false, false, true]
    );
}

#[test]
fn the_best_state_is_kept_restored_and_written() {
    let net = trained();
    let path = super::directory("best").join("best.safetensors");
    let mut best = BestSnapshot::new(PlateauMode::Min).save_to(&path);
    let error = best.restore(&net).unwrap_err().to_string();
    assert!(error.contains("call `update`"), "{error}");

    let mut optimizer = SGD::new(&net, 0.1).unwrap();
    let mut at_best = None;
    for (epoch, loss) in [0.9, f64::NAN, 0.3, 0.4].into_iter().enumerate() {
        assert_eq!(best.update(loss, &net).unwrap(), loss == 0.9 || loss == 0.3);
        if epoch == 2 {
            // As text, which no later step can reach.
            at_best = Some(format!("{:?}", net.w1.detach().to_vec::<f32>().unwrap()));
        }
        net.zero_grad();
        let loss = net
            .call(input())
            .unwrap()
            .square()
            .unwrap()
            .mean(..)
            .unwrap();
        loss.backward().unwrap();
        optimizer.step(&net).unwrap();
    }
    let text = |net: &super::Net| format!("{:?}", net.w1.detach().to_vec::<f32>().unwrap());
    assert_ne!(Some(text(&net)), at_best);
    let written = StateDict::load(&path).unwrap();
    assert!(same(&written, best.state_dict().unwrap()));

    let mut resumed = BestSnapshot::new(PlateauMode::Min);
    resumed.load_state(&best.state().unwrap()).unwrap();
    assert_eq!((resumed.best(), resumed.best_epoch()), (Some(0.3), Some(2)));
    assert!(!resumed.update(0.3, &net).unwrap());
    drop(resumed.restore(&net).unwrap());
    assert_eq!(Some(text(&net)), at_best);

    // A file that cannot be written leaves the previous state.
    let mut best = best.save_to(path.join("no/directory"));
    assert!(best.update(0.1, &net).is_err());
    assert_eq!(best.best(), Some(0.3));
}

#[test]
fn an_infinite_metric_is_the_best_until_there_is_a_better_one() {
    let net = trained();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (mode, sign) in [(PlateauMode::Min, 1.0), (PlateauMode::Max, -1.0)] {
        let mut best = BestSnapshot::new(mode);
        let metrics = [nan, inf, inf, 1.0, inf, -inf, 0.0];
        let expected = [false, true, false, true, false, true, false];
        for (metric, expected) in metrics.into_iter().zip(expected) {
            assert_eq!(
                best.update(sign * metric, &net).unwrap(),
                expected,
                "{metric}"
            );
            assert_eq!(best.restore(&net).is_ok(), !metric.is_nan());
            let mut resumed = BestSnapshot::new(mode);
            resumed.load_state(&best.state().unwrap()).unwrap();
            assert_eq!(resumed.best(), best.best());
            best = resumed;
        }
        assert_eq!(best.best(), Some(-sign * inf));
    }
}
