"""Convolutional networks by DP-SGD (benchmarks/paper).

They need PyTorch and Opacus, which ``make test`` does not install: ``make opacus``.
"""

import math
import pickle
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest
from scripts import FOLDERS, load
from sklearn.base import clone
from sklearn.datasets import load_digits

import darrm
from darrm.ensemble import PrivateMajorityClassifier
from darrm.ensemble.dp_sgd import calibrated_noise, clipped_sum, iterates
from darrm.randomness.words import NotPrivateWarning

opacus: Any = pytest.importorskip("opacus", reason="needs Opacus and PyTorch: make opacus")
torch: Any = pytest.importorskip("torch", reason="needs Opacus and PyTorch: make opacus")
convolution = load("convolution")
DPConvolutionalClassifier: Any = load("dp_convolutional_classifier").DPConvolutionalClassifier
seeded = pytest.mark.filterwarnings("ignore::darrm.randomness.words.NotPrivateWarning")
PIXELS, DIGIT = load_digits(return_X_y=True)
PIXELS, ODD = PIXELS / 16, DIGIT % 2
SHAPE = (8, 8)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    """Small networks are quicker so, and repeatable to the last bit."""
    torch.set_num_threads(1)


def words(seed: int) -> Callable[[int], Any]:
    rng = np.random.default_rng(seed)
    return lambda n: rng.integers(0, 1 << 64, size=n, dtype=np.uint64)


def cnn(epsilon: Any = 3.0, delta: Any = 1e-5, **options: Any) -> Any:
    return DPConvolutionalClassifier(epsilon, delta, **{"steps": 5} | options)


def trained(pixels: Any, codes: Any, **options: Any) -> np.ndarray:
    """Weights after training; without noise, sampling or luck unless options say so."""
    known = {"shape": SHAPE, "channels": (3,), "classes": 2, "rate": 1.0, "steps": 1, "clip": 0.3}
    known |= {"learning_rate": 0.7, "n": len(pixels), "noise_multiplier": 0.0, "words": words(1)}
    return flat(convolution.train_network(pixels, codes, **known | options))


def flat(model: Any) -> np.ndarray:
    return torch.cat([part.detach().flatten() for part in model.parameters()]).numpy().copy()


def one_by_one(model: Any, pixels: np.ndarray, codes: np.ndarray, shape: tuple[int, int] = SHAPE) -> np.ndarray:
    """Gradients of single records by automatic differentiation of one record at a time, without Opacus."""
    parameters = [part.requires_grad_() for part in model.parameters()]
    found = []
    for row, code in zip(pixels, codes, strict=True):
        image = torch.from_numpy(row.reshape(1, 1, *shape).copy())
        loss = torch.nn.functional.cross_entropy(model(image), torch.tensor([int(code)]))
        found.append(torch.cat([part.flatten() for part in torch.autograd.grad(loss, parameters)]).numpy())
    return np.array(found)


def plain(shape: tuple[int, int], channels: tuple[int, ...], classes: int, seed: int) -> Any:
    model = convolution.network(shape, channels, classes)
    convolution.put(model, convolution.start(model, words(seed)))
    return model


# ---- gradients


@pytest.mark.parametrize(
    ("shape", "channels", "classes"),
    [((8, 8), (8,), 2), ((8, 8), (4, 6), 10), ((4, 16), (3, 3, 3), 3), ((1, 64), (), 2)],
)
def test_gradients_of_records_are_those_of_one_record_at_a_time(shape: Any, channels: Any, classes: int) -> None:
    pixels, codes = PIXELS[:30], DIGIT[:30] % classes
    model = plain(shape, channels, classes, 2)
    expected = one_by_one(model, pixels, codes, shape)
    module = opacus.GradSampleModule(plain(shape, channels, classes, 2), loss_reduction="sum")
    targets = torch.from_numpy(codes.astype(np.int64))
    for _ in range(2):  # nothing is left from the call before
        found = convolution.record_gradients(module, convolution.tensor(pixels, shape), targets)
        assert found.shape == (30, flat(model).size)
        assert found == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("clip", [1e-3, 2.2, 1e3])
