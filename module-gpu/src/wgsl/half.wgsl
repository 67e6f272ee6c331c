// Half precision, bit by bit: what WGSL's own conversions do with small numbers and how they round is up to the driver.

fn f16_in(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let rest = bits & 0x7fffu;
    if rest >= 0x7c00u {
        return bitcast<f32>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13u));
    }
    if rest < 0x400u {
        return bitcast<f32>(sign | bitcast<u32>(f32(rest) * 5.9604644775390625e-8));
    }
    return bitcast<f32>(sign | ((rest << 13u) + 0x38000000u));
}

// Rounds to the nearest, ties to even.
fn f16_out(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let sign = (bits >> 16u) & 0x8000u;
    let rest = bits & 0x7fffffffu;
    if rest > 0x7f800000u {
        return sign | 0x7e00u;
    }
    if rest >= 0x477ff000u {
        return sign | 0x7c00u;
    }
    if rest >= 0x38800000u {
        return sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13u) & 1u)) >> 13u);
    }
    if rest < 0x33000000u {
        return sign;
    }
    let shift = 126u - (rest >> 23u);
    let whole = (rest & 0x7fffffu) | 0x800000u;
    let kept = whole >> shift;
    let left = whole & ((1u << shift) - 1u);
    let half = 1u << (shift - 1u);
    let up = left > half || (left == half && (kept & 1u) == 1u);
    return sign | select(kept, kept + 1u, up);
}

fn bf16_out(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    if (bits & 0x7fffffffu) > 0x7f800000u {
        return ((bits >> 16u) & 0x8000u) | 0x7fc0u;
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
