//! Adapters and bases in half precision.

use super::*;

#[test]
fn adapters_in_half_precision_on_a_base_in_single_and_of_four_bits() {
    let (_, recorded) = golden::load("lora_more.safetensors");
    for name in ["narrow", "nf4"] {
        let tensor = |key: &str| recorded.get(&format!("{name}/{key}")).unwrap();
        let mut net = Sequential::new()
            .push(Linear::new(64, 16).unwrap())
            .push(Tanh::new())
            .push(Linear::new(16, 4).unwrap());
        for (key, parameter) in net.named_parameters() {
            let value = tensor(&format!("base/{key}")).clone();
            parameter.set(value).unwrap();
        }
        if name == "nf4" {
            quantize(&net, "0.weight", Scheme::NF4).unwrap();
        }
        let config = LoraConfig::new().r(2).lora_alpha(5);
        lora::add_adapter(&mut net, "default", ["0", "2"], &config).unwrap();
        for (key, parameter) in net.named_parameters() {
            if key.contains("lora_") {
                vec![parameter.share()].bfloat16().unwrap();
                parameter
                    .set(tensor(&format!("values/{key}")).clone())
                    .unwrap();
            }
        }
        let x = Parameter::new(tensor("x").clone()).unwrap();
        let y = net.call(x.tensor()).unwrap();
        assert_eq!(y.dtype(), DType::F32);
        assert_close(&y, tensor("y"), name);
        let loss = y.mul(tensor("weights")).unwrap().sum(..).unwrap();
        loss.backward().unwrap();
        assert_close(&x.grad().unwrap(), tensor("grad_x"), name);
        for (key, parameter) in net.named_parameters() {
            assert_eq!(parameter.grad().is_some(), key.contains("lora_"), "{key}");
            if let Some(grad) = parameter.grad() {
                assert_close(&grad, tensor(&format!("grad/{key}")), &key);
            }
        }
    }
}

#[test]
fn a_base_in_half_precision_has_adapters_in_single() {
    let (_, recorded) = golden::load("lora.safetensors");
    let tensor = |key: &str| recorded.get(&format!("half/{key}")).unwrap();
    let mut net = Net::new();
    net.bfloat16().unwrap();
    for (key, parameter) in net.named_parameters() {
        parameter
            .set(tensor(&format!("base/{key}")).clone())
            .unwrap();
    }
    let config = LoraConfig::new().r(2).lora_alpha(5);
    lora::add_adapter(&mut net, "default", ["query", "value"], &config).unwrap();
    for (key, parameter) in net.named_parameters() {
        if key.contains("lora_") {
            assert_eq!(parameter.dtype(), DType::F32);
            parameter
                .set(tensor(&format!("values/{key}")).clone())
                .unwrap();
        }
    }
    let y = net.call(tensor("x").clone()).unwrap();
    assert_close(&y, tensor("y"), "bf16");
    lora::merge(&mut net).unwrap();
    let merged = net.call(tensor("x").clone()).unwrap();
    assert_close(&merged, tensor("y"), "merged bf16");
}
