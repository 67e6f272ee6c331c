//! The operations that move data.

use super::*;
use crate::{IndexItem, PadMode};

/// Most of these are linear, so their gradients do not depend on the inputs; those of the square do, which tests the
/// gradient of the gradient.
fn squared(f: impl Fn(&[Tensor]) -> Result<Tensor>) -> impl Fn(&[Tensor]) -> Result<Tensor> {
    move |x| {
        let y = f(x)?;
        y.mul(&y)
    }
}

#[track_caller]
fn check(label: &str, shapes: &[&[usize]], f: impl Fn(&[Tensor]) -> Result<Tensor>) {
    super::check(label, shapes, squared(f));
}

#[track_caller]
fn check_layouts(
    label: &str,
    inputs: &[Tensor],
    without: &[&str],
    f: &dyn Fn(&[Tensor]) -> Result<Tensor>,
) {
    super::check_layouts(label, inputs, without, &squared(f));
}

pub(super) fn moves() {
    views();
    pads();
    by_index();
    orders();
    sums_of_products();
    for dims in [&[2_usize, 3][..], &[2, 1, 3], &[0, 2]] {
        check("repeat", &[&[2, 3]], |x| x[0].repeat(dims));
    }
    check("repeat_interleave", &[&[2, 3]], |x| {
        x[0].repeat_interleave(2, 1)
    });
    check("diff", &[&[3, 4]], |x| x[0].diff(2, 1));
    check_unary("cumprod", |x| x.cumprod(-1));
    for dim in [0, 1, -1] {
        check("cumprod", &[&[2, 3, 2]], |x| x[0].cumprod(dim));
    }
    let special = Tensor::from([
        [0.0, 1.5, -2.0, 0.5, 2.0],
        [0.5, 0.0, 3.0, 0.0, 1.1],
        [1.0, 2.0, 0.7, 1.1, 0.0],
    ]);
    for dim in [0, 1] {
        let zeros = [special.clone()];
        check_layouts("cumprod of zeros", &zeros, &["expanded"], &|x| {
            x[0].cumprod(dim)
        });
    }
}

fn views() {
    check("narrow", &[&[3, 4]], |x| x[0].narrow(1, 1..3));
    check("flip", &[&[2, 3, 4]], |x| x[0].flip([0, -1]));
    check("slice", &[&[5, 4]], |x| {
        x[0].slice(0, 1.., 2)?.slice(1, ..-1, 3)
    });
    check("slice of nothing", &[&[3, 4]], |x| x[0].slice(0, 7.., 2));
    check("select", &[&[3, 4]], |x| x[0].select(0, -1));
    check("select", &[&[2, 0, 3]], |x| x[0].select(2, 1));
    check("unbind", &[&[3, 2]], |x| {
        let parts = x[0].unbind(0)?;
        parts[0].mul(&parts[2])
    });
    for offset in [-1, 0, 2, 9] {
        check("diagonal", &[&[3, 4]], |x| x[0].diagonal(offset, 0, 1));
        check("diagonal", &[&[3, 2, 4]], |x| x[0].diagonal(offset, -1, 0));
    }
    for (size, step) in [(2, 1), (3, 2), (1, 3), (5, 1), (0, 2)] {
        check("unfold", &[&[2, 5, 2]], |x| x[0].unfold(1, size, step));
    }
    check("unfold twice", &[&[4, 4]], |x| {
        x[0].unfold(0, 3, 1)?.unfold(1, 2, 1)
    });
    check("view", &[&[2, 6]], |x| x[0].contiguous()?.view([3, -1]));
    check("unflatten", &[&[2, 6]], |x| x[0].unflatten(-1, [3, 2]));
    check("movedim", &[&[2, 3, 4]], |x| x[0].movedim([0, 2], [1, 0]));
    check("index", &[&[3, 2, 4]], |x| {
        x[0].i((IndexItem::every(2, ..), IndexItem::NewAxis, -1, 1..))
    });
}

