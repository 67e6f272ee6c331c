//! A tree of its description (`golden/random_trees/draw.py`).

use std::sync::Arc;

use module_core::module::{Visitor, VisitorMut};
use module_nn::IndexMap;
use module_nn::prelude::*;
use module_tests::layers::build;
use serde_json::Value;

use super::list;

/// Members of any kind, in any order, whose names are known only at run time.
struct Branch {
    members: Vec<(String, Part)>,
    training: Training,
}

enum Part {
    Module(Arc<dyn Module>),
    Parameter(Parameter),
    Buffer(Buffer),
}

impl Module for Branch {
    fn kind(&self) -> &'static str {
        "Branch"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (name, part) in &self.members {
            match part {
                Part::Module(module) => visitor.module(name, module.as_module()),
                Part::Parameter(parameter) => visitor.parameter(name, parameter),
                Part::Buffer(buffer) => visitor.buffer(name, buffer),
            }
        }
        visitor.training(&self.training);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        for (name, part) in &mut self.members {
            match part {
                Part::Module(module) => module.visit_as_mut(name, visitor),
                Part::Parameter(parameter) => visitor.parameter(name, parameter),
                Part::Buffer(buffer) => visitor.buffer(name, buffer),
            }
        }
    }
}

/// A node that may be at several paths.
#[derive(Clone)]
enum Node {
    Layer(Arc<dyn Layer>),
    Module(Arc<dyn Module>),
}

impl Node {
    fn module(self) -> Arc<dyn Module> {
        match self {
            Self::Layer(layer) => Arc::new(layer),
            Self::Module(module) => module,
        }
    }
}

#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    parameters: Vec<Parameter>,
    buffers: Vec<Buffer>,
}

fn number(value: &Value) -> usize {
    value.as_u64().expect("a number") as usize
}

fn pairs(value: &Value) -> impl Iterator<Item = (String, &Value)> {
    list(value).map(|pair| (pair[0].as_str().expect("a name").to_owned(), &pair[1]))
}

fn zeros(described: &Value) -> Result<Tensor> {
    let shape: Vec<usize> = list(&described["shape"]).map(number).collect();
    let dtype: DType = described["dtype"].as_str().expect("a dtype").parse()?;
    Tensor::zeros(shape, dtype)
}

impl Builder {
    fn node(&mut self, described: &Value) -> Result<Node> {
        if let Some(number) = described["shared"].as_u64() {
            return Ok(self.nodes[number as usize].clone());
        }
        let (kind, children) = described
            .as_object()
            .expect("a node")
            .iter()
            .next()
            .unwrap();
        let node = match kind.as_str() {
            "branch" => self.branch(children)?,
            "Sequential" => self.sequential(children)?,
            "ModuleList" => {
                let children = list(children).map(|child| Ok(self.node(child)?.module()));
                Node::Module(Arc::new(children.collect::<Result<Vec<_>>>()?))
            }
            "ModuleDict" => {
                let children = pairs(children);
                let children = children.map(|(name, child)| Ok((name, self.node(child)?.module())));
                Node::Module(Arc::new(children.collect::<Result<IndexMap<_, _>>>()?))
            }
            "ParameterList" => {
                let children = list(children).map(|child| self.parameter(child));
                Node::Module(Arc::new(children.collect::<Result<Vec<_>>>()?))
            }
            "ParameterDict" => {
                let children =
                    pairs(children).map(|(name, child)| Ok((name, self.parameter(child)?)));
                Node::Module(Arc::new(children.collect::<Result<IndexMap<_, _>>>()?))
            }
            _ => {
                let layer: Arc<dyn Layer> = Arc::from(build(described)?);
                self.parameters
                    .extend(layer.parameters().map(Parameter::share));
                Node::Layer(layer)
            }
        };
        self.nodes.push(node.clone());
        Ok(node)
    }

    fn branch(&mut self, members: &Value) -> Result<Node> {
        let member = |(name, member): (String, &Value)| {
            let (kind, described) = member.as_object().expect("a member").iter().next().unwrap();
            let part = match kind.as_str() {
                "module" => Part::Module(self.node(described)?.module()),
                "parameter" => Part::Parameter(self.parameter(described)?),
                _ => Part::Buffer(self.buffer(described)?),
            };
            Ok((name, part))
        };
        let members = pairs(members).map(member).collect::<Result<_>>()?;
        let training = Training::default();
        Ok(Node::Module(Arc::new(Branch { members, training })))
    }

    fn sequential(&mut self, children: &Value) -> Result<Node> {
        let mut sequential = Sequential::new();
        for (name, child) in pairs(children) {
            let Node::Layer(layer) = self.node(child)? else {
                panic!("{child} is no layer");
            };
            sequential = sequential.push_named(name, layer)?;
        }
        Ok(Node::Layer(Arc::new(sequential)))
    }

    fn parameter(&mut self, described: &Value) -> Result<Parameter> {
        if let Some(number) = described["tied"].as_u64() {
            return Ok(self.parameters[number as usize].share());
        }
        let parameter = Parameter::new(zeros(described)?)?;
        parameter.set_requires_grad(described["grad"] == true);
        self.parameters.push(parameter.share());
        Ok(parameter)
    }

    fn buffer(&mut self, described: &Value) -> Result<Buffer> {
        if let Some(number) = described["tied"].as_u64() {
            return Ok(self.buffers[number as usize].share());
        }
        let buffer = match described["persistent"] == true {
            true => Buffer::new(zeros(described)?),
            false => Buffer::non_persistent(zeros(described)?),
        };
        self.buffers.push(buffer.share());
        Ok(buffer)
    }
}

/// The tree, in which each tensor has the value of its place.
pub(super) fn built(described: &Value) -> Result<Arc<dyn Module>> {
    let model = Builder::default().node(described)?.module();
    let parameters = model.parameters().count();
    for (i, parameter) in model.parameters().enumerate() {
        parameter.set(filled(&parameter.detach(), i)?)?;
    }
    for (buffer, i) in model.buffers().zip(parameters..) {
        buffer.set(filled(&buffer.tensor(), i)?)?;
    }
    Ok(model)
}

fn filled(x: &Tensor, place: usize) -> Result<Tensor> {
    Tensor::full(x.shape().clone(), (place % 120 + 1) as f64, DType::F64)?.to_dtype(x.dtype())
}
