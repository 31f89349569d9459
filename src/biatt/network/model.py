"""The network of the paper, section by section, in torch.

Symbols are the paper's: x token embeddings, m memory, q queries, s scores, a attention, y relations;
P, C, D, v, U, W weights. Weight matrices are stored input × output, so that a row vector times the matrix
is the layer. Shapes use

    B sentences of n words;  N = Σn words and M = Σ(n + 1) positions with ROOT, laid out flat (`Batch`)
    T = 1 + the largest n;   h the hidden size;   R relations;   d query directions (1 or 2)

The soft headword m̃ = Σⱼ aⱼmⱼ is only ever multiplied by a matrix, so we multiply first: Σⱼ aⱼ(mⱼW) is
the same number, and mW is one large product outside the recurrence.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig, Reset
from biatt.data.scores import RelationLayer, Scores
from biatt.encoding.batches import Batch, sentence_numbers, word_positions
from biatt.encoding.vocabulary import Indices
from biatt.errors import ConfigError, ModelError
from biatt.weights import labeller_shapes, memory_layers, parser_shapes

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ModuleNotFoundError:
    raise ConfigError("Training, and parsing on a GPU, need PyTorch: pip install 'biatt[train]'.") from None

SLOPE = 0.1  # of the leaky rectified linear function's negative part (section 2.1)
STATE_LIMIT = 1e4
DEVIATION = 0.1  # of initial weights: the paper's variance of 0.01
FIRST_STATE = 0.1  # where the learned first state of each recurrence starts (the authors' constant)


class Output(NamedTuple):
    attention: Tensor  # (A, N, T): log a, one for each query direction (A = 1 or 2), −inf past the sentence
    relations: Tensor  # (N, R): the relations' scores before their softmax, without what heads add
    words: Tensor | None = None  # (N, k): the word's part in the hidden layer of a pair of word and head
    heads: Tensor | None = None  # (M, k): the head's part
    out: Tensor | None = None  # (k, R): that layer's weights


class Noise:
    """Dropout with one mask a sentence: what is left out of one word's vector is left out of all of them."""

    def __init__(self, share: float, generator: torch.Generator) -> None:
        self.share, self.generator = share, generator

    def __call__(self, rows: Tensor, sentences: Tensor) -> Tensor:
        """rows (…, rows, width) with a mask for each sentence; `sentences` says which one a row is of."""
        size = int(sentences[-1]) + 1
        kept = torch.rand(*rows.shape[:-2], size, rows.shape[-1], generator=self.generator) >= self.share
        mask = kept.to(rows) / (1 - self.share)
        return rows * mask[..., sentences, :]


def no_noise(rows: Tensor, sentences: Tensor) -> Tensor:
    return rows


class Grid:
    """Where the flat rows of sentences go in a padded grid, read from the left and from the right."""

    def __init__(self, lengths: Indices, device: torch.device) -> None:
        size, longest = len(lengths), int(lengths.max())
        step = np.arange(longest)
        starts = (np.cumsum(lengths) - lengths)[:, None]  # (B, 1)
        inside = step < lengths[:, None]  # (B, longest)
        cells = np.arange(size * longest).reshape(size, longest)
        self.inside = torch.from_numpy(inside).to(device)
        self.to_grid, self.to_flat = {}, {}
        for direction, offset in (("l", step), ("r", lengths[:, None] - 1 - step)):
            index = np.where(inside, starts + offset, 0)  # (B, longest): the row read at each step
            flat = np.empty(int(lengths.sum()), np.int64)
            flat[index[inside]] = cells[inside]
            self.to_grid[direction] = torch.from_numpy(index).to(device)
            self.to_flat[direction] = torch.from_numpy(flat).to(device)

    def pad(self, flat: Tensor, directions: str) -> Tensor:
        """(d, flat, …) → (d, B, steps, …), each direction in its reading order."""
        return torch.stack([flat[k][self.to_grid[direction]] for k, direction in enumerate(directions)])

    def unpad(self, grid: Tensor, directions: str) -> Tensor:
        """(d, B, steps, …) → (d, flat, …): undoes `pad`."""
        cells = grid.flatten(1, 2)
        return torch.stack([cells[k][self.to_flat[direction]] for k, direction in enumerate(directions)])