fn pads() {
    let zeros = PadMode::default();
    for amounts in [&[1_isize, 2][..], &[-1, 2, 0, 1], &[0, 0, -1, -1], &[]] {
        check("pad", &[&[2, 3, 4]], |x| x[0].pad(amounts, zeros));
    }
    check("pad of nothing", &[&[0, 2]], |x| {
        x[0].pad([1, 0, 2, 0], zeros)
    });
    for mode in [PadMode::Reflect, PadMode::Replicate, PadMode::Circular] {
        for amounts in [&[1_isize, 2][..], &[0, 2, 1, 1], &[3, 0, 0, 2, 1, 0]] {
            check("pad", &[&[2, 3, 4]], |x| x[0].pad(amounts, mode));
        }
    }
}

fn by_index() {
    let list = Tensor::from([2_i64, 0, 2]);
    check("index_select", &[&[2, 3]], |x| x[0].index_select(-1, &list));
    check("index_add", &[&[2, 3], &[2, 3]], |x| {
        x[0].index_add(1, &list, &x[1])
    });
    let positions = Tensor::from([[0_i64, 2, 2], [1, 0, 1]]);
    check("gather", &[&[3, 4]], |x| x[0].gather(0, &positions));
    check("scatter_add", &[&[3, 4], &[2, 3]], |x| {
        x[0].scatter_add(0, &positions, &x[1])
    });
    let index = Tensor::from([[0_i64, 2, 1], [1, 0, 2]]);
    check("scatter", &[&[3, 4], &[2, 3]], |x| {
        x[0].scatter(0, &index, &x[1])
    });
    check("scatter", &[&[3, 4]], |x| x[0].scatter(1, &index, 1.5));
    check("take_along_dim", &[&[1, 4]], |x| {
        x[0].take_along_dim(&index, 1)
    });
    // A padding row is left out of the gradient on purpose, so that differences do not see it.
    check("embedding", &[&[3, 4]], |x| x[0].embedding(&index, None));
    let nothing = Tensor::zeros([2, 0], DType::I64).unwrap();
    check("embedding of nothing", &[&[3, 4]], |x| {
        x[0].embedding(&nothing, Some(0))
    });
}

