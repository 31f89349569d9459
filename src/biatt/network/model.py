"""The network of the paper, section by section, in torch.

Symbols are the paper's: x token embeddings, m memory, q queries, s scores, a attention, y relations;
P, C, D, v, U, W weights. F, not in the paper, has the rows of the query's W that multiply the soft headword.
Matrices are stored input × output, so that a row vector times the matrix is the layer. Shapes use

    B sentences of n words;  N = Σn words and M = Σ(n + 1) positions with ROOT, laid out flat (`Batch`)
    T = 1 + the largest n;   h the hidden size;   R relations
    d query directions, 1 or 2;   A attentions: d, or 1 where both queries share one

The soft headword m̃ = Σⱼ aⱼmⱼ is always multiplied by a matrix. Σⱼ aⱼ(mⱼW) is the same number, so we
multiply first: mW is one large product outside the recurrence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from biatt.config import DIRECTIONS, EncoderConfig, ParserConfig
from biatt.data.scores import NEGATIVE_SLOPE
from biatt.encoding.batches import Batch, sentence_numbers, split_vectors, word_positions
from biatt.encoding.labels import NO_LABEL
from biatt.models.weights import (
    FROZEN,
    NO_LABELS,
    VECTORS,
    fed_labels,
    labeller_shapes,
    memory_layers,
    parser_shapes,
)
from biatt.network.operations import PLAIN, GruTensors, LookupTensors, Operations

DEVIATION = 0.1  # standard deviation of initial weights: the paper's variance of 0.01
FIRST_STATE = 0.1  # initial value of the learned first state of each recurrence (the authors' constant)


class RelationTensors(NamedTuple):
    """A hidden layer of size k over a word and its head, as `data.scores.RelationLayer`."""

    words: Tensor  # (N, k)
    heads: Tensor  # (M, k)
    out: Tensor  # (k, R)


class ParserOutput(NamedTuple):
    log_a: Tensor  # (A, N, T): log a, −inf past the end of the sentence
    logits: Tensor  # (N, R): scores of the relations before softmax, without the relation layer
    relation_layer: RelationTensors | None = None
    label_scores: Tensor | None = None  # (N, all labels): scores of tags and lemma rules before softmax

    def relation_logits(self, heads: Tensor) -> Tensor:
        """Scores of the relations, (N, R), given the head of every word as a position of the batch."""
        layer = self.relation_layer
        if layer is None:
            return self.logits
        hidden = functional.leaky_relu(layer.words + layer.heads[heads], NEGATIVE_SLOPE)
        return self.logits + hidden @ layer.out


class Dropout:
    """Dropout with one mask for all words of a sentence."""

    def __init__(self, rate: float, generator: torch.Generator) -> None:
        self.rate, self.generator = rate, generator

    def __call__(self, rows: Tensor, sentences: Tensor) -> Tensor:
        """rows (…, rows, width), masked; `sentences` (rows,) has the sentence that each row belongs to."""
        size = int(sentences[-1]) + 1
        kept = self.draw(*rows.shape[:-2], size, rows.shape[-1]) >= self.rate
        mask = kept.to(rows) / (1 - self.rate)
        return rows * mask[..., sentences, :]

    def draw(self, *shape: int) -> Tensor:
        """Random numbers (…, sentences, width) in [0, 1)."""
        return torch.rand(*shape, generator=self.generator)


class GRU(nn.Module):
    """The parameters of a recurrence."""

    W: Tensor
    bias: Tensor
    U: Tensor
    first: Tensor

    def tensors(self, limit: float) -> GruTensors:
        return GruTensors(self.W, self.bias, self.U, self.first, limit)


class RelationParameters(nn.Module):
    """The parameters of the relation layer, `pair` in a model's weights."""

    query: Tensor  # (d, h, k)
    word: Tensor  # (2h, k)
    head: Tensor  # (2h, k)
    bias: Tensor  # (k,)
    out: Tensor  # (k, R)


class TagParameters(nn.Module):
    """The parameters of the choice of tags, `tags` in a model's weights."""

    out: Tensor  # (2h, labels of all kinds)
    out_bias: Tensor
    embeddings: Tensor  # (labels of tags, 2h)


class FeatureParameters(nn.Module):
    """The parameters of a contextual encoder's features, `features` in a model's weights."""

    mix: Tensor  # (layers,): the weights of the layers before softmax
    shift: Tensor  # (layers, width): with `factor`, makes every number's mean 0 and its variance 1
    factor: Tensor
    P: Tensor  # (width, h)


class VectorParameters(nn.Module):
    """The frozen word vectors and their projection, `vectors` in a model's weights."""

    weight: Tensor  # (words, width) in 8 bits
    scale: Tensor  # (words,)
    P: Tensor  # (width, h)


