//! Contrastive learning, with a slowly updated copy of the network.

use module_nn::functional::normalize;
use module_nn::prelude::*;

use super::{healthy, mlp, rows, step};

#[derive(Module)]
struct Pair {
    student: Sequential,
    teacher: Sequential,
}

/// Two networks with the same weights, the second of which is not trained.
fn pair() -> Result<Pair> {
    let model = Pair {
        student: mlp(6, 16, 8)?,
        teacher: mlp(6, 16, 8)?,
    };
    let _ = model
        .teacher
        .load_state_dict(&model.student.state_dict()?)?;
    model.teacher.freeze_parameters(Select::all())?;
    Ok(model)
}

/// Moves the teacher a fraction of the way to the student.
fn follow(model: &Pair, part: f64) -> Result<()> {
    for (teacher, student) in model.teacher.parameters().zip(model.student.parameters()) {
        let way = student.detach().sub(teacher.detach())?;
        teacher.set(teacher.detach().add(way.mul(part)?)?)?;
    }
    Ok(())
}

#[test]
fn a_teacher_that_follows_by_less_than_most_of_its_roundings() {
    for (rate, part) in [(1e-3, 1e-3), (1e-4, 1e-3), (1e-5, 1e-3), (1e-4, 1e-4)] {
        healthy(|| {
            let model = pair()?;
            let mut optimizer = AdamW::new(&model.student, rate)?;
            Ok((model, move |model: &Pair| {
                let x = rows(16, 6)?;
                let goal = no_grad(|| model.teacher.call(x.add(&x.randn_like()?.mul(0.1)?)?))?;
                let loss = MSELoss::new().loss(&model.student.call(x)?, &goal)?;
                let loss = step(&model.student, &mut optimizer, loss)?;
                follow(model, part)?;
                Ok(loss)
            }))
        });
    }
}

#[test]
fn a_contrast_whose_first_class_is_the_right_one() {
    healthy(|| {
        let model = pair()?;
        let mut optimizer = SGD::new(&model.student, 0.03)?;
        let queue = normalize(&rows(32, 8)?, 2.0, 1, 1e-12)?;
        Ok((model, move |model: &Pair| {
            let x = rows(16, 6)?;
            let unit = |x: Tensor| normalize(&x, 2.0, 1, 1e-12);
            let query = unit(model.student.call(x.clone())?)?;
            let key = no_grad(|| unit(model.teacher.call(x)?))?;
            let right = query.mul(&key)?.sum_keepdim(1)?;
            let logits = Tensor::cat(&[right, query.matmul(&queue.t()?)?], 1)?;
            let target = Tensor::zeros([16], DType::I64)?;
            let loss = CrossEntropyLoss::new().loss(&logits.div(0.07)?, &target)?;
            let loss = step(&model.student, &mut optimizer, loss)?;
            follow(model, 1e-3)?;
            Ok(loss)
        }))
    });
}
