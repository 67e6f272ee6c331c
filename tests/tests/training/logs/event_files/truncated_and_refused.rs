//! Truncated files, hyperparameters, and values that cannot be shown.

use super::*;

#[test]
fn what_stands_before_a_cut_is_read() {
    let scratch = Scratch::new("logs-cut-events");
    let mut writer = SummaryWriter::new(&scratch).unwrap();
    for step in 0..3 {
        writer.add_scalar("x", step as f64, step).unwrap();
    }
    let [file] = &files(scratch.as_ref())[..] else {
        panic!("one file")
    };
    // Without a flush, all of it is there.
    assert_eq!(records(file).len(), 4);
    let content = fs::read(file).unwrap();
    let last = records(file).len() - 1;
    for cut in 1..content.len() / 4 {
        fs::write(file, &content[..content.len() - cut]).unwrap();
        assert!(records(file).len() <= last);
    }
    fs::write(file, &content[..content.len() - 1]).unwrap();
    assert_eq!(records(file).len(), last);

    // A second writer has a separate file.
    SummaryWriter::new(&scratch).unwrap();
    assert_eq!(files(scratch.as_ref()).len(), 2);
}

#[test]
fn truth_values_are_hyper_parameters_and_a_run_may_have_its_own() {
    let scratch = Scratch::new("logs-hparams");
    let mut writer = SummaryWriter::new(&scratch).unwrap();
    writer
        .add_hparams(&[("nesterov", true.into())], &[], ".")
        .unwrap();
    let files = files(scratch.as_ref());
    let all: Vec<Fields> = files.iter().flat_map(|file| records(file)).collect();
    let found: Vec<Value> = all
        .iter()
        .map(|event| described(event, &StateDict::default(), 0))
        .collect();
    let of = |tag: &str| {
        let mut values = found
            .iter()
            .flat_map(|event| event["values"].as_array().unwrap());
        values.rfind(|value| value["tag"] == tag).unwrap()["hparams"].clone()
    };
    assert_eq!(
        of("_hparams_/experiment")["infos"],
        json!([["nesterov", 2]])
    );
    assert_eq!(
        of("_hparams_/session_start_info")["start"],
        json!({ "nesterov": true })
    );
    assert!(
        writer
            .add_hparams(&[("a", 1.into()), ("a", 2.into())], &[], "two")
            .is_err()
    );
    assert!(!scratch.as_ref().join("two").exists());
}

#[test]
fn what_cannot_be_shown_is_refused_and_not_written() {
    let scratch = Scratch::new("logs-refused-events");
    let mut writer = SummaryWriter::new(&scratch).unwrap();
    let error = writer
        .add_histogram("w", &Tensor::from([1.0_f32, f32::NAN]), 0)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "add_histogram: values = NaN: must be finite; log how many are not as a scalar, in the histogram `w`"
    );
    assert!(
        writer
            .add_histogram("w", &Tensor::zeros([0], DType::F32).unwrap(), 0)
            .is_err()
    );
    assert!(
        writer
            .add_histogram("w", &Tensor::from([1e30_f64]), 0)
            .is_err()
    );
    for shape in [vec![2, 2], vec![2, 4, 4], vec![3, 0, 4]] {
        let image = Tensor::zeros(shape, DType::F32).unwrap();
        assert!(writer.add_image("i", &image, 0).is_err());
    }
    assert!(
        writer
            .add_image("i", &Tensor::zeros([1, 2, 2], DType::I64).unwrap(), 0)
            .is_err()
    );
    assert!(writer.add_scalar("x", 1.0, u64::MAX).is_err());
    assert!(writer.log(0, &[("x", 1.0), ("x", 2.0)]).is_err());
    let [file] = &files(scratch.as_ref())[..] else {
        panic!("one file")
    };
    assert_eq!(records(file).len(), 1);
}
