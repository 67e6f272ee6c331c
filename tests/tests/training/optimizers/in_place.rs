//! Steps that overwrite parameters.

use module_nn::prelude::*;

fn address(parameter: &Parameter) -> usize {
    parameter.detach().storage().address()
}

type Build = fn(&Linear) -> Result<Box<dyn Optimizer>>;

#[test]
fn a_step_writes_over_a_parameter_and_over_nothing_that_is_held() -> Result<()> {
    let optimizers: [Build; 3] = [
        |model| Ok(Box::new(SGD::new(model, 0.1)?)),
        |model| Ok(Box::new(SGDConfig::new(0.1).momentum(0.9).build(model)?)),
        |model| Ok(Box::new(AdamW::new(model, 0.1)?)),
    ];
    for make in optimizers {
        let model = Linear::new(3, 2)?;
        let mut optimizer = make(&model)?;
        let x = Tensor::from([[1.0_f32, -2.0, 3.0]]);
        // The graph holds the previous weight, for the gradient of the input.
        let input = x.with_grad()?;
        let loss = model.call(input.clone())?.sum(..)?;
        model.call(x.clone())?.sum(..)?.backward()?;

        let held = model.state_dict()?;
        let before = held.get("weight").unwrap().to_vec::<f32>()?;
        let first = address(model.weight());
        optimizer.step(&model)?;
        assert_eq!(held.get("weight").unwrap().to_vec::<f32>()?, before);
        assert_ne!(model.weight().detach().to_vec::<f32>()?, before);
        assert_ne!(address(model.weight()), first);

        let second = address(model.weight());
        let saved = optimizer.state()?;
        let states = || -> Result<Vec<Vec<f64>>> {
            let states = saved.tensors().iter();
            states
                .map(|(_, x)| x.to_dtype(DType::F64)?.to_vec())
                .collect()
        };
        let kept = states()?;
        optimizer.step(&model)?;
        assert_eq!(address(model.weight()), second);
        assert_eq!(states()?, kept);

        loss.backward()?;
        assert_eq!(input.grad().unwrap().to_vec::<f32>()?.len(), 3);
        let sums = [0, 1, 2].map(|i| before[i] + before[i + 3]);
        assert_eq!(input.grad().unwrap().to_vec::<f32>()?, sums);
    }
    Ok(())
}
