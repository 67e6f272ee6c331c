use module_examples::models::resnet::ResNet;

use crate::compare::{BOUNDS, DEEP, compare_forward, directory};

#[test]
fn resnet_18_is_timms() {
    let model = ResNet::from_pretrained(directory("resnet18")).unwrap();
    compare_forward("resnet18", &model, &BOUNDS);
}

#[test]
fn resnet_50_is_timms() {
    let model = ResNet::from_pretrained(directory("resnet50")).unwrap();
    compare_forward("resnet50", &model, &DEEP);
}
