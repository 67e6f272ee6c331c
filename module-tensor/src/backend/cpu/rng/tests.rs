mod refused;

use std::str::{FromStr, SplitWhitespace};

use half::{bf16, f16};

use crate::DType;

use super::fused::{fused_by_f64, fused_f32};
use super::{CpuGenerator, GeneratorState, RandomFloat, RandomInteger, RngError, STATE_BYTES};

/// Written by `tests/golden/generate_rng.py`, which describes the format.
const DRAWS: &str = include_str!("testdata/draws.txt");
const STATE: &[u8] = include_bytes!("testdata/state.bin");

/// Whether the platform's `log`, `log1p`, `sin` and `cos` are those that PyTorch had when the draws
/// were recorded. Elsewhere the draws that call them are compared by value.
const SAME_LIBRARY: bool = cfg!(all(
    target_os = "linux",
    target_env = "gnu",
    target_arch = "x86_64"
));

/// The 64-bit FNV-1a checksum.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |value, byte| {
            (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

/// What a draw gave: every element's bits, and their width.
struct Drawn {
    words: Vec<u64>,
    bytes: usize,
}

impl Drawn {
    fn checksum(&self) -> u64 {
        fnv(self
            .words
            .iter()
            .flat_map(|word| word.to_le_bytes().into_iter().take(self.bytes)))
    }
}

trait Bits: Copy + Default {
    const BYTES: usize;
    fn word(self) -> u64;
}

macro_rules! bits {
    ($($type:ty, $bytes:literal, $value:ident => $word:expr;)*) => {$(
        impl Bits for $type {
            const BYTES: usize = $bytes;
            fn word(self) -> u64 {
                let $value = self;
                $word
            }
        }
    )*};
}

bits! {
    f32, 4, x => u64::from(x.to_bits());
    f64, 8, x => x.to_bits();
    f16, 2, x => u64::from(x.to_bits());
    bf16, 2, x => u64::from(x.to_bits());
    i64, 8, x => x as u64;
    i32, 4, x => u64::from(x as u32);
    u8, 1, x => u64::from(x);
    bool, 1, x => u64::from(x);
}

fn drawn<T: Bits>(values: &[T]) -> Drawn {
    Drawn {
        words: values.iter().map(|value| value.word()).collect(),
        bytes: T::BYTES,
    }
}

/// The arguments of a recorded draw.
struct Call<'a> {
    name: &'a str,
    dtype: &'a str,
    n: usize,
    rest: SplitWhitespace<'a>,
}

impl<'a> Call<'a> {
    fn parse(text: &'a str) -> Self {
        let mut rest = text.split_whitespace();
        Self {
            name: rest.next().unwrap(),
            dtype: rest.next().unwrap(),
            n: rest.next().unwrap().parse().unwrap(),
            rest,
        }
    }

    fn next<T: FromStr<Err: std::fmt::Debug>>(&mut self) -> T {
        self.rest.next().unwrap().parse().unwrap()
    }

    /// Whether the draw calls functions of the platform's library.
    fn leans_on_library(&self) -> bool {
        match self.name {
            "normal" => self.dtype == "f64" || self.n < 16,
            "exponential" | "trunc_normal" => true,
            _ => false,
        }
    }

    fn run(&mut self, generator: &mut CpuGenerator) -> Drawn {
        match self.dtype {
            "f32" => self.run_float::<f32>(generator),
            "f64" => self.run_float::<f64>(generator),
            "f16" => self.run_float::<f16>(generator),
            "bf16" => self.run_float::<bf16>(generator),
            "i64" if self.name == "randperm" => drawn(&generator.randperm(self.n).unwrap()),
            "i64" => self.run_integer::<i64>(generator),
            "i32" => self.run_integer::<i32>(generator),
            "u8" => self.run_integer::<u8>(generator),
            "bool" => self.run_integer::<bool>(generator),
            other => panic!("unknown dtype {other}"),
        }
    }

