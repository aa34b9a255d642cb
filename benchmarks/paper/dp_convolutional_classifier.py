"""A convolutional network trained by DP-SGD."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import convolution
import numpy as np
from numpy.typing import ArrayLike, NDArray

from darrm._sklearn import check_is_fitted, check_records
from darrm._validation import check_count
from darrm.ensemble.dp_classifier import DPClassifier
from darrm.ensemble.kinds import check_classes
from darrm.errors import InputError

Array = NDArray[np.float64]
MAX_CLASSES = 1000


class DPConvolutionalClassifier(DPClassifier):
    """A small convolutional network for images, by DP-SGD: the fitted model is (epsilon, delta)-differentially private.

        w  <-  w - lr / (q n) * (sum over a Poisson sample of clip(gradient, C) + N(0, (sigma C)^2 I))

    from random weights. Layers: for each of ``channels`` a 3 x 3 convolution, tanh and 2 x 2 maximum; one linear layer.
    The model is the mean of the last half of the iterates. Needs PyTorch and Opacus: ``pip install torch opacus``.

    Parameters
    ----------
    epsilon : float in (0, 100], nats
    delta : float in (0, 1)
        Both must be given.
    image_shape : (int, int), optional
        Height and width. From images of shape (n, h, w), or taken to be square, if not given.
    channels : sequence of int
        Of each convolution.
    sampling_rate : float in (0, 1]
        q, the probability of a record to be in the sample of a step.
    steps : int, at least 1
    clip : float > 0
        C, the largest L2 norm of the gradient of one record, over all weights.
    learning_rate : float > 0
    adjacency : {"replace-one", "add-remove"}
    n_records : float >= 1, optional
        A number near n that does not depend on the data, to divide by. Needed for "add-remove", where n is private;
        the number of images otherwise.
    classes : sequence of labels, optional
        From y if not given: then the labels that occur are taken to be public.
    random_state : optional
        For tests only: the noise can then be predicted, which a `NotPrivateWarning` says. Without it, all randomness
        comes from the operating system.

    Attributes
    ----------
    classes_ : ndarray
    network_ : torch.nn.Sequential
        From (n, 1, h, w) in float64 to scores of shape (n, classes).
    image_shape_ : (int, int)
    n_iter_ : int
        Steps.
    epsilon_, delta_, adjacency_
        What the model costs: ``epsilon_`` is the accountant's upper bound, at most ``epsilon``.
    noise_multiplier_ : float
        sigma.
    n_features_in_ : int
        h w.

    Notes
    -----
    The gradients of single records are computed by Opacus; sampling, clipping, noise and their proof are those of
    `darrm.ensemble.dp_sgd`, as for `DPLogisticRegression`. A gradient that is not finite counts as 0; pixels beyond
    1e6 in size count as 1e6. Divide pixels by a constant so that they are in about [0, 1]. tanh: Papernot et al.,
    "Tempered sigmoid activations for deep learning with differential privacy", AAAI 2021. A fit that is refused
    tells something about the data that no epsilon covers. O(steps n) gradients of float64, on the processor.
    """

    def __init__(
        self,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        image_shape: tuple[int, int] | None = None,
        channels: Sequence[int] = (8,),
        sampling_rate: float = 0.5,
        steps: int = 40,
        clip: float = 1.0,
        learning_rate: float = 2.0,
        adjacency: str = "replace-one",
        n_records: float | None = None,
        classes: Sequence[Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.image_shape = image_shape
        self.channels = channels
        self.sampling_rate = sampling_rate
        self.steps = steps
        self.clip = clip
        self.learning_rate = learning_rate
        self.adjacency = adjacency
        self.n_records = n_records
        self.classes = classes
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> DPConvolutionalClassifier:
        """Train on private images.

        Parameters
        ----------
        X : array_like, shape (n, h, w) or (n, h * w)
        y : array_like of any dtype, shape (n,)

        Returns
        -------
        self

        Raises
        ------
        InputError, MissingExtraError
        """
        convolution.pytorch()
        target = self._target()
        try:
            channels = tuple(check_count("channels", width, 4096) for width in self.channels)
        except TypeError:
            raise InputError(f"channels must be whole numbers, one for each layer. Got {self.channels!r}.") from None
        rows, given = _rows(X, self.image_shape)
        pixels, labels = check_records(self, rows, y)
        shape = _square(pixels.shape[1]) if given is None else given
        if shape[0] * shape[1] != pixels.shape[1]:
            raise InputError(f"image_shape {shape} does not fit rows of {pixels.shape[1]} pixels.")
        if self.classes is None:
            classes = check_classes(labels, "non-private")
            codes = np.searchsorted(classes, labels).astype(np.intp)
        else:
            classes, codes = self._codes(labels, MAX_CLASSES)
        options, costs = self._options(target, len(pixels))
        self.network_ = convolution.train_network(
            pixels, codes, shape=shape, channels=channels, classes=classes.size, **options
        )
        self.classes_, self.image_shape_ = classes, shape
        self.__dict__.update(costs)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Scores of each class, shape (n, classes); of two classes the second less the first, shape (n,)."""
        scores = self._scores(X)
        return np.asarray(scores[:, 1] - scores[:, 0]) if self.classes_.size == 2 else scores

    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities in the order of ``classes_``, shape (n, classes)."""
        from scipy.special import softmax

        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each image, shape (n,).

        Any number of answers about public X costs nothing more. Answers about private X are a release of X.
        """
        return np.asarray(self.classes_[self._scores(X).argmax(axis=1)])

    def _scores(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        rows, _ = _rows(X, self.image_shape_)
        return convolution.scores(self.network_, check_records(self, rows, reset=False), self.image_shape_)


def _rows(X: Any, shape: Any) -> tuple[Any, tuple[int, int] | None]:
    """Images as rows of pixels, and their height and width if these are known."""
    if shape is not None:
        try:
            height, width = shape
        except (TypeError, ValueError):
            raise InputError(f"image_shape must be (height, width). Got {shape!r}.") from None
        shape = check_count("image_shape[0]", height), check_count("image_shape[1]", width)
    if getattr(X, "ndim", 2) != 3:
        return X, shape
    images = np.asarray(X)
    if shape is not None and images.shape[1:] != shape:
        raise InputError(f"Images must be of shape {shape}. Got {images.shape[1:]}.")
    return images.reshape(len(images), -1), images.shape[1:]


def _square(n: int) -> tuple[int, int]:
    side = math.isqrt(n)
    if side * side != n:
        raise InputError(f"Rows of {n} pixels are no square images. Pass image_shape=(height, width).")
    return side, side