def gru_step(state: Tensor, inputs: Tensor, U: Tensor, *, reset: Reset) -> Tensor:
    """h = z ⊙ h₋₁ + (1 − z) ⊙ h̃ with an LReL candidate (section 2.2); `inputs` is Wx + b of all parts."""
    h = state.shape[-1]
    gates, candidate = inputs[..., : 2 * h], inputs[..., 2 * h :]
    if reset == "before":  # Cho et al. 2014, the paper's
        r, z = torch.sigmoid(gates + state @ U[..., : 2 * h]).chunk(2, -1)
        candidate = candidate + (r * state) @ U[..., 2 * h :]
    else:
        products = state @ U
        r, z = torch.sigmoid(gates + products[..., : 2 * h]).chunk(2, -1)
        candidate = candidate + r * products[..., 2 * h :]
    # LReL states are unbounded; the limit is far above any trained state and only keeps numbers finite.
    candidate = F.leaky_relu(candidate, SLOPE).clamp(-STATE_LIMIT, STATE_LIMIT)
    return z * state + (1 - z) * candidate


def recurrence(
    x: Tensor, W: Tensor, bias: Tensor, U: Tensor, first: Tensor, lengths: Indices, directions: str,
    *, reset: Reset,
) -> Tensor:  # fmt: skip
    """(flat, inputs) → (d, flat, h): a GRU over every sentence in each direction's order."""
    sentences = Grid(lengths, x.device)
    grid = sentences.pad(x @ W + bias[:, None], directions)  # (d, B, steps, 3h)
    state = first[:, None].expand(-1, grid.shape[1], -1)  # (d, B, h)
    states = []
    for step in range(grid.shape[2]):
        state = gru_step(state, grid[:, :, step], U, reset=reset)
        states.append(state)
    return sentences.unpad(torch.stack(states, 2), directions)


def attend(
    projected: Tensor, query: Tensor, v: Tensor, values: Tensor, inside: Tensor
) -> tuple[Tensor, Tensor]:
    """Equations 1 and 2 for one word of each sentence: log a, and the soft headword's Σⱼ aⱼ valuesⱼ.

    s = vᵀ tanh(C m + D q), normalised over the positions of the sentence. projected (d, B, T, h) is C m;
    query (d, B, h) is D q; v (d, h); values (d, B, T, …). The results are (d, B, T) and (d, B, …).
    """
    s = torch.tanh(projected + query[:, :, None]) @ v[:, None, :, None]
    log_a = torch.log_softmax(s[..., 0].masked_fill(~inside, -torch.inf), -1)
    return log_a, (log_a.exp()[:, :, None] @ values)[:, :, 0]


def attention(
    queries: Tensor, values: Tensor, projected: Tensor, v: Tensor, words: Indices
) -> tuple[Tensor, Tensor]:
    """The attention of queries that do not wait for it: log a (d, N, T) and soft headwords (d, N, …).

    queries (d, N, h) is D q; values (d, M, …); projected (1 or d, M, h) is C m.
    """
    rows, positions, order = Grid(words, queries.device), Grid(words + 1, queries.device), "l" * len(queries)
    grid, values = rows.pad(queries, order), positions.pad(values, order)
    projected = positions.pad(projected, "l" * len(projected))
    steps = [attend(projected, grid[:, :, t], v, values, positions.inside) for t in range(grid.shape[2])]
    log_a, soft = (torch.stack(part, 2) for part in zip(*steps, strict=True))
    return rows.unpad(log_a, order), rows.unpad(soft, order)


