//! Units that are never active.

use super::*;

#[test]
fn pitfall_41_units_that_are_never_active() {
    shows(FindingKind::DeadUnits, "1", |bug| {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(ReLU::new())
            .push(Linear::new(16, 3)?);
        silence(&model, bug)?;
        let report = trained(&model, cross_entropy_of)?;
        for finding in report.of_kind(FindingKind::DeadUnits) {
            let given = "16 of the 16 units that `1` (ReLU) gives are 0 for all 32 values";
            assert!(finding.message.contains(given), "{finding:?}");
        }
        Ok(report)
    });
}

#[test]
fn units_of_an_operation_that_are_never_active() {
    let given = "that a ReLU before `1.layer` (Linear) gives";
    shows_all(FindingKind::DeadUnits, &["1.layer"], given, |bug| {
        // Beside a layer that does the same, and is active.
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(Rectified {
                layer: Linear::new(16, 16)?,
            })
            .push(ReLU::new())
            .push(Linear::new(16, 3)?);
        silence(&model, bug)?;
        trained(&model, cross_entropy_of)
    });
}

/// A user-written ReLU.
#[derive(Module)]
struct Rectifier(Marker);

impl Forward for Rectifier {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        x.relu()
    }
}

#[test]
fn units_of_a_custom_module_that_are_never_active() {
    // Found where the first layer within a part is given them.
    shows(FindingKind::DeadUnits, "2.0", |bug| {
        let model = Sequential::new()
            .push(Linear::new(6, 16)?)
            .push(Rectifier(Marker::new()))
            .push(Sequential::new().push(Linear::new(16, 3)?));
        silence(&model, bug)?;
        trained(&model, cross_entropy_of)
    });
}

#[test]
fn dropped_columns_are_not_silent_units() {
    let report = fork_rng(0, || {
        passing(true, |net, x| {
            let first = Tensor::arange(0, 16, DType::I64)?.eq(0_i64)?;
            let x = net.first.call(x)?.mul(&first.to_dtype(DType::F32)?)?;
            net.head.call(net.second.call(x)?.tanh()?)
        })
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_relu_of_nothing_has_no_silent_units() {
    #[derive(Module)]
    struct Parts {
        layer: Linear,
        relu: ReLU,
    }

    impl Forward for Parts {
        type Output = Tensor;

        fn forward(&self, x: Tensor) -> Result<Tensor> {
            let x = self.layer.call(x)?;
            let none = self.relu.call(x.narrow(1, 0..0)?)?;
            let image = x.narrow(1, 0..0)?.unsqueeze(1)?.unsqueeze(1)?;
            let image = self.relu.call(image)?.flatten(1, -1)?;
            Tensor::cat(&[x, none, image], 1)
        }
    }

    let report = fork_rng(0, || {
        let model = Parts {
            layer: Linear::new(6, 3)?,
            relu: ReLU::new(),
        };
        trained(&model, cross_entropy_of)
    });
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
}

/// A ReLU that is not a module, before a layer.
#[derive(Module)]
struct Rectified {
    layer: Linear,
}

impl Forward for Rectified {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.layer.call(x.relu()?)
    }
}

/// A ReLU that passes nothing of the first layer.
fn silence(model: &Sequential, bug: bool) -> Result<()> {
    let bias = model.get_parameter("0.bias")?;
    bias.set(bias.detach().sub(if bug { 50.0 } else { 0.0 })?)
}
