"""Formulas written in PyTorch, under the names of this library, for layers that torch.nn does not have."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def joined(first, second, layout):
    """Vectors of two parts: features 0, 1 or 0, dim/2 belong together."""
    if layout == "interleaved":
        return torch.stack([first, second], -1).flatten(-2)
    return torch.cat([first, second], -1)


class SinusoidalPositionEmbedding(nn.Module):
    def __init__(self, embedding_dim, max_len=5000, base=10000.0, layout="interleaved", downscale_freq_shift=0.0,
                 batch_first=False):
        super().__init__()
        self.shown = f"{embedding_dim}, max_len={max_len}, base={base}, layout={layout}"
        self.batch_first = batch_first
        table = torch.zeros(max_len, embedding_dim, dtype=torch.float64)
        for i in range((embedding_dim + 1) // 2):
            angle = torch.arange(max_len, dtype=torch.float64) * math.pow(base, -i / (embedding_dim / 2 - downscale_freq_shift))
            sine, cosine = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, i + (embedding_dim + 1) // 2)
            table[:, sine] = angle.sin()
            if cosine < embedding_dim:
                table[:, cosine] = angle.cos()
        self.register_buffer("table", table.to(torch.get_default_dtype()), persistent=False)

    def extra_repr(self):
        return self.shown

    def forward(self, x, start=0):
        dim = 1 if x.dim() == 3 and self.batch_first else 0
        waves = self.table[start:start + x.size(dim)]
        assert waves.size(0) == x.size(dim)
        return x + (waves.unsqueeze(1) if x.dim() == 3 and dim == 0 else waves)


class RotaryEmbedding(nn.Module):
    def __init__(self, head_dim, rope_theta=10000.0, rotary_dim=None, layout="half_split", scaling=None):
        super().__init__()
        rotary_dim = head_dim if rotary_dim is None else rotary_dim
        assert rotary_dim % 2 == 0 and 0 < rotary_dim <= head_dim
        self.head_dim, self.rotary_dim, self.layout = head_dim, rotary_dim, layout
        self.shown = f"{head_dim}, rope_theta={rope_theta}, rotary_dim={rotary_dim}, layout={layout}"
        frequencies = [rope_theta ** (-2 * i / rotary_dim) for i in range(rotary_dim // 2)]
        self.frequencies = torch.tensor([self.scaled(f, scaling or {"rope_type": "default"}) for f in frequencies],
                                        dtype=torch.float64)

    @staticmethod
    def scaled(frequency, scaling):
        kind, factor = scaling["rope_type"], scaling.get("factor")
        if kind == "linear":
            return frequency / factor
        if kind == "llama3":
            wavelength, length = 2 * math.pi / frequency, scaling["original_max_position_embeddings"]
            low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
            if wavelength < length / high:
                return frequency
            if wavelength > length / low:
                return frequency / factor
            smooth = (length / wavelength - low) / (high - low)
            return (1 - smooth) * frequency / factor + smooth * frequency
        return frequency

    def extra_repr(self):
        return self.shown

    def forward(self, x, positions=0):
        """Pairs as complex numbers, multiplied by e^(i·angle)."""
        assert x.size(-1) == self.head_dim
        if isinstance(positions, int):
            positions = torch.arange(positions, positions + x.size(-2))
        angles = (positions.double().unsqueeze(-1) * self.frequencies).to(torch.promote_types(x.dtype, torch.float32))
        turning, rest = x[..., :self.rotary_dim].to(angles.dtype), x[..., self.rotary_dim:]
        if self.layout == "interleaved":
            first, second = turning[..., ::2], turning[..., 1::2]
        else:
            first, second = turning.chunk(2, -1)
        turned = torch.complex(first, second) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([joined(turned.real, turned.imag, self.layout).to(x.dtype), rest], -1)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_heads=None, head_dim=None, bias=False, out_bias=False, dropout=0.0,
                 scale=None, is_causal=True, rotary=None, qk_norm_eps=None, sliding_window=None):
        super().__init__()
        assert sliding_window is None or (sliding_window > 0 and is_causal)
        self.sliding_window = sliding_window
        self.num_heads, self.shared = num_heads, num_heads if num_kv_heads is None else num_kv_heads
        assert num_heads % self.shared == 0 and (head_dim is not None or embed_dim % num_heads == 0)
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        self.dropout, self.is_causal = dropout, is_causal
        self.scale = self.head_dim ** -0.5 if scale is None else scale
        self.q_proj = nn.Linear(embed_dim, num_heads * self.head_dim, bias)
        self.k_proj = nn.Linear(embed_dim, self.shared * self.head_dim, bias)
        self.v_proj = nn.Linear(embed_dim, self.shared * self.head_dim, bias)
        self.o_proj = nn.Linear(num_heads * self.head_dim, embed_dim, out_bias)
        self.q_norm, self.k_norm = (
            nn.Identity() if qk_norm_eps is None else nn.RMSNorm(self.head_dim, qk_norm_eps) for _ in range(2))
        self.rotary = nn.Identity() if rotary is None else rotary
        assert rotary is None or rotary.head_dim == self.head_dim

    def extra_repr(self):
        return (f"num_heads={self.num_heads}, num_kv_heads={self.shared}, head_dim={self.head_dim}, "
                f"is_causal={self.is_causal}")

    def forward(self, x, key=None, value=None, attn_mask=None, positions=None):
        length = x.size(1)
        assert x.dim() == 3
        past = 0 if key is None else key.size(2)

        def heads(projected):
            return projected.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

        q, k, v = heads(self.q_proj(x)), heads(self.k_proj(x)), heads(self.v_proj(x))
        q, k = self.q_norm(q), self.k_norm(k)
        if isinstance(self.rotary, RotaryEmbedding):
            if positions is None:
                positions = torch.arange(past, past + length)
            positions = positions.unsqueeze(1) if positions.dim() == 2 else positions
            q, k = self.rotary(q, positions), self.rotary(k, positions)
        if key is not None:
            k, v = torch.cat([key, k], 2), torch.cat([value, v], 2)
        each = self.num_heads // self.shared
        scores = q @ k.repeat_interleave(each, 1).transpose(-1, -2) * self.scale
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
        if self.is_causal:
            later = torch.arange(past + length) > torch.arange(past, past + length).unsqueeze(1)
            scores = scores.masked_fill(later, -math.inf)
        if self.sliding_window is not None:
            left = torch.arange(past + length) <= torch.arange(past, past + length).unsqueeze(1) - self.sliding_window
            scores = scores.masked_fill(left, -math.inf)
        weights = F.dropout(scores.softmax(-1), self.dropout, self.training)
        y = self.o_proj((weights @ v.repeat_interleave(each, 1)).transpose(1, 2).flatten(2))
        return y, k, v
