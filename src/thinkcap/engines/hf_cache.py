"""Keys and values of many lanes in one block of memory per layer, and an attention that reads it in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_NAME = "thinkcap_lanes"
_HIDDEN = float("-inf")


def fits(config: Any) -> bool:
    """Whether all layers attend to their whole past in the plain way; others are written in another way."""
    layers = getattr(config, "layer_types", None) or ()
    window = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
    odd = any("full" not in str(kind) for kind in layers) or (bool(window) and not layers)
    softened = any(getattr(config, name, None) for name in ("attn_logit_softcapping", "attention_chunk_size"))
    return not (odd or softened or hasattr(config, "kv_lora_rank") or _has_sinks(config))


def _has_sinks(config: Any) -> bool:
    return "oss" in str(getattr(config, "model_type", ""))


def prepare(model: Any) -> None:
    """Registers the attention with transformers and has the model use it: no model code of ours."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(_NAME, _attention)
    ALL_MASK_ATTENTION_FUNCTIONS.register(_NAME, ALL_MASK_ATTENTION_FUNCTIONS["sdpa"])
    model.set_attn_implementation(_NAME)


def room_for(cache: LaneCache, device: Any) -> int:
    """Tokens of keys and values that fit into what is left of the memory."""
    import torch

    if device.type != "cuda":
        return 2**40
    free, _ = torch.cuda.mem_get_info(device)
    return int(0.8 * free / cache.bytes_per_token)


def _attention(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **more: Any
) -> tuple[Any, None]:
    """One query a lane is multiplied with the cache as it is; prompts go the way of transformers."""
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if query.shape[2] > 1 or attention_mask is None or attention_mask.dtype == torch.bool:
        found = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **more)
        return found[0], None
    lanes, heads, _, size = query.shape
    groups, slots = key.shape[1:3]
    # Heads that share keys are rows of one matrix: the keys are read once, not once a head.
    rows = query.view(lanes * groups, heads // groups, size)
    keys, values = key.reshape(-1, slots, size), value.reshape(-1, slots, size)
    bias = attention_mask.view(lanes * groups, heads // groups, slots)
    scores = torch.baddbmm(bias, rows, keys.transpose(1, 2), alpha=scaling or size**-0.5)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(value.dtype)
    return torch.bmm(weights, values).view(lanes, 1, heads, size), None


class LaneCache:
    """What a model is given as its cache while lanes are written: `update` puts one slot and hands back all."""

    is_compileable = False

    def __init__(self, model: Any) -> None:
        config = model.config.get_text_config()
        self._layers = config.num_hidden_layers
        self._queries = config.num_attention_heads
        self._heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        self._size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._dtype, self._device = model.dtype, model.device
        self.lanes = self.slots = 0
        self.keys: list[Any] = [None] * self._layers
        self.values: list[Any] = [None] * self._layers
        self.bias: Any = None
        """Nothing where a lane may look, minus infinity where it may not."""
        self._seen_lanes = self._seen_slots = 0
        self._slot: Any = None

    @property
    def bytes_per_token(self) -> int:
        return int(2 * self._layers * self._heads * self._size * self._dtype.itemsize)

    def grow(self, lanes: int, slots: int, used: int) -> bool:
        """Makes room; layer by layer, so that the old and the new cache never lie there whole."""
        if lanes <= self.lanes and slots <= self.slots:
            return False
        import torch

        lanes, slots = max(lanes, self.lanes), max(slots, self.slots)
        shape = (lanes, self._heads, slots, self._size)
        for store in (self.keys, self.values):
            for layer in range(self._layers):
                old = store[layer]
                new = torch.zeros(shape, dtype=self._dtype, device=self._device)
                if old is not None and used:
                    new[: self.lanes, :, :used] = old[:, :, :used]
                store[layer] = new
        bias = torch.full((lanes, slots), _HIDDEN, device=self._device)
        if self.bias is not None and used:
            bias[: self.lanes, :used] = self.bias[:, :used]
        self.bias, self.lanes, self.slots = bias, lanes, slots
        return True

    def look(self, lanes: int, slots: int, slot: Any) -> Any:
        """The part that the next step sees; the slot it writes becomes visible to every lane."""
        self._seen_lanes, self._seen_slots, self._slot = lanes, slots, slot
        self.bias[:lanes].index_fill_(1, slot, 0.0)
        # Written out once a step for all layers, in the shape in which their scores are added to it.
        seen = self.bias[:lanes, None, None, :slots].to(self._dtype)
        return seen.expand(-1, self._heads, self._queries // self._heads, -1).contiguous()

    def update(self, keys: Any, values: Any, layer_idx: int, *_: Any, **__: Any) -> tuple[Any, Any]:
        held = self.keys[layer_idx][: self._seen_lanes], self.values[layer_idx][: self._seen_lanes]
        held[0].index_copy_(2, self._slot, keys)
        held[1].index_copy_(2, self._slot, values)
        return held[0][:, :, : self._seen_slots], held[1][:, :, : self._seen_slots]

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._seen_slots

    def fill(
        self, lanes: Sequence[int], rows: Sequence[int], read: Any, slot: int, lengths: Sequence[int]
    ) -> None:
        """Copies prompts, which end in the last column of their own cache, to just before the slot."""
        import torch

        at = torch.tensor(lanes, device=self._device)
        of = torch.tensor(rows, device=self._device)
        longest = max(lengths)
        for layer in range(self._layers):
            mine = read.layers[layer]
            for store, states in ((self.keys, mine.keys), (self.values, mine.values)):
                store[layer][:, :, slot - longest : slot].index_copy_(0, at, states[of, :, -longest:])
        fresh = torch.full((len(lanes), self.slots), _HIDDEN, device=self._device)
        for row, length in enumerate(lengths):
            fresh[row, slot - length : slot] = 0.0
        self.bias.index_copy_(0, at, fresh)

    def move(self, end: int, new_end: int, length: int) -> None:
        """Moves the last slots of all lanes, so that they end elsewhere."""
        for layer in range(self._layers):
            for store in (self.keys, self.values):
                part = store[layer][:, :, end - length : end].clone()
                store[layer][:, :, new_end - length : new_end] = part
        bias = self.bias[:, end - length : end].clone()
        self.bias[:] = _HIDDEN
        self.bias[:, new_end - length : new_end] = bias

    def move_lane(self, lane: int, to: int, used: int) -> None:
        for layer in range(self._layers):
            for store in (self.keys, self.values):
                store[layer][to, :, :used] = store[layer][lane, :, :used]
        self.bias[to] = self.bias[lane]

    def kept(self) -> Any:
        """What trying a step out would spoil: which slots can be seen."""
        return self.bias.clone()

    def restore(self, bias: Any) -> None:
        self.bias.copy_(bias)
