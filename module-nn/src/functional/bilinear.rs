use module_core::{Result, Shape, ShapeError, Tensor, is_autocast_enabled};

/// `y[…, o] = Σᵢⱼ x1[…, i] · weight[o, i, j] · x2[…, j] + bias[o]`.
///
/// # Shapes
///
/// `[…, in1]` and `[…, in2]` with the same leading sizes, a weight `[out, in1, in2]` and a bias `[out]`,
/// to `[…, out]`.
///
/// # Errors
///
/// Incompatible shapes, different dtypes or devices.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::bilinear};
///
/// let weight = Tensor::from([[1.0_f32, 2.0]]).reshape([1, 1, 2])?;
/// let y = bilinear(&Tensor::from([3.0_f32]), &Tensor::from([4.0_f32, 5.0]), &weight, None)?;
/// assert_eq!(y.to_vec::<f32>()?, [42.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn bilinear(
    x1: &Tensor,
    x2: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor> {
    const OP: &str = "bilinear";
    let &[outputs, in1, in2] = &**weight.shape() else {
        return Err(weight.shape().error(OP, "a weight [out, in1, in2]"));
    };
    let lead = match (x1.shape().split_last(), x2.shape().split_last()) {
        (Some((&last1, lead1)), Some((&last2, lead2)))
            if lead1 == lead2 && (last1, last2) == (in1, in2) =>
        {
            lead1
        }
        _ => {
            let (op, lhs, rhs) = (OP, x1.shape().clone(), x2.shape().clone());
            let rule =
                format!("they must be [..., {in1}] and [..., {in2}] with the same leading sizes");
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
    };
    // The products of all pairs of elements are the inputs of a linear layer.
    let sizes = |last: usize| lead.iter().copied().chain([last]).collect::<Shape>();
    let products = x1.unsqueeze(-1)?.mul(&x2.unsqueeze(-2)?)?;
    let products = products.reshape(sizes(in1 * in2))?;
    let weight = weight.reshape([outputs, in1 * in2])?;
    match bias {
        // Only the product is in the lists of `autocast`.
        Some(bias) if is_autocast_enabled() => products.linear(&weight, None)?.add(bias),
        _ => products.linear(&weight, bias),
    }
}
