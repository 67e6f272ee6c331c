//! Activations, dropouts and instance normalizations.

use module_nn::functional;

use super::fuzz;

#[test]
fn activations() {
    fuzz("an activation", |d| {
        let x = d.maybe_huge();
        match d.below(10) {
            0 => x.mish(),
            1 => x.hardswish(),
            2 => x.hardsigmoid(),
            3 => x.relu6(),
            4 => x.selu(),
            5 => x.log_sigmoid(),
            6 => x.softsign(),
            7 => x.tanhshrink(),
            8 => x.celu(d.number()),
            _ => x.elu(d.number()),
        }
    });
    fuzz("an activation with numbers", |d| {
        let x = d.maybe_huge();
        let (a, b) = (d.number(), d.number());
        match d.below(5) {
            0 => x.hardtanh(a, b),
            1 => x.hardshrink(a),
            2 => x.softshrink(a),
            3 => x.threshold(d.scalar(), d.scalar()),
            _ => x.softplus(a, b),
        }
    });
    fuzz("rrelu", |d| {
        let x = d.tensor();
        functional::rrelu(&x, d.number(), d.number())
    });
    fuzz("glu", |d| d.maybe_huge().glu(d.dim()));
    fuzz("prelu", |d| {
        let x = d.maybe_huge();
        let weight = if d.often() {
            let channels = x.shape().get(1).copied().unwrap_or(1).min(8);
            d.of_shape(&[channels], x.dtype())
        } else {
            d.maybe_huge()
        };
        x.prelu(&weight)
    });
}

#[test]
fn dropouts() {
    fuzz("dropout of channels", |d| {
        let (x, p) = (d.tensor(), d.number() / 5.0);
        match d.below(3) {
            0 => x.feature_dropout(p),
            1 => x.alpha_dropout(p),
            _ => x.feature_alpha_dropout(p),
        }
    });
}

#[test]
fn statistics_of_instances() {
    fuzz("instance_norm_train", |d| {
        let x = d.tensor();
        let channels = x.shape().get(1).copied().unwrap_or(2);
        let weight = d.often().then(|| d.of_shape(&[channels], x.dtype()));
        let (y, mean, var) = x.instance_norm_train(weight.as_ref(), None, d.number())?;
        mean.add(&var)?;
        Ok(y)
    });
}
