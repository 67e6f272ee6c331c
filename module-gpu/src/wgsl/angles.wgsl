// Functions of angles and their inverses.

// The 64 bits of a product.
fn product_of(x: u32, y: u32) -> vec2<u32> {
    let low = (x & 0xffffu) * (y & 0xffffu);
    let first = (x >> 16u) * (y & 0xffffu) + (low >> 16u);
    let second = (x & 0xffffu) * (y >> 16u) + (first & 0xffffu);
    return vec2<u32>((x >> 16u) * (y >> 16u) + (first >> 16u) + (second >> 16u), (second << 16u) | (low & 0xffffu));
}

// The bits of 2/π after the point.
fn bits_of_2_over_pi(word: u32) -> u32 {
    var all = array<u32, 8>(
        0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u
    );
    return all[word];
}

// 32 bits of 2/π from a place on.
fn bits_from(place: u32) -> u32 {
    let word = place / 32u;
    let shift = place % 32u;
    if shift == 0u { return bits_of_2_over_pi(word); }
    return (bits_of_2_over_pi(word) << shift) | (bits_of_2_over_pi(word + 1u) >> (32u - shift));
}

// The same for a large positive number: x times 2/π, of which bits that make whole turns are left out.
fn reduced_large_angle(x: f32) -> vec2<f32> {
    let bits = bitcast<u32>(x);
    let m = (bits & 0x7fffffu) | 0x800000u;
    let e = i32(bits >> 23u) - 150;
    let skipped = max(e - 2, 0);
    let p1 = product_of(m, bits_from(u32(skipped)));
    let p2 = product_of(m, bits_from(u32(skipped) + 32u));
    let p3 = product_of(m, bits_from(u32(skipped) + 64u));
    // The whole part and 96 bits after the point.
    let w2 = p2.y + p3.x;
    let carry2 = select(0u, 1u, w2 < p2.y);
    let w1 = p1.y + p2.x + carry2;
    let carry1 = select(0u, 1u, w1 < p1.y || (carry2 == 1u && w1 == p1.y));
    let w0 = p1.x + carry1;
    let r = e - skipped;
    var k = 0u;
    var high = 0u;
    var low = 0u;
    if r > 0 {
        let s = u32(r);
        k = (w0 << s) | (w1 >> (32u - s));
        high = (w1 << s) | (w2 >> (32u - s));
        low = w2 << s;
    } else if r == 0 {
        k = w0;
        high = w1;
        low = w2;
    } else {
        let s = u32(-r);
        k = w0 >> s;
        high = (w0 << (32u - s)) | (w1 >> s);
        low = (w1 << (32u - s)) | (w2 >> s);
    }
    if high >= 0x80000000u { k = k + 1u; }
    let part = f32(bitcast<i32>(high)) * 2.3283064365386963e-10 + f32(low) * 5.421010862427522e-20;
    return vec2<f32>(part * 1.5707963267948966, f32(k & 3u));
}

// The angle less a multiple of π/2, and that multiple.
fn reduced_angle(x: f32) -> vec2<f32> {
    if abs(x) > 4096.0 {
        let large = reduced_large_angle(abs(x));
        return select(large, vec2<f32>(-large.x, 4.0 - large.y), x < 0.0);
    }
    let k = floor(x * 0.6366197723675814 + 0.5);
    let r = ((x - k * 1.5703125) - k * 0.00048351287841796875) - k * 3.1385570764541626e-07;
    return vec2<f32>(r - k * 6.07709993438732e-11, k);
}

fn sin_small(r: f32) -> f32 {
    let z = r * r;
    return r + r * z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * (-1.0 / 5040.0 + z * (1.0 / 362880.0))));
}

fn cos_small(r: f32) -> f32 {
    let z = r * r;
    return 1.0 - 0.5 * z + z * z * (1.0 / 24.0 + z * (-1.0 / 720.0 + z * (1.0 / 40320.0 - z * (1.0 / 3628800.0))));
}

fn sin_(x: f32) -> f32 {
    if is_zero(x) { return x; }
    if is_nan(x) || is_inf(x) { return nan(); }
    let r = reduced_angle(x);
    let quarter = i32(r.y) & 3;
    let value = select(sin_small(r.x), cos_small(r.x), (quarter & 1) == 1);
    return select(value, -value, quarter >= 2);
}

fn cos_(x: f32) -> f32 {
    if is_nan(x) || is_inf(x) { return nan(); }
    let r = reduced_angle(x);
    let quarter = i32(r.y) & 3;
    let value = select(cos_small(r.x), sin_small(r.x), (quarter & 1) == 1);
    return select(value, -value, quarter == 1 || quarter == 2);
}

fn tan_(x: f32) -> f32 {
    if is_zero(x) { return x; }
    if is_nan(x) || is_inf(x) { return nan(); }
    let r = reduced_angle(x);
    let s = sin_small(r.x);
    let c = cos_small(r.x);
    return select(s / c, -c / s, (i32(r.y) & 1) == 1);
}

// The arctangent of a number from 0 to 1.
fn atan_up_to_1(x: f32) -> f32 {
    let turned = x > 0.41421356;
    let v = select(x, (x - 1.0) / (x + 1.0), turned);
    let z = v * v;
    let high = -0.142396284 + z * (0.105704579 + z * -0.0602775474);
    let value = v * (0.999999999 + z * (-0.33333307 + z * (0.19998189 + z * high)));
    return select(value, value + 0.7853981633974483, turned);
}

fn atan_(x: f32) -> f32 {
    if is_nan(x) { return x; }
    let v = abs(x);
    if v <= 1.0 { return with_sign(atan_up_to_1(v), x); }
    return with_sign(1.5707963267948966 - atan_up_to_1(1.0 / v), x);
}

fn atan2_(y: f32, x: f32) -> f32 {
    if is_nan(x) || is_nan(y) { return nan(); }
    let a = abs(x);
    let b = abs(y);
    var angle = 0.0;
    if is_inf(x) && is_inf(y) {
        angle = 0.7853981633974483;
    } else if b == 0.0 {
        angle = 0.0;
    } else if b <= a {
        angle = atan_up_to_1(b / a);
    } else {
        angle = 1.5707963267948966 - atan_up_to_1(a / b);
    }
    if is_negative(x) { angle = 3.141592653589793 - angle; }
    return with_sign(angle, y);
}

fn asin_(x: f32) -> f32 {
    if is_nan(x) || abs(x) > 1.0 { return nan(); }
    return atan2_(x, sqrt((1.0 - x) * (1.0 + x)));
}

fn acos_(x: f32) -> f32 {
    if is_nan(x) || abs(x) > 1.0 { return nan(); }
    return atan2_(sqrt((1.0 - x) * (1.0 + x)), x);
}
