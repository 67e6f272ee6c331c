//! Vision transformers of timm.
//!
//! Source: Dosovitskiy et al., *An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale* (2021).

use module_nn::AttentionOptions;
use module_nn::init::{Normal, TimmTruncNormal};
use module_nn::prelude::*;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::pretrained::Pretrained;
use super::timm::{self, Mlp, TimmConfig};

/// timm's `config.json`; the architecture is `vit_<size>_patch<size>_<image size>`.
pub type VisionTransformerConfig = TimmConfig<VisionTransformerArgs>;

/// Arguments that replace those of the architecture.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the names are timm's")]
pub struct VisionTransformerArgs {
    pub img_size: Option<Sizes<2>>,
    pub patch_size: Option<Sizes<2>>,
    pub in_chans: Option<usize>,
    pub embed_dim: Option<usize>,
    pub depth: Option<usize>,
    pub num_heads: Option<usize>,
    pub mlp_ratio: Option<f64>,
    pub qkv_bias: Option<bool>,
    pub global_pool: GlobalPool,
    /// Already given next to these arguments.
    pub num_classes: IgnoredAny,
}

/// What the classifier uses.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GlobalPool {
    /// The first token.
    #[default]
    Token,
}

/// `(N, in_chans, img_size, img_size)` images to `(N, num_classes)` logits.
#[derive(Module)]
pub struct VisionTransformer {
    cls_token: Parameter,
    pos_embed: Parameter,
    patch_embed: PatchEmbed,
    blocks: Sequential,
    norm: LayerNorm,
    head: Linear,
}

/// Images to one token per patch.
#[derive(Module)]
struct PatchEmbed {
    proj: Conv2d,
}

#[derive(Module)]
struct Block {
    norm1: LayerNorm,
    attn: Attention,
    norm2: LayerNorm,
    mlp: Mlp,
}

#[derive(Module)]
struct Attention {
    heads: usize,
    qkv: Linear,
    proj: Linear,
}

impl Forward for PatchEmbed {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        self.proj.call(x)?.flatten(2, -1)?.transpose(1, 2)
    }
}

impl Forward for Block {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let x = x.add(&self.attn.call(self.norm1.call(x.clone())?)?)?;
        x.add(&self.mlp.call(self.norm2.call(x.clone())?)?)
    }
}

impl Forward for Attention {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        // `[batch, length, 3 · width]` to three of `[batch, heads, length, width / heads]`.
        let qkv = self
            .qkv
            .call(x)?
            .unflatten(-1, [3, self.heads as isize, -1])?;
        let [q, k, v] = qkv.permute([2, 0, 3, 1, 4])?.unbind_array(0)?;
        let y = q.scaled_dot_product_attention(&k, &v, AttentionOptions::new())?;
        self.proj.call(y.transpose(1, 2)?.flatten(2, -1)?)
    }
}

impl Pretrained for VisionTransformer {
    type Config = VisionTransformerConfig;

    fn new(config: &VisionTransformerConfig) -> Result<Self> {
        let args = &config.model_args;
        let unknown = || {
            config.unknown(
                "vit",
                "vit_{tiny, small, base, large}_patch16_224 or the like",
            )
        };
        let mut parts = config.architecture.split('_').skip(1);
        let (width, depth, heads) = match parts.next() {
            Some("tiny") => (192, 12, 3),
            Some("small") => (384, 12, 6),
            Some("base") => (768, 12, 12),
            Some("large") => (1024, 24, 16),
            _ => return Err(unknown()),
        };
        let mut number = |before| parts.next()?.strip_prefix(before)?.parse().ok();
        let patch: usize = number("patch").ok_or_else(unknown)?;
        let size: usize = number("").ok_or_else(unknown)?;
        let patch = args.patch_size.unwrap_or(patch.into());
        let size = args.img_size.unwrap_or(size.into()).get();
        let width = args.embed_dim.unwrap_or(width);
        let heads = args.num_heads.unwrap_or(heads);
        let hidden = (width as f64 * args.mlp_ratio.unwrap_or(4.0)) as usize;
        let norm = || LayerNormConfig::new(width).eps(1e-6).build();
        let block = |_| -> Result<Block> {
            let qkv = LinearConfig::new(width, 3 * width).bias(args.qkv_bias.unwrap_or(true));
            let (qkv, proj) = (qkv.build()?, Linear::new(width, width)?);
            let attn = Attention { heads, qkv, proj };
            let mlp = Mlp::new(width, hidden)?;
            Ok(Block {
                norm1: norm()?,
                attn,
                norm2: norm()?,
                mlp,
            })
        };
        let blocks: Result<Sequential> = (0..args.depth.unwrap_or(depth)).map(block).collect();
        let proj = Conv2dConfig::new(args.in_chans.unwrap_or(3), width, patch).stride(patch);
        let proj = proj.build()?;
        let [height, across] = patch.get();
        let count = size[0] / height * (size[1] / across);
        let scattered = TimmTruncNormal {
            std: 0.02,
            ..TimmTruncNormal::default()
        };
        let model = Self {
            cls_token: Parameter::with_init(
                [1, 1, width],
                Normal {
                    mean: 0.0,
                    std: 1e-6,
                },
            )?,
            pos_embed: Parameter::with_init([1, count + 1, width], scattered)?,
            patch_embed: PatchEmbed { proj },
            blocks: blocks?,
            norm: norm()?,
            head: Linear::new(width, config.num_classes)?,
        };
        timm::initialize(&model, 0.02)?;
        Ok(model)
    }
}

impl Forward for VisionTransformer {
    type Output = Tensor;

    fn forward(&self, x: Tensor) -> Result<Tensor> {
        let patches = self.patch_embed.call(x)?;
        let first = self
            .cls_token
            .tensor()
            .expand([patches.size(0)? as isize, -1, -1])?;
        let tokens = Tensor::cat(&[first, patches], 1)?.add(self.pos_embed.tensor())?;
        let tokens = self.norm.call(self.blocks.call(tokens)?)?;
        self.head.call(tokens.select(1, 0)?)
    }
}