fn orders() {
    let x = [numbers([3, 4, 2], 1)];
    type Order = (&'static str, fn(&Tensor, isize) -> Result<Tensor>);
    let orders: [Order; 8] = [
        ("sort", |x, dim| Ok(x.sort(dim)?.0)),
        ("sort_descending", |x, dim| Ok(x.sort_descending(dim)?.0)),
        ("topk", |x, dim| Ok(x.topk(2, dim)?.0)),
        ("topk_smallest", |x, dim| Ok(x.topk_smallest(2, dim)?.0)),
        ("kthvalue", |x, dim| Ok(x.kthvalue(2, dim)?.0)),
        ("kthvalue_keepdim", |x, dim| {
            Ok(x.kthvalue_keepdim(2, dim)?.0)
        }),
        ("median", |x, dim| Ok(x.median(dim)?.0)),
        ("median_keepdim", |x, dim| Ok(x.median_keepdim(dim)?.0)),
    ];
    for (name, order) in orders {
        for dim in [0, 1, -1] {
            check_layouts(name, &x, &["expanded"], &|x| order(&x[0], dim));
        }
    }
}

fn sums_of_products() {
    for (equation, shapes) in [
        ("ij,jk->ik", &[&[2, 3][..], &[3, 2]][..]),
        ("bij,bkj->bki", &[&[2, 2, 3], &[2, 2, 3]]),
        ("...ij,jk->...k", &[&[2, 2, 3], &[3, 2]]),
        ("i,j->ji", &[&[2], &[3]]),
        ("ij,ij->", &[&[2, 3], &[2, 3]]),
        ("ii->i", &[&[3, 3]]),
        ("ij,ik->jk", &[&[1, 2], &[3, 2]]),
        ("ij,jk,kl->il", &[&[2, 3], &[3, 2], &[2, 2]]),
    ] {
        check(equation, shapes, |x| {
            Tensor::einsum(equation, &x.iter().collect::<Vec<_>>())
        });
    }
}

#[test]
fn a_view_is_no_copy() {
    let x = numbers([4, 6], 0);
    let views = [
        x.slice(1, 1.., 2),
        x.select(0, 1),
        x.diagonal(1, 0, 1),
        x.unfold(1, 3, 2),
        x.view([3, 8]),
        x.unflatten(1, [2, 3]),
        x.movedim(0, 1),
        x.i((1.., IndexItem::NewAxis, -1)),
    ];
    for (i, view) in views.into_iter().enumerate() {
        assert!(view.unwrap().shares_memory_with(&x), "{i}");
    }
    let parts = x.unbind(1).unwrap();
    assert!(parts.iter().all(|part| part.shares_memory_with(&x)));
    // The error for an invalid view says what to do.
    let message = x.t().unwrap().view([-1]).unwrap_err().to_string();
    assert_eq!(
        message,
        "view: shape = [24]: is not a view of shape [6, 4] with strides [1, 6]; use `reshape`, which copies"
    );
    let message = x.slice(0, .., -1).unwrap_err().to_string();
    assert_eq!(
        message,
        "slice: step = -1: must be positive; reverse the order with `flip`"
    );
}

#[test]
fn errors_quote_the_request() {
    let x = numbers([2, 3], 0);
    let message = |result: Result<Tensor>| result.unwrap_err().to_string();
    assert_eq!(
        message(x.i((.., 0, IndexItem::between(2, -1)))),
        "index: index = [:, 0, 2:-1]: has 3 indices, more than the dimensions of shape [2, 3]"
    );
    assert_eq!(
        message(x.i((IndexItem::Ellipsis, IndexItem::Ellipsis))),
        "index: index = [..., ...]: has more than one ellipsis"
    );
    assert_eq!(
        message(x.i((0, 3))),
        "select: index 3 is out of range for size 3"
    );
    assert_eq!(
        message(x.pad([4, 0], PadMode::Reflect)),
        "pad: pad = [4, 0]: asks for 4 in dimension 1 of size 3, which has at most 2 to put there"
    );
    for (equation, problem) in [
        ("ij,jk", "is for 2 operand(s), got 1"),
        ("ijk", "has 3 letter(s) for operand 0 of shape [2, 3]"),
        (
            "ii",
            "repeats `i` for different sizes of operand 0 of shape [2, 3]",
        ),
        ("ij->ik", "has `k` in the output only"),
        ("ij->ii", "has `i` twice in the output"),
        ("i1", "`1` in `i1` is not a letter"),
        ("i.j", "`.` in `i.j` is not a letter"),
        ("......", "`......` has more than one ellipsis"),
        ("ij->i->j", "`-` in `i->j` is not a letter"),
    ] {
        assert_eq!(
            message(Tensor::einsum(equation, &[&x])),
            format!("einsum: equation = \"{equation}\": {problem}")
        );
    }
    assert_eq!(
        message(Tensor::einsum("ij,jk", &[&x, &x])),
        "einsum: equation = \"ij,jk\": gives `j` the sizes 3 and 2"
    );
}

#[test]
fn a_gradient_may_begin_anywhere_in_its_memory() {
    let x = numbers([2, 3], 0).with_grad().unwrap();
    let y = x.pad([1, 0, 1, 0], PadMode::default()).unwrap();
    let grad = numbers([4, 4], 1).narrow(0, 1..4).unwrap();
    y.backward_with(&grad, BackwardOptions::default()).unwrap();
    let expected = grad.i((1.., 1..)).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(x.grad().unwrap().to_vec::<f64>().unwrap(), expected);
}

/// Among equal elements the first come first, even if only some are selected.
#[test]
fn equal_elements_keep_their_order() {
    let x = Tensor::from([2.0_f32, f32::NAN, 2.0, -0.0, f32::NAN, 0.0, 2.0]);
    let positions = |x: Result<(Tensor, Tensor)>| x.unwrap().1.to_vec::<i64>().unwrap();
    assert_eq!(positions(x.sort_descending(0)), [1, 4, 0, 2, 6, 3, 5]);
    assert_eq!(positions(x.sort(0)), [3, 5, 0, 2, 6, 1, 4]);
    assert_eq!(positions(x.topk(4, 0)), [1, 4, 0, 2]);
    assert_eq!(positions(x.topk_smallest(1, 0)), [3]);
    // Unsorted, they are still the same elements.
    let mut some = positions(x.topk(4, 0));
    some.sort_unstable();
    assert_eq!(some, [0, 1, 2, 4]);
    let wide = x.to_dtype(DType::F64).unwrap();
    assert_eq!(positions(wide.sort_descending(0)), [1, 4, 0, 2, 6, 3, 5]);
}
