//! Tied, frozen and failing parts, and modules that are not called.

use super::*;

#[test]
fn what_torchinfo_does_not_say() {
    let model = tied();
    model.freeze("right.bias").unwrap();
    let summary = summary(&model, zeros([2, 3]).unwrap()).unwrap();
    // The tied weight counts once: 9 + 3 + 3 and the 8 that are not reached.
    assert_eq!(
        (summary.num_parameters(), summary.num_trainable()),
        (23, 20)
    );
    assert_eq!(summary.state_bytes(), 23 * 4);
    let columns = [
        Column::Path,
        Column::Output,
        Column::Kernel,
        Column::Parameters,
        Column::Share,
        Column::MultAdds,
        Column::Trainable,
        Column::Mode,
    ];
    let expected = "\
===========================================================================================================================
Layer (type:depth-idx)            Path    Output Shape  Kernel Shape  Param #      Param %      Mult-Adds  Trainable  Mode
===========================================================================================================================
Tied                                      [2, 3]        --            --           --           --         Partial    train
├─Linear: 1-1                     left    [2, 3]        --            12           52.17%       24         True       --
├─Dropout: 1-2                    drop    [2, 3]        --            --           --           --         --         train
├─ReLU: 1-3                       relu    [2, 3]        --            --           --           --         --         --
├─Linear: 1-4                     right   [2, 3]        --            12           52.17%       24         Partial    --
├─ReLU: 1-5                       relu    [2, 3]        --            --           --           --         --         --
├─Linear: 1-6                     left    [2, 3]        --            (recursive)  (recursive)  24         True       --
├─Sequential: 1-7 (never called)  unused  --            --            8            34.78%       --         True       --
===========================================================================================================================
Total params: 23
Trainable params: 20
Non-trainable params: 3
Total mult-adds (M): 0.00
===========================================================================================================================
Input size (MB): 0.00
Forward/backward pass size (MB): 0.00
Params size (MB): 0.00
Estimated Total Size (MB): 0.00
===========================================================================================================================
All parameters and buffers: 92 bytes
Mode: training
Frozen: right.bias
Ties: left.weight = right.weight
Never called: unused
===========================================================================================================================
";
    let text = summary.columns(columns).to_string();
    assert_eq!(text, expected);
}

/// Catches the error of its layer, like networks with a fallback.
#[derive(Module)]
struct Fallback {
    first: Linear,
    second: Linear,
}

impl Forward for Fallback {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.first.call(x.clone()).or_else(|_| self.second.call(x))
    }
}

#[test]
fn a_call_that_fails_and_is_caught_leaves_the_tree_whole() {
    let (first, second) = (Linear::new(4, 3).unwrap(), Linear::new(3, 3).unwrap());
    let model = Fallback { first, second };
    let trace = Trace::record(&model, zeros([2, 3]).unwrap()).unwrap();
    let calls: Vec<_> = trace
        .calls()
        .iter()
        .map(|call| (call.path.as_str(), call.parent, call.failed))
        .collect();
    assert_eq!(
        calls,
        [
            ("", None, false),
            ("first", Some(0), true),
            ("second", Some(0), false)
        ]
    );
}