    fn run_float<T: RandomFloat + Bits>(&mut self, generator: &mut CpuGenerator) -> Drawn {
        let mut out = vec![T::default(); self.n];
        match self.name {
            "uniform" => generator.fill_uniform(&mut out, self.next(), self.next()),
            "normal" => generator.fill_normal(&mut out, self.next(), self.next()),
            "exponential" => generator.fill_exponential(&mut out, self.next()),
            "trunc_normal" => {
                let [mean, std, low, high] = std::array::from_fn(|_| self.next());
                generator.fill_trunc_normal(&mut out, mean, std, low, high)
            }
            "bernoulli" => generator.fill_bernoulli(&mut out, self.next()),
            "dropout" => generator.fill_dropout(&mut out, self.next()),
            "probabilities" => {
                for (i, slot) in out.iter_mut().enumerate() {
                    *slot = T::from_f64(i as f64 / self.n as f64);
                }
                generator.replace_by_bernoulli(&mut out)
            }
            other => panic!("unknown draw {other}"),
        }
        .unwrap();
        drawn(&out)
    }

    fn run_integer<T: RandomInteger + Bits>(&mut self, generator: &mut CpuGenerator) -> Drawn {
        let mut out = vec![T::default(); self.n];
        match self.name {
            "randint" => generator
                .fill_randint(&mut out, self.next(), self.next())
                .unwrap(),
            "random" => generator.fill_random(&mut out),
            "mask" => {
                let mut mask = vec![false; self.n];
                generator.fill_mask(&mut mask, self.next()).unwrap();
                return drawn(&mask);
            }
            other => panic!("unknown draw {other}"),
        }
        drawn(&out)
    }
}

/// The value of an element's bits, to compare it by value.
fn value(dtype: &str, word: u64) -> f64 {
    match dtype {
        "f32" => f64::from(f32::from_bits(word as u32)),
        "f16" => f16::from_bits(word as u16).to_f64(),
        "bf16" => bf16::from_bits(word as u16).to_f64(),
        _ => f64::from_bits(word),
    }
}

#[test]
fn draws_are_those_of_pytorch() {
    let mut generator = CpuGenerator::new(0);
    let mut exact = true;
    let (mut checked, mut failures) = (0, Vec::new());
    for line in DRAWS.lines() {
        if let Some(seed) = line.strip_prefix("seed ") {
            generator = CpuGenerator::new(seed.parse().unwrap());
            exact = true;
            continue;
        }
        if line == "restore" {
            generator = CpuGenerator::from_bytes(STATE).unwrap();
            exact = true;
            continue;
        }
        let (call, expected) = line.split_once(" : ").unwrap();
        let mut call = Call::parse(call);
        // A spare normal stays in the state, so that the whole stream leans on the library from here.
        exact &= SAME_LIBRARY || !call.leans_on_library();
        let found = call.run(&mut generator);
        let mut expected = expected.split(' ');
        let mut next = || u64::from_str_radix(expected.next().unwrap(), 16).unwrap();
        let (checksum, state) = (next(), next());
        if exact {
            if found.checksum() != checksum || fnv(generator.to_bytes()) != state {
                failures.push(line);
            }
        } else if call.leans_on_library() {
            let first_and_last = [found.words.first(), found.words.last()];
            for &word in first_and_last.into_iter().take(found.words.len()).flatten() {
                let (a, b) = (value(call.dtype, word), value(call.dtype, next()));
                if (a - b).abs() > 1e-12 + 0.01 * b.abs() {
                    failures.push(line);
                }
            }
        }
        checked += 1;
    }
    assert!(
        failures.is_empty(),
        "{} differ: {failures:#?}",
        failures.len()
    );
    assert!(checked > 1000, "only {checked} draws were recorded");
}

