//! Lower SIMD levels, which an environment variable selects.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use module_nn::prelude::*;

const CHILD: &str = "CPU_CAPABILITY_CHILD";

/// The output of this test when it runs with the variable.
fn child(variable: &str) -> Output {
    let test = "cpu_capability::the_variable_lowers_the_instructions_and_a_wrong_name_is_reported";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command
        .env(CHILD, "1")
        .env("MODULE_CPU_CAPABILITY", variable);
    command.output().unwrap()
}

#[test]
fn the_variable_lowers_the_instructions_and_a_wrong_name_is_reported() {
    if std::env::var_os(CHILD).is_some() {
        let x = fork_rng(1, || Tensor::randn([33, 65], DType::F32)).unwrap();
        let bits = x.exp().unwrap().to_vec::<f32>().unwrap();
        let sum = bits
            .iter()
            .fold(0_u32, |sum, v| sum.rotate_left(1) ^ v.to_bits());
        println!("capability {} {sum:x}", module_nn::cpu_capability());
        return;
    }
    let line = |variable: &str| {
        let output = child(variable);
        let (out, err) = (output.stdout, output.stderr);
        let [out, err] = [out, err].map(|text| String::from_utf8(text).unwrap());
        let line = out
            .lines()
            .find(|line| line.contains("capability "))
            .unwrap();
        let mut words = line.split_once("capability ").unwrap().1.split(' ');
        let mut word = || words.next().unwrap().to_owned();
        (word(), word(), err)
    };
    let (name, bits, errors) = line("default");
    assert_eq!((&*name, &*errors), ("default", ""));
    // Elementwise operations have the same bits at every level.
    let (highest, same, errors) = line("avx3");
    assert_eq!(same, bits);
    let expected = format!("`default`; `{highest}` is used");
    assert!(
        errors.starts_with("MODULE_CPU_CAPABILITY=avx3 is not one of `"),
        "{errors}"
    );
    assert!(errors.trim_end().ends_with(&expected), "{errors}");
}