def test_the_sum_of_a_batch_is_of_clipped_gradients(clip: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, codes = PIXELS[:50], ODD[:50]
    weights = convolution.start(convolution.network(SHAPE, (3,), 2), words(3))
    model = plain(SHAPE, (3,), 2, 3)
    gradients = one_by_one(model, pixels, codes)
    norms = np.linalg.norm(gradients, axis=1)
    assert norms.min() < 2.2 < norms.max()
    batch = np.arange(50) % 3 > 0
    expected = (gradients / np.maximum(norms / clip, 1)[:, None])[batch].sum(axis=0)
    for numbers in (2**22, 7 * weights.size, 1):  # all at once, seven at a time, one at a time
        monkeypatch.setattr(convolution, "_NUMBERS", numbers)
        made = convolution.network(SHAPE, (3,), 2)
        gradient = convolution.clipped_gradient(made, convolution.tensor(pixels, SHAPE), codes, clip)
        assert gradient(weights, batch) == pytest.approx(expected, rel=1e-10, abs=1e-15)
        assert not gradient(weights, np.zeros(50, dtype=bool)).any()


@pytest.mark.parametrize("size", [0.0, 1e-300, 1.0, 1e200, 1e308])
def test_each_clipped_gradient_is_within_the_clip_norm(size: float) -> None:
    row = size * np.array([[0.6, -0.8, 0.1, 0.0]])
    found = clipped_sum(row, 0.25)
    assert found == pytest.approx(row[0] * min(1, 0.25 / max(size * math.sqrt(1.01), 1e-305)), rel=1e-12)
    for spoiled in (np.nan, np.inf, -np.inf):
        bad = np.array([1.0, spoiled, 0.0, 2.0])
        assert clipped_sum(np.vstack([row, bad]), 0.25) == pytest.approx(found, rel=1e-15)


@pytest.mark.parametrize("pixel", [1e300, -1e30, 1e-320])
def test_one_image_moves_a_step_by_the_clip_norm_at_most(pixel: float) -> None:
    others, codes = PIXELS[:20], ODD[:20]
    images = np.vstack([others, np.full((1, 64), pixel)])
    for label in (0, 1):
        moved = trained(images, np.append(codes, label), n=1.0) - trained(others, codes, n=1.0)
        assert np.isfinite(moved).all()
        assert np.linalg.norm(moved) <= 0.7 * 0.3 * (1 + 1e-9)


def test_a_record_that_breaks_the_network_counts_as_nothing() -> None:
    model = convolution.network(SHAPE, (3,), 2)
    weights = convolution.start(model, words(4))
    weights[:] = np.where(np.arange(weights.size) % 2, 1e100, -1e100)
    weights[-100:] *= 1e200  # scores of 1e300 and more, the sum of which leaves float64
    gradient = convolution.clipped_gradient(model, convolution.tensor(PIXELS[:9], SHAPE), ODD[:9], 0.3)
    summed = gradient(weights, np.ones(9, dtype=bool))
    assert np.isfinite(summed).all()
    assert np.linalg.norm(summed) <= 9 * 0.3


def test_a_record_that_breaks_the_network_does_not_reach_the_others() -> None:
    model = convolution.network(SHAPE, (3,), 2)
    weights = convolution.start(model, words(4))
    weights[:27] = np.where(np.arange(27) % 2, 1e305, -1e305)
    pixels = np.zeros((5, 64))
    pixels[2] = 1e6  # sums of both infinities
    gradient = convolution.clipped_gradient(model, convolution.tensor(pixels, SHAPE), np.ones(5, dtype=np.intp), 0.3)
    broken, others = np.arange(5) == 2, np.arange(5) != 2
    assert not gradient(weights, broken).any()
    assert np.linalg.norm(gradient(weights, others)) == pytest.approx(4 * 0.3)
    assert gradient(weights, broken | others) == pytest.approx(gradient(weights, others), rel=1e-14)


# ---- noise, samples, start


def test_without_noise_it_is_clipped_gradient_descent_and_the_mean_of_the_last_half() -> None:
    pixels, codes = PIXELS[:40], ODD[:40]
    model = plain(SHAPE, (3,), 2, 1)
    w, path = flat(model), []
    for _ in range(5):
        convolution.put(model, w)
        gradients = one_by_one(model, pixels, codes)
        gradients /= np.maximum(np.linalg.norm(gradients, axis=1, keepdims=True) / 0.3, 1)
        w = w - 0.7 * gradients.mean(axis=0)
        path.append(w)
    assert trained(pixels, codes, steps=5) == pytest.approx(np.mean(path[2:], axis=0), rel=1e-10, abs=1e-13)


def test_the_noise_has_its_scale_in_every_weight_and_step() -> None:
    # The same words give the same start and samples: what is left is the noise of one step, or of two.
    pixels, codes, rate, n = PIXELS[:30], ODD[:30], 1.0, 30.0
    options: dict[str, Any] = {"channels": (200,), "clip": 0.5, "learning_rate": 0.8, "rate": rate, "n": n}
    noise = trained(pixels, codes, noise_multiplier=3.0, **options) - trained(pixels, codes, **options)
    scale = 0.8 / (rate * n) * 3.0 * 0.5
    assert noise.size == 200 * 10 + 2 * (200 * 16 + 1)
    assert kstest(noise / scale, "norm").pvalue > 1e-4
    for part in (noise[:1800], noise[1800:2000], noise[2000:-2]):
        assert abs((part / scale).std() - 1) < 5 / math.sqrt(2 * part.size)
    # Two steps: the mean of the last half is the second iterate, with the noise of both. Where so little is clipped and
    # moved, the gradients of the two runs are the same and cancel.
    still = options | {"clip": 1e-9, "steps": 2}
    both = trained(pixels, codes, noise_multiplier=3.0, **still) - trained(pixels, codes, **still)
    scale = 0.8 / (rate * n) * 3.0 * 1e-9 * math.sqrt(2)
    assert kstest(both / scale, "norm").pvalue > 1e-4


def test_samples_are_poisson_and_noise_does_not_depend_on_them() -> None:
    rows, seen = 4000, []

    def gradient(weights: np.ndarray, batch: np.ndarray) -> np.ndarray:
        seen.append(batch)
        return np.zeros(3)

    options = {"noise_multiplier": 1.0, "clip": 1.0, "learning_rate": 1.0, "n": 10.0}
    list(iterates(gradient, np.zeros(3), rows, rate=0.3, steps=6, words=words(5), **options))
    sizes = np.array([one.sum() for one in seen])
    assert (abs(sizes - 0.3 * rows) < 5 * math.sqrt(0.21 * rows)).all()
    assert np.unique(sizes).size > 1
    assert all(abs((a & b).mean() - 0.09) < 0.03 for a, b in pairwise(seen))


def test_the_start_is_random_and_does_not_depend_on_the_data_or_on_pytorch() -> None:
    model = convolution.network(SHAPE, (60,), 2)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    first, again, other = (convolution.start(model, words(seed)) for seed in (6, 6, 7))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert kstest(3 * first[:540], "norm").pvalue > 1e-4
    assert not first[540:600].any()
    assert kstest(math.sqrt(60 * 16) * first[600:-2], "norm").pvalue > 1e-4
    cnn(1.0).fit(PIXELS[:40], ODD[:40])
    assert torch.equal(torch.get_rng_state(), state)


# ---- the classifier


def test_the_fitted_model_says_what_it_costs() -> None:
    model = cnn(2.0, steps=6, sampling_rate=0.25).fit(PIXELS, DIGIT)
    noise, spent = calibrated_noise(2.0, 1e-5, 0.25, 6, "replace-one")
    assert (model.epsilon_, model.delta_, model.adjacency_) == (spent, 1e-5, "replace-one")
    assert (model.noise_multiplier_, model.n_iter_, model.image_shape_, model.n_features_in_) == (noise, 6, SHAPE, 64)
    assert model.classes_.tolist() == list(range(10))
    assert model.predict_proba(PIXELS).sum(axis=1) == pytest.approx(1)
    assert np.array_equal(model.predict(PIXELS), model.decision_function(PIXELS).argmax(axis=1))
    assert not np.array_equal(
        flat(model.network_), flat(cnn(2.0, steps=6, sampling_rate=0.25).fit(PIXELS, DIGIT).network_)
    )


@seeded
def test_fit_adds_the_calibrated_noise() -> None:
    """The whole way from epsilon to the weights: what a fit adds to training without noise has the guaranteed scale."""
    known = {"channels": (200,), "steps": 1, "sampling_rate": 1.0, "learning_rate": 0.5, "clip": 0.2}
    seed = 8
    model = cnn(1.0, random_state=np.random.default_rng(seed), **known).fit(PIXELS[:50], ODD[:50])
    without = trained(
        PIXELS[:50], ODD[:50], channels=(200,), rate=1.0, learning_rate=0.5, clip=0.2, n=50.0, words=words(seed)
    )
    noise = flat(model.network_) - without
    least, _ = calibrated_noise(1.0, 1e-5, 1.0, 1, "replace-one")
    noise /= 0.5 / 50 * least * 0.2
    assert kstest(noise, "norm").pvalue > 1e-4
    assert abs(noise.std() - 1) < 5 / math.sqrt(2 * noise.size)


def test_it_learns_digits() -> None:
    train, test = np.arange(1797) % 3 > 0, np.arange(1797) % 3 == 0
    model = DPConvolutionalClassifier(8.0, 1e-5, steps=60).fit(PIXELS[train], DIGIT[train])
    accuracy = model.score(PIXELS[test], DIGIT[test])
    print(f"ten digits, {train.sum()} images, epsilon 8, delta 1e-5: {accuracy:.1%} right")
    assert accuracy > 0.8  # about 0.9; chance is 0.1


def test_a_seed_is_repeatable_and_warned_of() -> None:
    with pytest.warns(NotPrivateWarning):
        one = cnn(random_state=3).fit(PIXELS[:90], ODD[:90])
    with pytest.warns(NotPrivateWarning):
        two = cnn(random_state=3).fit(PIXELS[:90], ODD[:90])
    assert np.array_equal(flat(one.network_), flat(two.network_))


@seeded
def test_rows_and_images_are_the_same() -> None:
    flat_ones, images = PIXELS[:90, :48], PIXELS[:90, :48].reshape(-1, 6, 8)
    one = cnn(random_state=1, image_shape=(6, 8)).fit(flat_ones, ODD[:90])
    two = cnn(random_state=1).fit(images, ODD[:90])
    assert one.image_shape_ == two.image_shape_ == (6, 8)
    assert np.array_equal(one.predict_proba(images), two.predict_proba(flat_ones))
    copied = pickle.loads(pickle.dumps(one))
    assert np.array_equal(one.predict(images), copied.predict(images))
    assert clone(one).get_params() == one.get_params()


def test_as_a_teacher_of_fixed_voters() -> None:
    teacher = DPConvolutionalClassifier(steps=20)
    model = PrivateMajorityClassifier(teacher, voters="fixed", K=3, epsilon=4.0, Delta=1e-5).fit(PIXELS, ODD)
    assert model.privacy_.epsilon == max(voter.epsilon_ for voter in model.estimators_) <= 4.0
    assert (model.privacy_.delta, model.privacy_.max_affected, model.privacy_.queries) == (1e-5, 1, None)
    assert len({flat(voter.network_)[0] for voter in model.estimators_}) == 3
    assert np.array_equal(model.predict(PIXELS), model.predict(PIXELS))
    assert model.score(PIXELS, ODD) > 0.6
    # A shard of one class is no reason to refuse: classes are known.
    in_order = np.argsort(ODD, kind="stable")
    thirds = [np.sort(part) for part in np.array_split(in_order, 3)]
    PrivateMajorityClassifier(
        cnn(), voters="fixed", K=3, shards=thirds, epsilon=4.0, Delta=1e-5
    ).fit(PIXELS, ODD)  # fmt: skip


@seeded
def test_parallel_training_is_serial_training(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in FOLDERS:  # other processes find the class there
        monkeypatch.syspath_prepend(folder)
    fits = [
        PrivateMajorityClassifier(cnn(), voters="fixed", K=3, n_jobs=jobs, random_state=4).fit(PIXELS, ODD)
        for jobs in (1, 3)
    ]
    for one, two in zip(fits[0].estimators_, fits[1].estimators_, strict=True):
        assert np.array_equal(flat(one.network_), flat(two.network_))


def test_add_remove_takes_a_public_n() -> None:
    with pytest.raises(darrm.InputError, match="n_records"):
        cnn(adjacency="add-remove").fit(PIXELS, ODD)
    model = cnn(adjacency="add-remove", n_records=1800).fit(PIXELS, ODD)
    assert model.adjacency_ == "add-remove"
    assert model.noise_multiplier_ == calibrated_noise(3.0, 1e-5, 0.5, 5, "add-remove")[0]


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({}, np.where(PIXELS > 0.9, np.nan, PIXELS), "NaN"),
        ({}, PIXELS[:, :60], "no square images"),
        ({"image_shape": (8, 9)}, PIXELS, "does not fit rows of 64"),
        ({"image_shape": 8}, PIXELS, "image_shape must be"),
        ({"image_shape": (4, 16)}, PIXELS.reshape(-1, 8, 8), "Images must be of shape"),
        ({"channels": 8}, PIXELS, "channels must be"),
        ({"channels": (0,)}, PIXELS, "channels must be"),
        ({"epsilon": math.nan}, PIXELS, "epsilon must be"),
        ({"clip": 0.0}, PIXELS, "clip must be"),
        ({"classes": [1]}, PIXELS, "classes must be"),
        ({"classes": [1, 2]}, PIXELS, "classes 1 and 2 only"),
    ],
    ids=str,
)
def test_bad_input_is_refused(options: dict[str, Any], X: Any, message: str) -> None:
    with pytest.raises(darrm.InputError, match=message):
        cnn(**options).fit(X, ODD)


def test_huge_pixels_leave_a_finite_model() -> None:
    model = cnn(steps=3).fit(np.where(PIXELS > 0.9, 1e300, PIXELS), ODD)
    assert np.isfinite(flat(model.network_)).all()
    assert np.isfinite(model.predict_proba(np.full((1, 64), -1e300))).all()