# The weights of a submodule by its name; all others are those of recurrences.
OWNERS: dict[str, type[nn.Module]] = {
    "pair": RelationParameters,
    "tags": TagParameters,
    "features": FeatureParameters,
    "vectors": VectorParameters,
}
TUNED_ENCODER = "encoder."  # how the weights of a contextual encoder begin that is trained with the network
CONSTANTS = ("features.shift", "features.factor")  # weights that training does not change


class Encoder(nn.Module):
    """Token embeddings (section 2.1) and memory component (2.2), the first part of every network."""

    P: Tensor  # (width of E, h)
    P_bias: Tensor

    def __init__(
        self, config: EncoderConfig, shapes: Mapping[str, tuple[int, ...]], operations: Operations
    ) -> None:
        super().__init__()
        self.config, self.operations = config, operations
        self.E = nn.EmbeddingBag(
            shapes["E.weight"][0], config.width, mode="sum", sparse=True, include_last_offset=True
        )
        for name, shape in shapes.items():
            owner, _, attribute = name.rpartition(".")
            if owner and not hasattr(self, owner):
                setattr(self, owner, OWNERS.get(owner, GRU)())
            if name in FROZEN:  # the state of the network, and so a checkpoint, is without them
                kind = torch.int8 if name == VECTORS else torch.float32
                empty = torch.zeros(shape, dtype=kind)
                self.get_submodule(owner).register_buffer(attribute, empty, persistent=False)
            elif name in CONSTANTS:
                self.get_submodule(owner).register_buffer(attribute, torch.zeros(shape))
            elif owner != "E":
                setattr(self.get_submodule(owner), attribute, nn.Parameter(torch.empty(shape)))

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """N(0, DEVIATION²) for weights, 0 for biases, a constant for first states (section 3)."""
        for name, parameter in sorted(self.named_parameters()):
            if name.startswith(TUNED_ENCODER):
                continue
            if name.endswith(("bias", ".mix")):
                parameter.zero_()
            elif name.endswith("first"):
                parameter.fill_(FIRST_STATE)
            else:
                values = torch.empty(parameter.shape).normal_(0.0, DEVIATION, generator=generator)
                parameter.copy_(values)  # drawn on the CPU, so that a seed means the same everywhere

    def token_sums(self, batch: Batch) -> Tensor:
        """P (E e + …) + b of all positions, (M, h): token embeddings (2.1) before the activation."""
        rows, offsets = (torch.from_numpy(part).to(self.P.device) for part in (batch.rows, batch.offsets))
        sums: Tensor = self.E(rows, offsets) @ self.P + self.P_bias
        return sums

    def embed(self, batch: Batch, dropout: Dropout | None) -> Tensor:
        """Token embeddings x (M, h)."""
        x = functional.leaky_relu(self.token_sums(batch), NEGATIVE_SLOPE)
        return self._dropped(x, batch, dropout)

    def memory_layer(self, name: str, inputs: Tensor, batch: Batch, dropout: Dropout | None) -> Tensor:
        """[hˡ; hʳ] of all positions, (M, 2h): a layer of the memory component (2.2)."""
        layer: GRU = getattr(self, name)
        gru = layer.tensors(self.config.state_limit)
        states = self.operations.recurrence(inputs, gru, batch.words + 1, "lr")
        return self._dropped(torch.cat([states[0], states[1]], -1), batch, dropout)

    def _dropped(self, rows: Tensor, batch: Batch, dropout: Dropout | None) -> Tensor:
        if dropout is None:
            return rows
        return dropout(rows, torch.from_numpy(sentence_numbers(batch.words)).to(rows.device))


