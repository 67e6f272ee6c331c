//! The parts of a summary that do not describe calls.

use crate::module::Visitor;
use crate::{Module, ModuleExt, TensorId, Training, Walk};

/// The mode of every module that has one.
pub(super) fn flags(module: &dyn Module) -> Vec<(&Training, bool)> {
    struct ModesVisitor<'m>(Vec<(&'m Training, bool)>);

    impl<'m> Visitor<'m> for ModesVisitor<'m> {
        fn training(&mut self, flag: &'m Training) {
            self.0.push((flag, flag.is_training()));
        }
    }

    let mut flags = ModesVisitor(Vec::new());
    module.modules().for_each(|module| module.visit(&mut flags));
    flags.0
}

/// The original modes of modules, restored when this is dropped.
pub(super) struct Modes<'m>(pub(super) Vec<(&'m Training, bool)>);

impl Drop for Modes<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|(flag, mode)| flag.set(*mode));
    }
}

#[derive(Clone, Debug)]
pub(super) struct ModelInfo {
    /// How many modules are in training mode, and how many have a mode.
    modes: [usize; 2],
    pub(super) frozen: Vec<String>,
    pub(super) ties: Vec<Vec<String>>,
    pub(super) parameters: usize,
    pub(super) trainable: usize,
    /// Of parameters and buffers.
    pub(super) bytes: usize,
}

impl ModelInfo {
    pub(super) fn of(module: &dyn Module) -> Self {
        let flags = flags(module);
        let training = flags.iter().filter(|(_, training)| *training).count();
        let mut names: Vec<(TensorId, Vec<String>)> = Vec::new();
        let every_name = Walk::new().remove_duplicate(false);
        for (name, parameter) in module.named_parameters_with(every_name) {
            match names.iter_mut().find(|(id, _)| *id == parameter.id()) {
                Some((_, names)) => names.push(name),
                None => names.push((parameter.id(), vec![name])),
            }
        }
        let ties = names.into_iter().map(|(_, names)| names);
        let frozen = module
            .named_parameters()
            .filter(|(_, p)| !p.requires_grad());
        let parameters = module.parameters().map(|p| p.tensor().nbytes());
        let buffers = module.buffers().map(|b| b.tensor().nbytes());
        Self {
            modes: [training, flags.len()],
            frozen: frozen.map(|(name, _)| name).collect(),
            ties: ties.filter(|names| names.len() > 1).collect(),
            parameters: module.num_parameters(),
            trainable: module.num_trainable(),
            bytes: parameters.chain(buffers).sum(),
        }
    }

    /// In words.
    pub(super) fn mode(&self) -> String {
        match self.modes {
            [_, 0] => "no module has one".to_owned(),
            [0, _] => "evaluation".to_owned(),
            [training, all] if training == all => "training".to_owned(),
            [training, all] => format!("mixed, {training} of {all} modules in training"),
        }
    }
}
