"""A small convolutional network of PyTorch, and its training by DP-SGD with the gradients of single records by Opacus.

No layer mixes records (there is no batch norm), so the gradient of record i depends on the weights and on record i
alone, as the proof of `darrm.ensemble.dp_sgd` asks. Sampling, clipping and noise are those of that module.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darrm.ensemble.dp_sgd import Batch, clipped_sum, iterates, normals
from darrm.errors import MissingExtraError
from darrm.numerics.arrays import Array
from darrm.randomness.coins import WordSource

Shape = tuple[int, int]
_FARTHEST = 1e6  # of a pixel
_NUMBERS = 2**22  # of gradients that are held at a time


def pytorch() -> Any:
    """PyTorch; `MissingExtraError` without it or without Opacus."""
    try:
        import_module("opacus")
        return import_module("torch")
    except ImportError:
        raise MissingExtraError(
            "Convolutional networks need PyTorch and Opacus. Run: pip install torch opacus"
        ) from None


def network(shape: Shape, channels: tuple[int, ...], classes: int) -> Any:
    """A ``torch.nn.Sequential`` from (n, 1, h, w) to (n, classes) scores, in float64, its weights not yet set.

    For each number of channels a 3 x 3 convolution, tanh, and the largest of each 2 x 2 (of what there is at a border);
    then one linear layer.
    """
    torch = pytorch()
    nn, layers, last = torch.nn, [], 1
    with torch.device("meta"):  # no initial weights of PyTorch's own generator
        for width in channels:
            layers += [nn.Conv2d(last, width, 3, padding=1), nn.Tanh(), nn.MaxPool2d(2, ceil_mode=True)]
            shape, last = (-(-shape[0] // 2), -(-shape[1] // 2)), width
        layers += [nn.Flatten(), nn.Linear(last * shape[0] * shape[1], classes)]
        made = nn.Sequential(*layers)
    return made.double().to_empty(device="cpu")


def start(model: Any, words: WordSource) -> Array:
    """Initial weights: biases 0, others normal of variance 1 / (inputs of their unit), from random words."""
    parts = []
    for part in model.parameters():
        spread = 1 / math.sqrt(math.prod(part.shape[1:])) if part.ndim > 1 else 0.0
        parts.append(spread * normals(part.numel(), words))
    return np.concatenate(parts)


def put(model: Any, weights: Array) -> None:
    """Set all weights, in the order of ``model.parameters()``."""
    torch = pytorch()
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(torch.from_numpy(weights.copy()), model.parameters())


def tensor(pixels: Array, shape: Shape) -> Any:
    """Rows of pixels as images, shape (n, 1, h, w)."""
    return pytorch().from_numpy(np.clip(pixels, -_FARTHEST, _FARTHEST).reshape(-1, 1, *shape))


def record_gradients(model: Any, images: Any, codes: Any) -> Array:
    """The gradient of the cross-entropy of each record, shape (n, p); ``model`` is an ``opacus.GradSampleModule``."""
    torch = pytorch()
    with torch.enable_grad():
        # Opacus hooks ask for a first layer whose input has a gradient, or warn.
        scores = model(images.detach().requires_grad_())
        torch.nn.functional.cross_entropy(scores, codes, reduction="sum").backward()
    by_layer = [part.grad_sample.flatten(1) for part in model.parameters()]
    gradients = np.asarray(torch.cat(by_layer, dim=1).numpy())
    model.zero_grad(set_to_none=True)
    return gradients


def clipped_gradient(model: Any, images: Any, codes: NDArray[np.intp], clip: float) -> Callable[[Array, Batch], Array]:
    """What `iterates` asks for: the sum of clipped gradients of a batch; some thousand records are held at a time."""
    module = import_module("opacus").GradSampleModule(model, loss_reduction="sum")
    targets = pytorch().from_numpy(codes.astype(np.int64))

    def gradient(weights: Array, batch: Batch) -> Array:
        put(model, weights)
        rows, total = np.flatnonzero(batch), np.zeros(weights.size)
        at_a_time = max(1, _NUMBERS // weights.size)
        for first in range(0, rows.size, at_a_time):
            some = rows[first : first + at_a_time]
            total += clipped_sum(record_gradients(module, images[some], targets[some]), clip)
        return total

    return gradient


def train_network(
    pixels: Array,
    codes: NDArray[np.intp],
    *,
    shape: Shape,
    channels: tuple[int, ...],
    classes: int,
    steps: int,
    clip: float,
    words: WordSource,
    **options: Any,
) -> Any:
    """A network of which the weights are the mean of the last half of the iterates of DP-SGD.

    Parameters
    ----------
    pixels : ndarray, shape (n, h * w)
    codes : ndarray of int in [0, classes), shape (n,)
    shape : (h, w)
    channels, classes
        Of `network`.
    steps, clip, words, options
        Of `darrm.ensemble.dp_sgd.iterates`.

    Returns
    -------
    torch.nn.Sequential
    """
    model = network(shape, channels, classes)
    begin = start(model, words)
    gradient = clipped_gradient(network(shape, channels, classes), tensor(pixels, shape), codes, clip)
    total, first = np.zeros(begin.size), steps // 2
    options |= {"steps": steps, "clip": clip, "words": words}
    for step, weights in enumerate(iterates(gradient, begin, len(pixels), **options)):
        if step >= first:
            total += weights / (steps - first)
    put(model, total)
    return model.requires_grad_(False)


def scores(model: Any, pixels: Array, shape: Shape) -> Array:
    """Scores of each class, shape (n, classes), finite."""
    parts = [model(part).numpy() for part in tensor(pixels, shape).split(4096)]
    return np.asarray(np.nan_to_num(np.concatenate(parts)))