class BiAtt(Encoder):
    """Bi-directional attention with agreement; `weights.parser_shapes` lists its weights."""

    config: ParserConfig
    F: Tensor  # (d, 2h, 3h)
    C: Tensor  # (1, 2h, h): shared by the attentions
    D: Tensor  # (A, h, h), or (1, 2h, h) with one attention over both queries
    v: Tensor  # (A, h)
    U: Tensor  # (A, 2h, R)
    W: Tensor  # (d, h, R)
    relation_bias: Tensor
    query: GRU
    pair: RelationParameters
    tags: TagParameters
    features: FeatureParameters
    encoder: nn.Module  # one that is tuned
    vectors: VectorParameters

    def __init__(
        self,
        config: ParserConfig,
        *,
        rows: int,
        relations: int,
        labels: Mapping[str, int] = NO_LABELS,
        operations: Operations = PLAIN,
    ) -> None:
        """`labels` has the number of labels of each kind, if the network chooses tags."""
        shapes = parser_shapes(config, rows=rows, relations=relations, labels=labels)
        super().__init__(config, shapes, operations)
        self.directions = DIRECTIONS[config.directions]
        self.fed_labels = fed_labels(labels)

    def load(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Set all weights."""
        self.set_frozen(weights)
        self.load_state_dict(
            {name: torch.from_numpy(value) for name, value in weights.items() if name not in FROZEN}
        )

    def set_frozen(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Set the weights that training does not change."""
        for name in FROZEN:
            if name in weights:
                self.get_buffer(name).copy_(torch.from_numpy(weights[name]))

    def token_sums(self, batch: Batch) -> Tensor:
        if self.config.vector_width:
            batch, frozen_rows = split_vectors(batch, rows=self.E.num_embeddings)
            positions, rows = (torch.from_numpy(part).to(self.P.device) for part in frozen_rows)
            vectors = self.vectors.weight[rows] * self.vectors.scale[rows, None]
            sums = super().token_sums(batch).index_add(0, positions, vectors.to(self.P) @ self.vectors.P)
        else:
            sums = super().token_sums(batch)
        if self.config.feature_layers:
            layers = (self._features(batch).to(sums) + self.features.shift) * self.features.factor
            mixed = (self.features.mix.softmax(0)[:, None] * layers).sum(1)
            sums = sums.index_add(0, self._words(batch), mixed @ self.features.P)
        return sums

    def _features(self, batch: Batch) -> Tensor:
        if batch.pieces:
            states: Tensor = self.encoder(batch.pieces)
            return states
        assert batch.features is not None
        return torch.from_numpy(batch.features)

    def with_tags(self, m: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The scores of the labels, (N, labels), and m with the expected embeddings of the tags added.

        A tag that the batch has is certain.
        """
        words = self._words(batch)
        scores = m[words] @ self.tags.out + self.tags.out_bias
        if not self.fed_labels:
            return scores, m
        parts = scores[:, : sum(self.fed_labels)].split(self.fed_labels, -1)
        probabilities = [part.softmax(-1) for part in parts]
        if batch.labels is not None:
            given = torch.from_numpy(batch.labels).long().to(m.device)
            probabilities = [
                torch.where(
                    given[:, kind, None] == NO_LABEL,
                    part,
                    functional.one_hot(given[:, kind].clamp(min=0), part.shape[-1]).to(part),
                )
                for kind, part in enumerate(probabilities)
            ]
        return scores, m.index_add(0, words, torch.cat(probabilities, -1) @ self.tags.embeddings)

    def _words(self, batch: Batch) -> Tensor:
        """The positions of all words, (N,)."""
        return torch.from_numpy(word_positions(batch.words)).to(self.P.device)

    def forward(self, batch: Batch, dropout: Dropout | None = None) -> ParserOutput:
        x = self.embed(batch, dropout)
        first, *others = memory_layers(self.config)
        m, label_scores = self.memory_layer(first, x, batch, dropout), None
        if self.config.tags:
            label_scores, m = self.with_tags(m, batch)
        for name in others:
            m = self.memory_layer(name, m, batch, dropout)

        # Query components (2.2): q and a, equations 1 and 2, and the soft headwords m̃, multiplied by U
        is_word = self._words(batch)
        x = (m if self.config.query_input == "memory" else x)[is_word]  # (N, h or 2h)
        gru, order = self.query.tensors(self.config.state_limit), (batch.words, self.directions)
        if self.config.feedback:
            lookup = LookupTensors(self.F, self.U, self.C, self.D, self.v)
            q, log_a, soft = self.operations.query_recurrence(x, m, gru, lookup, *order)
        else:
            q = self.operations.recurrence(x, gru, *order)
            queries = torch.cat([*q], -1)[None] if self.config.attention == "single" else q
            log_a, soft = self.operations.attention(
                queries @ self.D, m @ self.U, m @ self.C, self.v, batch.words
            )

        # Relations, equation 5: y = softmax(U [m̃ˡ; m̃ʳ] + W [qˡ; qʳ])
        if dropout is not None:
            q = dropout(q, torch.from_numpy(sentence_numbers(batch.words)).to(q.device)[is_word])
        logits = soft.sum(0) + (q @ self.W).sum(0) + self.relation_bias  # (N, R)
        if not self.config.pair_hidden:
            return ParserOutput(log_a, logits, None, label_scores)
        words = m[is_word] @ self.pair.word + (q @ self.pair.query).sum(0) + self.pair.bias
        layer = RelationTensors(words, m @ self.pair.head, self.pair.out)
        return ParserOutput(log_a, logits, layer, label_scores)


class Labeller(Encoder):
    """Labels of several kinds for every word, from its memory (`annotate/labeller.py`)."""

    out: Tensor  # (2h, labels of all kinds)
    out_bias: Tensor

    def __init__(
        self, config: EncoderConfig, *, rows: int, labels: int, operations: Operations = PLAIN
    ) -> None:
        super().__init__(config, labeller_shapes(config, rows=rows, labels=labels), operations)

    def forward(self, batch: Batch, dropout: Dropout | None = None) -> Tensor:
        """Scores before softmax, (N, labels of all kinds)."""
        m = self.embed(batch, dropout)
        for name in memory_layers(self.config):
            m = self.memory_layer(name, m, batch, dropout)
        is_word = torch.from_numpy(word_positions(batch.words)).to(m.device)
        return m[is_word] @ self.out + self.out_bias