def query_recurrence(
    x: Tensor, m: Tensor, W: Tensor, bias: Tensor, U: Tensor, first: Tensor,
    F: Tensor, V: Tensor, C: Tensor, D: Tensor, v: Tensor, words: Indices, directions: str,
    *, reset: Reset,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Query components with feedback (section 2.2): q (d, N, h), log a (d, N, T), soft headwords (d, N, R).

    x (N, h) are the words' embeddings, m (M, 2h) the memory. The soft headword of step t − 1 (t + 1 from the
    right) times F enters step t; at the first step it is zero. Times V it goes to the relations.
    """
    rows, positions = Grid(words, x.device), Grid(words + 1, x.device)
    grid = rows.pad(x @ W + bias[:, None], directions)  # (d, B, T − 1, 3h)
    # Memory is looked up, not read in order, so both directions see it from left to right.
    projected = positions.pad(m @ C, "l" * len(C))  # (1 or d, B, T, h)
    values = positions.pad(torch.cat([m @ F, m @ V], -1), "l" * len(F))  # (d, B, T, 3h + R)
    state = first[:, None].expand(-1, grid.shape[1], -1)  # (d, B, h)
    fed = torch.zeros_like(grid[:, :, 0])  # (d, B, 3h)
    steps = []
    for t in range(grid.shape[2]):
        state = gru_step(state, grid[:, :, t] + fed, U, reset=reset)
        log_a, soft = attend(projected, state @ D, v, values, positions.inside)
        fed, relations = soft.split([fed.shape[-1], V.shape[-1]], -1)
        steps.append((state, log_a, relations))
    q, a, r = (rows.unpad(torch.stack(part, 2), directions) for part in zip(*steps, strict=True))
    return q, a, r


class GRU(nn.Module):
    """The weights of a gated recurrent unit for each of k directions: reset gate, update gate, candidate."""

    W: Tensor  # (k, h, 3h)
    U: Tensor  # (k, h, 3h)
    bias: Tensor  # (k, 3h)
    first: Tensor  # (k, h): the state before the first step

    @property
    def weights(self) -> tuple[Tensor, ...]:
        return self.W, self.bias, self.U, self.first


class Pair(nn.Module):
    """The weights of a hidden layer over a word and its head."""

    query: Tensor  # (d, h, k)
    word: Tensor  # (2h, k)
    head: Tensor  # (2h, k)
    bias: Tensor  # (k,)
    out: Tensor  # (k, R)


class Encoder(nn.Module):
    """Token embeddings and memory: what every network here begins with."""

    P: Tensor  # (width of E, h)
    P_bias: Tensor

    def __init__(self, config: EncoderConfig, shapes: Mapping[str, tuple[int, ...]], *, fused: bool) -> None:
        super().__init__()
        self.config = config
        self.operations = import_module(
            "biatt.network.autograd" if fused else __name__
        )  # the same three functions
        self.E = nn.EmbeddingBag(
            shapes["E.weight"][0], config.width, mode="sum", sparse=True, include_last_offset=True
        )
        for name, shape in shapes.items():
            owner, _, attribute = name.rpartition(".")
            if owner and not hasattr(self, owner):
                setattr(self, owner, Pair() if owner == "pair" else GRU())
            if owner != "E":
                setattr(self.get_submodule(owner), attribute, nn.Parameter(torch.empty(shape)))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """N(0, DEVIATION²) for weights, 0 for biases, a constant for first states (section 3)."""
        for name, parameter in sorted(self.named_parameters()):
            if name.endswith("bias"):
                parameter.zero_()
            elif name.endswith("first"):
                parameter.fill_(FIRST_STATE)
            else:
                values = torch.empty(parameter.shape).normal_(0.0, DEVIATION, generator=generator)
                parameter.copy_(values)  # drawn on the CPU, so that a seed means the same everywhere

    def encode(self, batch: Batch, noise: Noise | None) -> tuple[Tensor, Tensor]:
        """x (M, h) and m (M, 2h)."""
        device, drop = self.P.device, noise or no_noise
        sentences = torch.from_numpy(sentence_numbers(batch.words)).to(device)  # (M,)

        # Token embeddings (2.1): x = LReL[P (E e + …)]
        rows, offsets = torch.from_numpy(batch.rows).to(device), torch.from_numpy(batch.offsets).to(device)
        x = F.leaky_relu(self.E(rows, offsets) @ self.P + self.P_bias, SLOPE)
        m = x = drop(x, sentences)

        # Memory component: m = [hˡ; hʳ]
        for name in memory_layers(self.config):
            layer: GRU = getattr(self, name)
            states = self.operations.recurrence(
                m, *layer.weights, batch.words + 1, "lr", reset=self.config.reset
            )
            m = drop(torch.cat([states[0], states[1]], -1), sentences)
        return x, m


class BiAtt(Encoder):
    """Bi-directional attention with agreement; `weights.parser_shapes` lists its weights."""

    config: ParserConfig
    F: Tensor  # (d, 2h, 3h): the rows of the query's W that multiply m̃
    C: Tensor  # (1 or A, 2h, h)
    D: Tensor  # (A, h, h)
    v: Tensor  # (A, h)
    U: Tensor  # (A, 2h, R)
    W: Tensor  # (d, h, R)
    relation_bias: Tensor
    query: GRU
    pair: Pair

    def __init__(self, config: ParserConfig, *, rows: int, relations: int, fused: bool = False) -> None:
        super().__init__(config, parser_shapes(config, rows=rows, relations=relations), fused=fused)
        self.directions = DIRECTIONS[config.directions]

    def forward(self, batch: Batch, noise: Noise | None = None) -> Output:
        device, reset, run, drop = self.P.device, self.config.reset, self.operations, noise or no_noise
        x, m = self.encode(batch, noise)

        # Query components: q and a, equations 1 and 2, and the soft headwords m̃, multiplied by U
        is_word = torch.from_numpy(word_positions(batch.words)).to(device)  # (N,)
        x = (m if self.config.query_input == "memory" else x)[is_word]  # (N, h or 2h)
        order = batch.words, self.directions
        if self.config.feedback:
            lookup = self.F, self.U, self.C, self.D, self.v
            q, log_a, soft = run.query_recurrence(x, m, *self.query.weights, *lookup, *order, reset=reset)
        else:
            q = run.recurrence(x, *self.query.weights, *order, reset=reset)
            seen = torch.cat([*q], -1)[None] if self.config.attention == "single" else q
            log_a, soft = run.attention(seen @ self.D, m @ self.U, m @ self.C, self.v, batch.words)

        # Relations, equation 5: y = softmax(U [m̃ˡ; m̃ʳ] + W [qˡ; qʳ])
        q = drop(q, torch.from_numpy(sentence_numbers(batch.words)).to(device)[is_word])
        logits = soft.sum(0) + (q @ self.W).sum(0) + self.relation_bias
        if not self.config.pair_hidden:
            return Output(log_a, logits)
        words = m[is_word] @ self.pair.word + (q @ self.pair.query).sum(0) + self.pair.bias
        return Output(log_a, logits, words, m @ self.pair.head, self.pair.out)


class Labeller(Encoder):
    """Labels for every word, read off its memory: several kinds side by side (`labeller.py`)."""

    out: Tensor  # (2h, all labels)
    out_bias: Tensor

    def __init__(self, config: EncoderConfig, *, rows: int, labels: int, fused: bool = False) -> None:
        super().__init__(config, labeller_shapes(config, rows=rows, labels=labels), fused=fused)

    def forward(self, batch: Batch, noise: Noise | None = None) -> Tensor:
        """(N, all labels): scores before the softmax."""
        _, m = self.encode(batch, noise)
        is_word = torch.from_numpy(word_positions(batch.words)).to(m.device)
        return m[is_word] @ self.out + self.out_bias


def pair_logits(output: Output, heads: Tensor) -> Tensor:
    """The relations' scores given every word's head, as a position of the batch: (N, R)."""
    if output.words is None or output.heads is None or output.out is None:
        return output.relations
    return output.relations + F.leaky_relu(output.words + output.heads[heads], SLOPE) @ output.out


def load_network(
    config: ParserConfig, weights: Mapping[str, NDArray[Any]], *, rows: int, relations: int, device: str
) -> TorchNetwork:
    network = BiAtt(config, rows=rows, relations=relations)
    try:
        network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    except RuntimeError as error:
        raise ModelError("The weights do not fit the configuration and the vocabulary.") from error
    return TorchNetwork(network.to(torch_device(device)).eval())


class TorchNetwork:
    """A trained network as a parser wants it."""

    def __init__(self, network: BiAtt) -> None:
        self.network = network

    def score(self, batch: Batch) -> Scores:
        with torch.inference_mode():
            return scores(self.network(batch))


def scores(output: Output) -> Scores:
    """The output of a network as arrays: the scores of all sentences of a batch, one after the other."""
    output = Output(*(None if part is None else part.detach().cpu() for part in output))  # type: ignore[arg-type]
    left, right = output.attention[0].numpy(), output.attention[-1].numpy()
    layer = None
    if output.words is not None and output.heads is not None and output.out is not None:
        layer = RelationLayer(output.words.numpy(), output.heads.numpy(), output.out.numpy())
    return Scores(left, left if len(output.attention) == 1 else right, output.relations.numpy(), layer)


def torch_device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"There is no device '{name}' here.") from error
    return device