fn words(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Literal words, so that a fault in reading the recorded draws cannot hide one in the generator.
#[test]
fn seed_zero() {
    let mut uniform = [0.0_f32; 4];
    CpuGenerator::new(0)
        .fill_uniform(&mut uniform, -0.5, 0.5)
        .unwrap();
    assert_eq!(
        words(&uniform),
        [3145028608, 1049187422, 3201479446, 3200018048]
    );

    let mut normal = [0.0_f32; 4];
    CpuGenerator::new(0)
        .fill_normal(&mut normal, 0.0, 1.0)
        .unwrap();
    assert_eq!(
        words(&normal),
        [1069891420, 3197516880, 3221975369, 1058112694]
    );

    // Linear(3, 2): both bounds are 1 / sqrt(3).
    let mut generator = CpuGenerator::new(0);
    let bound = 3.0_f64.sqrt() * ((2.0_f64 / 6.0).sqrt() / 3.0_f64.sqrt());
    let mut weight = [0.0_f32; 6];
    generator.fill_uniform(&mut weight, -bound, bound).unwrap();
    let bound = 1.0 / 3.0_f64.sqrt();
    let mut bias = [0.0_f32; 2];
    generator.fill_uniform(&mut bias, -bound, bound).unwrap();
    assert_eq!(
        words(&weight),
        [
            3146621928, 1050579731, 3203615614, 3201928137, 3194205361, 1042188627
        ]
    );
    assert_eq!(words(&bias), [3158010688, 1055547770]);

    assert_eq!(
        CpuGenerator::new(0).randperm(10).unwrap(),
        [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]
    );
}

#[test]
fn state_bytes_round_trip() {
    let state = GeneratorState::from_bytes(STATE).unwrap();
    assert_eq!(state.seed, (1 << 40) + 3);
    assert!(state.spare_normal.is_some());
    assert_eq!(state.to_bytes(), STATE);
    assert_eq!(CpuGenerator::from_bytes(STATE).unwrap().to_bytes(), STATE);
    assert_eq!(STATE.len(), STATE_BYTES);

    let mut generator = CpuGenerator::from_bytes(STATE).unwrap();
    let copy = generator.clone();
    generator.next_u64();
    assert_ne!(generator, copy);
    generator.set_state(&copy.state()).unwrap();
    assert_eq!(generator, copy);
}

/// Both ways to fuse give the same, so that the build's target does not matter.
/// Skipping goes as far as drawing does, also with a spare normal in hand.
#[test]
fn skipped_draws_are_counted() {
    fn same<T: RandomFloat + Default>(dtype: DType) {
        for n in [0, 1, 2, 7, 15, 16, 17, 31, 32, 623, 624, 625, 3000] {
            for spare in [false, true] {
                let mut drawn = CpuGenerator::new(3);
                if spare {
                    drawn.next_normal();
                }
                let mut skipped = drawn.clone();
                let mut values = vec![T::default(); n];
                drawn.fill_uniform(&mut values, 0.0, 1.0).unwrap();
                skipped.skip_uniform(n, dtype);
                drawn.fill_normal(&mut values, 0.0, 1.0).unwrap();
                skipped.skip_normal(n, dtype);
                assert_eq!(drawn, skipped, "{n} of {dtype}");
                assert_eq!(drawn.next_u32(), skipped.next_u32());
            }
        }
    }
    same::<f32>(DType::F32);
    same::<f64>(DType::F64);
    same::<f16>(DType::F16);
    same::<bf16>(DType::BF16);
}

#[test]
fn fused_is_rounded_once() {
    let mut generator = CpuGenerator::new(12);
    let special = [
        0.0,
        -0.0,
        1.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::MAX,
        -f32::MAX,
        f32::INFINITY,
        f32::NAN,
        1.0 + f32::EPSILON,
        f32::EPSILON / 2.0,
        -f32::EPSILON / 4.0,
    ];
    let check = |a: f32, b: f32, c: f32| {
        let expected = a.mul_add(b, c);
        for found in [fused_by_f64(a, b, c), fused_f32::<true>(a, b, c)] {
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "{a:e} * {b:e} + {c:e} = {found:e}, not {expected:e}");
        }
    };
    for a in special {
        for b in special {
            for c in special {
                check(a, b, c);
            }
        }
    }
    // A sum that `f64` rounds to the middle between two `f32`, having lost the little that decides.
    for i in 1..600 {
        let i = i as f32 * f32::EPSILON;
        let (a, b) = (1.0 + i, (1.0 - i) * f32::EPSILON / 2.0);
        for c in [1.0, 1.0 + f32::EPSILON] {
            for (a, c) in [(a, c), (a, -c), (-a, c), (-a, -c)] {
                check(a, b, c);
            }
        }
    }
    for _ in 0..200_000 {
        let [a, b, c] = std::array::from_fn(|_| generator.next_u32());
        check(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        // Exponents close to each other, where the roundings meet; short mantissas make ties.
        let near = |bits: u32| f32::from_bits(bits & 0x80ff_f001 | 0x3f00_0000);
        check(near(a), near(b), near(c));
        check(near(a), near(b), near(c) * f32::EPSILON);
        check(near(a), near(b) * f32::EPSILON, near(c));
    }
}
