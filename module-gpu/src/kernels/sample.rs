//! Images sampled between pixels, at locations given by tensors.

use module_tensor::Result;
use module_tensor::backend::{Operand, Outside, SampleGeometry, SampleOp, Storage};

use crate::gpu::{Gpu, word};
use crate::map::{FIRST, Map};

const NAME: &str = "sample";

/// For the gradient of an image, each pixel looks at every neighbor of every location; beyond this many looks, the CPU
/// computes it.
const LOOKS: usize = 1 << 32;

/// The parameters before the sizes of the image: channels, locations, neighbors in a dimension and of a location, the first
/// neighbor, and the pixels.
const SIZES: usize = FIRST + 6;

/// A function `place(n, tap, l)`: the pixel that is this neighbor of location `l` of image `n`, or -1; the locations are read
/// by `c`.
fn places(outside: Outside, rank: usize, taps: usize) -> String {
    let turned = match outside {
        Outside::Zero => "    return -1;",
        Outside::Border => "    return select(size - 1, 0, at < 0);",
        Outside::Reflection {
            align_corners: true,
        } => {
            "    let turn = 2 * (size - 1);
    if turn == 0 { return 0; }
    let within = ((at % turn) + turn) % turn;
    return select(turn - within, within, within < size);"
        }
        Outside::Reflection {
            align_corners: false,
        } => {
            "    let turn = 2 * size;
    let within = ((at % turn) + turn) % turn;
    return select(turn - 1 - within, within, within < size);"
        }
    };
    let mut steps = String::new();
    for dim in 0..rank {
        let later = taps.pow((rank - 1 - dim) as u32);
        let size = SIZES + dim;
        steps.push_str(&format!(
            "    let far{dim} = c((n * {rank}u + {dim}u) * $3 + l);
    let step{dim} = i32(tap / {later}u % $4) + $i6;
    let at{dim} = inside(whole(far{dim}) + step{dim}, $i{size});
    if at{dim} < 0 {{ return -1; }}
    index = index * $i{size} + at{dim};\n"
        ));
    }
    format!(
        "fn whole(x: f32) -> i32 {{
    if is_nan(x) {{ return 0; }}
    return i32(floor(clamp(x, -1.0e9, 1.0e9)));
}}
fn inside(at: i32, size: i32) -> i32 {{
    if at >= 0 && at < size {{ return at; }}
{turned}
}}
fn place(n: u32, tap: u32, l: u32) -> i32 {{
    var index = 0;
{steps}    return index;
}}
"
    )
}

/// The sum of the elements that are read.
fn element(op: SampleOp) -> &'static str {
    match op {
        SampleOp::Forward => {
            "fn element(i: u32) -> f32 {
    let l = i % $3;
    let plane = i / $3;
    let n = plane / $2;
    var sum = 0.0;
    for (var tap = 0u; tap < $5; tap++) {
        let at = place(n, tap, l);
        // Nothing is read outside, even with weight 0.
        if at >= 0 { sum += b((n * $5 + tap) * $3 + l) * a(plane * $7 + u32(at)); }
    }
    return sum;
}
"
        }
        SampleOp::Input => {
            "fn element(i: u32) -> f32 {
    let own = i32(i % $7);
    let plane = i / $7;
    let n = plane / $2;
    var sum = 0.0;
    for (var tap = 0u; tap < $5; tap++) {
        for (var l = 0u; l < $3; l++) {
            if place(n, tap, l) == own { sum += b((n * $5 + tap) * $3 + l) * a(plane * $3 + l); }
        }
    }
    return sum;
}
"
        }
        SampleOp::Weight => {
            "fn element(i: u32) -> f32 {
    let l = i % $3;
    let tap = i / $3 % $5;
    let n = i / ($3 * $5);
    let at = place(n, tap, l);
    var sum = 0.0;
    if at >= 0 {
        for (var channel = 0u; channel < $2; channel++) {
            let plane = n * $2 + channel;
            sum += a(plane * $7 + u32(at)) * b(plane * $3 + l);
        }
    }
    return sum;
}
"
        }
    }
}

impl Gpu {
    pub(crate) fn sample_images(
        &self,
        op: SampleOp,
        [a, b, locations]: [Operand; 3],
        geometry: &SampleGeometry,
    ) -> Result<Storage> {
        let (planes, count) = (geometry.batch * geometry.channels, geometry.locations);
        let (inner, taps) = (geometry.inner(), geometry.all_taps());
        let numel = match op {
            SampleOp::Forward => planes * count,
            SampleOp::Input => planes * inner,
            SampleOp::Weight => geometry.batch * taps * count,
        };
        let looks = numel.saturating_mul(taps * count);
        let is_dear = op == SampleOp::Input && looks > LOOKS;
        let elems = [&a, &b, &locations].map(|x| self.computes_in_f32(x));
        let ([Some(of_a), Some(of_b), Some(of_locations)], false) = (elems, is_dear) else {
            return self.through_host(NAME, [a, b, locations], numel, |cpu, [a, b, locations]| {
                cpu.sample(op, a, b, locations, geometry)
            });
        };
        let (a, b) = (self.in_order(NAME, a)?, self.in_order(NAME, b)?);
        let locations = self.in_order(NAME, locations)?;
        let mut parameters = vec![
            word(NAME, geometry.channels)?,
            word(NAME, count)?,
            word(NAME, geometry.taps)?,
            word(NAME, taps)?,
            geometry.first as u32,
            word(NAME, inner)?,
        ];
        for &size in &geometry.sizes {
            parameters.push(word(NAME, size)?);
        }
        let (outside, rank) = (geometry.outside, geometry.sizes.len());
        self.map(Map {
            op: NAME,
            key: format!("{NAME} {op:?} {outside:?} {rank} {}", geometry.taps),
            reads: &[
                (self.data(NAME, &a)?, of_a),
                (self.data(NAME, &b)?, of_b),
                (self.data(NAME, &locations)?, of_locations),
            ],
            out: of_a,
            dtype: a.storage.dtype(),
            numel,
            parameters,
            index_size: None,
            code: &|| places(outside, rank, geometry.taps) + element(op),
        })
    }
}
