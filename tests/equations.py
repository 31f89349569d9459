"""The paper's equations in plain numpy: vectors, one word and one head at a time.

The networks are tested against these functions, so nothing here is batched or shared with the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from biatt.encoding.vocabulary import Encoded

if TYPE_CHECKING:
    from biatt.network.model import BiAtt

Array = np.ndarray[Any, np.dtype[np.float64]]


def lrel(x: Array) -> Array:
    return np.array([value if value > 0 else 0.1 * value for value in x])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array) -> Array:
    result: Array = np.exp(x) / np.exp(x).sum()
    return result


def slow_gru(previous: Array, x: Array, W: Array, U: Array, b: Array, *, limit: float) -> Array:
    """Cho et al. 2014 with LReL and a limit of the candidate.

    W is 3h × inputs, U is 3h × h, parts in the order r, z, candidate.
    """
    (W_r, W_z, W_h), (U_r, U_z, U_h), (b_r, b_z, b_h) = (np.split(part, 3) for part in (W, U, b))
    r = sigmoid(W_r @ x + U_r @ previous + b_r)
    z = sigmoid(W_z @ x + U_z @ previous + b_z)
    candidate = lrel(W_h @ x + U_h @ (r * previous) + b_h)
    return z * previous + (1 - z) * np.array([min(max(value, -limit), limit) for value in candidate])


def slow_forward(
    model: BiAtt, sentence: Encoded, masks: Sequence[Array] | None = None
) -> tuple[Array, Array]:
    """log a, (attentions, n, n + 1), and log y of every word and head, (n, n + 1, R), of one sentence.

    Masks are what dropout multiplies by: embeddings, each layer of the memory, and queries.
    """
    config, n, h = model.config, sentence.words, model.config.hidden
    w = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    x_mask, *m_masks, q_mask = masks or [np.float64(1)] * (config.layers + 1) + [np.ones((2, h))]

    def gru(part: str, k: int, previous: Array, x: Array, W: Array) -> Array:
        U, bias = w[f"{part}.U"][k], w[f"{part}.bias"][k]
        return slow_gru(previous, x, W.T, U.T, bias, limit=config.state_limit)

    # x_i = LReL[P(E e_i + …)], with a bias
    x = []
    for i in range(n + 1):
        total = np.zeros(config.width)
        for row in sentence.rows[sentence.offsets[i] : sentence.offsets[i + 1]]:
            total = total + w["E.weight"][row]
        total = w["P"].T @ total + w["P_bias"]
        if config.feature_layers and i > 0:  # beyond the paper: a mean of a contextual encoder's layers
            assert sentence.features is not None
            for k, share in enumerate(softmax(w["features.mix"])):
                layer = (sentence.features[i - 1, k] + w["features.shift"][k]) * w["features.factor"][k]
                total = total + share * (w["features.P"].T @ layer)
        x.append(x_mask * lrel(total))

    # m_j = [hˡ_j; hʳ_j], ROOT included, of x or of the layer before
    m = x
    for name, mask in zip(["memory", "memory2", "memory3"][: config.layers], m_masks, strict=True):
        left, right = {-1: w[f"{name}.first"][0]}, {n + 1: w[f"{name}.first"][1]}
        for j in range(n + 1):
            left[j] = gru(name, 0, left[j - 1], m[j], w[f"{name}.W"][0])
        for j in range(n, -1, -1):
            right[j] = gru(name, 1, right[j + 1], m[j], w[f"{name}.W"][1])
        m = [mask * np.concatenate([left[j], right[j]]) for j in range(n + 1)]
        if config.tags and name == "memory":
            m = [m[0], *(m[j] + slow_tags(model, m[j], sentence, j) for j in range(1, n + 1))]
    read = m if config.query_input == "memory" else x

    def headword_probabilities(k: int, q: Array) -> Array:
        """Equations 1 and 2."""
        C, D, v = w["C"][0], w["D"][k], w["v"][k]
        return softmax(np.array([v @ np.tanh(C.T @ m[j] + D.T @ q) for j in range(n + 1)]))

    def soft_headword(a: Array) -> Array:
        total = np.zeros(2 * h)
        for j in range(n + 1):
            total = total + a[j] * m[j]
        return total

    directions = {"both": "lr", "left-to-right": "l", "right-to-left": "r"}[config.directions]
    q: list[dict[int, Array]] = []
    a: list[dict[int, Array]] = []
    soft: list[dict[int, Array]] = []
    for k, direction in enumerate(directions):
        q.append({})
        a.append({})
        soft.append({})
        state, headword = w["query.first"][k], np.zeros(2 * h)
        for t in range(1, n + 1) if direction == "l" else range(n, 0, -1):
            if config.feedback:  # q_t = GRU(q_{t−1}, [m̃_{t−1}; x_t])
                weights = np.concatenate([w["F"][k], w["query.W"][k]])
                state = gru("query", k, state, np.concatenate([headword, read[t]]), weights)
            else:
                state = gru("query", k, state, read[t], w["query.W"][k])
            q[k][t] = state
            if config.attention == "agreement":
                a[k][t] = headword_probabilities(k, state)
                soft[k][t] = headword = soft_headword(a[k][t])
    if config.attention == "single":
        a = [{t: headword_probabilities(0, np.concatenate([q[0][t], q[1][t]])) for t in range(1, n + 1)}]
        soft = [{t: soft_headword(a[0][t]) for t in range(1, n + 1)}]

    # y_t = softmax(U[m̃ˡ_t; m̃ʳ_t] + W[qˡ_t; qʳ_t]), equation 5, with a bias; beyond the paper, a hidden layer
    # over the queries and the memories of the word and of its head j is added before the softmax
    U, W = np.concatenate(list(w["U"])).T, np.concatenate(list(w["W"])).T
    y = np.empty((n, n + 1, len(w["relation_bias"])))
    for t, j in product(range(1, n + 1), range(n + 1)):
        queries = np.concatenate([mask * part[t] for part, mask in zip(q, q_mask, strict=False)])
        logits = U @ np.concatenate([part[t] for part in soft]) + W @ queries + w["relation_bias"]
        if config.pair_hidden:
            words = w["pair.word"].T @ m[t] + np.concatenate(list(w["pair.query"])).T @ queries
            logits = logits + w["pair.out"].T @ lrel(words + w["pair.head"].T @ m[j] + w["pair.bias"])
        y[t - 1, j] = softmax(logits)
    return np.log([[part[t] for t in range(1, n + 1)] for part in a]), np.log(y)


def slow_tags(model: BiAtt, m: Array, sentence: Encoded, j: int) -> Array:
    """The expected embeddings of the tags of the word j; of a tag that is known, its embedding."""
    w = {name: value.detach().numpy() for name, value in model.state_dict().items()}
    scores, total, start = w["tags.out"].T @ m + w["tags.out_bias"], np.zeros(len(m)), 0
    for kind, size in enumerate(model.fed_labels):
        embeddings = w["tags.embeddings"][start : start + size]
        known = -1 if sentence.labels is None else sentence.labels[j - 1, kind]
        if known >= 0:
            total = total + embeddings[known]
        else:
            for share, embedding in zip(softmax(scores[start : start + size]), embeddings, strict=True):
                total = total + share * embedding
        start += size
    return total


def slow_log_likelihood(log_a: Array, log_y: Array, sentence: Encoded, *, smoothing: float = 0.0) -> float:
    """Each gold choice, mixed with the mean over all choices; words without a head are ignored."""
    total = 0.0
    for t, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        if head < 0:
            continue
        choices = [(a[t], head) for a in log_a]
        choices += [(log_y[t, head], relation)] if relation >= 0 else []
        for values, gold in choices:
            total += (1 - smoothing) * values[gold] + smoothing * sum(values) / len(values)
    return total
