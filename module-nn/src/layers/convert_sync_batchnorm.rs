use std::any::Any;
use std::sync::Arc;

use module_core::{Module, ModuleExt};

use super::{BatchNorm1d, BatchNorm2d, BatchNorm3d, SyncBatchNorm};

/// Makes every batch normalization of a module compute its statistics with `sync` in training, or from its own batch again
/// if there is none; returns how many there are.
///
/// PyTorch's `SyncBatchNorm.convert_sync_batchnorm` replaces the layers. Here they stay the same, and so do their keys.
///
/// # Example
///
/// ```
/// use module_nn::convert_sync_batchnorm;
/// use module_nn::prelude::*;
///
/// let net = Sequential::new().push(Conv2d::new(3, 8, 3)?).push(BatchNorm2d::new(8)?);
/// assert_eq!(convert_sync_batchnorm(&net, None), 1);
/// # Ok::<(), Error>(())
/// ```
pub fn convert_sync_batchnorm(module: &dyn Module, sync: Option<Arc<dyn SyncBatchNorm>>) -> usize {
    let norms = module.modules().filter_map(|module| {
        let module: &dyn Any = module.as_module();
        let norm = module.downcast_ref().map(BatchNorm1d::sync);
        let norm = norm.or_else(|| module.downcast_ref().map(BatchNorm2d::sync));
        norm.or_else(|| module.downcast_ref().map(BatchNorm3d::sync))
    });
    norms.map(|norm| norm.set(sync.clone())).count()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use module_core::{DType, Forward as _, Result, Sequential, Tensor};

    /// Acts as if another process had the same batch, plus one.
    struct Shifted;

    impl SyncBatchNorm for Shifted {
        fn batch_norm_train(
            &self,
            input: &Tensor,
            weight: Option<&Tensor>,
            bias: Option<&Tensor>,
            eps: f64,
        ) -> Result<(Tensor, Tensor, Tensor, usize)> {
            let both = Tensor::cat(&[input, &input.add(1.0)?], 0)?;
            let (output, mean, var) = both.batch_norm_train(weight, bias, eps)?;
            let own = output.narrow(0, 0..input.size(0)?)?;
            Ok((own, mean, var, both.numel() / input.size(1)?))
        }
    }

    #[test]
    fn statistics_are_those_of_all_processes_in_training_only() {
        let inner = Sequential::new().push(BatchNorm1d::new(3).unwrap());
        let model = Sequential::new()
            .push(BatchNorm1d::new(3).unwrap())
            .push(inner);
        let alone = BatchNorm1d::new(3).unwrap();
        let x = Tensor::randn([4, 3], DType::F64).unwrap();
        model.double().unwrap();
        alone.double().unwrap();

        assert_eq!(convert_sync_batchnorm(&model, Some(Arc::new(Shifted))), 2);
        model.forward(x.clone()).unwrap();
        let both = Tensor::cat(&[&x, &x.add(1.0).unwrap()], 0).unwrap();
        alone.forward(both).unwrap();
        for name in ["running_mean", "running_var", "num_batches_tracked"] {
            let found = model.get_buffer(&format!("0.{name}")).unwrap().tensor();
            let expected = alone.get_buffer(name).unwrap().tensor();
            assert!(found.equal(&expected).unwrap(), "{name}");
        }

        // In evaluation, and after the conversion back, every norm uses its own statistics again.
        let first = model.get_submodule("0").unwrap();
        let first: &dyn Any = first;
        let first: &BatchNorm1d = first.downcast_ref().unwrap();
        first.eval();
        alone.eval();
        let outputs = [first.forward(x.clone()), alone.forward(x.clone())].map(Result::unwrap);
        assert!(outputs[0].equal(&outputs[1]).unwrap());
        assert_eq!(convert_sync_batchnorm(&model, None), 2);
        first.train();
        alone.train();
        let outputs = [first.forward(x.clone()), alone.forward(x)].map(Result::unwrap);
        assert!(outputs[0].equal(&outputs[1]).unwrap());
    }
}
