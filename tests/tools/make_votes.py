"""Real votes for examples and tests: is a handwritten digit odd? Is a tumour malignant?

    python tests/tools/make_votes.py [--out DIR] [--check]        (DIR is darrm/votes/examples unless given)

Takes: ten seconds.

A record is one training image, or one patient, with its label; neighbours differ by replacing one record
(replace-one). The split is given (it is stratified, so it looks at labels); held-out records are public queries.
Eleven voters answer 600 images of digits; 25 clinics answer 100 patients.

FIXED voters are models made private once, by DP-SGD; their predictions are then deterministic. One step on a
shard of n records, each of them in the batch B independently with probability q, is

    w  <-  w - lr / (q n) * (sum over B of clip(g_i, C) + N(0, (sigma C)^2 I))

and the model is the average of the iterates. It is (epsilon, Delta)-DP under replace-one:

1. clip bounds the L2 norm of the whole of g_i by C, intercept (a constant feature) included; n is public.
2. Given w and the rest of the batch (joint convexity covers the average over it), a step on two neighbours is
   (1-q) N(0) + q N(g) against (1-q) N(0) + q N(g'), covariance (sigma C)^2 I, |g| <= C and |g'| <= C.
3. g = -C, g' = +C on a line dominates. For a >= 1 the divergence is E max(0, q - a q X - (a-1)(1-q) Y) with
   X, Y lognormal of mean 1, log-covariances |g-g'|^2, |g|^2, g.(g-g') over (sigma C)^2. It grows in each, and
   their largest values 4 C^2, C^2, 2 C^2 are reached together. For a < 1 swap the neighbours.
4. That is the REPLACE_ONE pair of dp_accounting at noise multiplier sigma = noise / C: its two means are 2 C
   apart, so no further factor 2 is due. It composes the steps and rounds losses up. sigma is rounded up.
5. The average and any number of predictions are post-processing. Shards go by position, pixels are divided by
   a constant, and teachers draw independently: a replaced record changes only t of the models.

q, C, lr and the steps were chosen by hand on other splits of these images; that is not accounted for.

FRESH voters are parties that know the same people (one image, one person), each through its own 24 of the 64
pixels. A party trains without privacy and flips each answer with probability 1 / (1 + exp(epsilon)), anew at
every query: one answer is (epsilon, 0)-DP, and Q answers compose.

CLINICS are fresh voters too. Each trains on patients of its own, so that one patient reaches max_affected of
them: one or two. Their answers before the flips are shipped as well, in *_base.csv; those are not private.

The seeds make the files reproducible and so protect nobody: a real party draws from the operating system.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from dp_accounting import dp_event
from dp_accounting.mechanism_calibration import ExplicitBracketInterval, calibrate_dp_mechanism
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from numpy.random import SeedSequence, default_rng
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEED, K, HELD_OUT = 11, 11, 600
TOLERATED = 0.005  # a prediction on the decision boundary can flip with another BLAS
FIXED_EPSILON, FIXED_DELTA = 1.1, 1e-5
SAMPLING_RATE, STEPS, CLIP_NORM, LEARNING_RATE, INTERCEPT = 0.5, 20, 1.0, 1.2, 0.5
FRESH_EPSILON, PIXELS_SEEN = 1.0, 24
CLINICS, CLINIC_EPSILON, ASKED = 25, 1.0, 100
DATA = Path(__file__).resolve().parents[2] / "darrm" / "votes" / "examples"


class Records(NamedTuple):
    """Features, one row a record; labels; the indices of training records and of queries."""

    features: Floats
    labels: Ints
    train: Ints
    held_out: Ints


class VoteFile(NamedTuple):
    """One CSV file: its table of id, K votes and label, and what votes.json says of it."""

    table: Ints
    facts: dict[str, Any]

    def text(self) -> str:
        return "\n".join([self.header, *(",".join(map(str, row)) for row in self.table.tolist())]) + "\n"

    @property
    def header(self) -> str:
        return ",".join(["id", *(f"v{j}" for j in range(1, self.table.shape[1] - 1)), "label"])


def digits(seed: SeedSequence) -> Records:
    """The digits, 1797 images of 64 pixels in [0, 1]; label 1 = odd."""
    pixels, digit = load_digits(return_X_y=True)
    return split(pixels / 16, (digit % 2).astype(np.int64), HELD_OUT, seed)


def tumours(seed: SeedSequence) -> Records:
    """The patients of scikit-learn's breast cancer data, 569 of 30 measurements; label 1 = malignant."""
    measurements, benign = load_breast_cancer(return_X_y=True)
    return split(measurements, (1 - benign).astype(np.int64), ASKED, seed)


def split(features: Floats, labels: Ints, queries: int, seed: SeedSequence) -> Records:
    """Split by a seeded permutation; zeros and ones are held out in proportion."""
    order = default_rng(seed).permutation(len(labels))
    ones = round(queries * labels.mean())
    held_out = np.concatenate([order[labels[order] == 0][: queries - ones], order[labels[order] == 1][:ones]])
    return Records(features, labels, order[~np.isin(order, held_out)], np.sort(held_out))


def shard(records: Ints, voter: int, max_affected: int, K: int = K) -> Ints:
    """The records of one voter: position i is known to voters i, i + 1, ..., i + max_affected - 1 modulo K."""
    return records[(voter - np.arange(len(records))) % K < max_affected]


def flipped(answers: Ints, epsilon: float, rng: np.random.Generator) -> Ints:
    """Randomized response: each answer flipped with probability 1 / (1 + exp(epsilon))."""
    return answers ^ (rng.random(len(answers)) < 1 / (1 + math.exp(epsilon)))


def calibrate() -> tuple[float, float]:
    """The least noise multiplier, rounded up to 1e-3, and its epsilon: an upper bound, rounded up to 1e-6."""

    def training(noise_multiplier: float) -> dp_event.DpEvent:
        step = dp_event.PoissonSampledDpEvent(SAMPLING_RATE, dp_event.GaussianDpEvent(noise_multiplier))
        return dp_event.SelfComposedDpEvent(step, STEPS)

    accountant = partial(PLDAccountant, NeighboringRelation.REPLACE_ONE)
    bracket = ExplicitBracketInterval(0.5, 200.0)
    found = calibrate_dp_mechanism(accountant, training, FIXED_EPSILON, FIXED_DELTA, bracket, tol=1e-5)
    noise_multiplier = math.ceil(found * 1e3) / 1e3
    epsilon = math.ceil(accountant().compose(training(noise_multiplier)).get_epsilon(FIXED_DELTA) * 1e6) / 1e6
    if not epsilon <= FIXED_EPSILON:
        raise ArithmeticError(
            f"A teacher must cost at most {FIXED_EPSILON}. Got {epsilon}. Lower tol or update dp-accounting."
        )
    return noise_multiplier, epsilon


def dp_sgd(features: Floats, labels: Ints, noise_multiplier: float, seed: SeedSequence) -> Floats:
    """Weights of a logistic regression, the average of the DP-SGD iterates; formula and proof at the top."""
    rng, (n, dimension) = default_rng(seed), features.shape
    weights, total = np.zeros(dimension), np.zeros(dimension)
    for _ in range(STEPS):
        batch = rng.random(n) < SAMPLING_RATE
        x, y = features[batch], labels[batch]
        gradients = (1 / (1 + np.exp(-(x @ weights))) - y)[:, None] * x
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        gradients *= CLIP_NORM / np.maximum(norms, CLIP_NORM)
        noisy = gradients.sum(axis=0) + rng.normal(0.0, noise_multiplier * CLIP_NORM, dimension)
        # Divide by the expected batch size: the realised one is private.
        weights -= LEARNING_RATE / (SAMPLING_RATE * n) * noisy
        total += weights
    return total / STEPS


def fixed_votes(images: Records, max_affected: int, noise_multiplier: float, seed: SeedSequence) -> Ints:
    """Deterministic answers of K private teachers to the held-out images, shape (600, K)."""
    features = np.column_stack([images.features, np.full(len(images.features), INTERCEPT)])
    votes = []
    for voter, voter_seed in enumerate(seed.spawn(K)):
        rows = shard(images.train, voter, max_affected)
        weights = dp_sgd(features[rows], images.labels[rows], noise_multiplier, voter_seed)
        votes.append(features[images.held_out] @ weights > 0)
    return np.column_stack(votes).astype(np.int64)


def fresh_votes(images: Records, max_affected: int, seed: SeedSequence) -> Ints:
    """Randomized answers of K parties to the held-out images, shape (600, K)."""
    votes = []
    for voter, voter_seed in enumerate(seed.spawn(K)):
        rng = default_rng(voter_seed)
        seen = np.sort(rng.choice(images.features.shape[1], PIXELS_SEEN, replace=False))
        rows = shard(images.train, voter, max_affected)
        model = LogisticRegression(max_iter=2000).fit(images.features[np.ix_(rows, seen)], images.labels[rows])
        answers = model.predict(images.features[np.ix_(images.held_out, seen)])
        votes.append(flipped(answers, FRESH_EPSILON, rng))
    return np.column_stack(votes).astype(np.int64)


def clinic_votes(patients: Records, max_affected: int, seed: SeedSequence) -> tuple[Ints, Ints]:
    """Answers of the clinics to the held-out patients, as they are and randomized, shape (100, 25) each."""
    base, votes = [], []
    for clinic, clinic_seed in enumerate(seed.spawn(CLINICS)):
        rows = shard(patients.train, clinic, max_affected, CLINICS)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        model.fit(patients.features[rows], patients.labels[rows])
        base.append(model.predict(patients.features[patients.held_out]))
        votes.append(flipped(base[-1], CLINIC_EPSILON, default_rng(clinic_seed)))
    return np.column_stack(base).astype(np.int64), np.column_stack(votes).astype(np.int64)


def vote_file(records: Records, votes: Ints, kind: str, max_affected: int, **facts: Any) -> VoteFile:
    """The table of some votes and their description; ``name`` is ``kind`` and ``max_affected`` if not given."""
    label, K = records.labels[records.held_out], votes.shape[1]
    facts["file"] = facts.pop("name", f"{kind}_t{max_affected}") + ".csv"
    facts |= {"K": K, "adjacency": "replace-one", "max_affected": max_affected, "kind": kind, "rows": len(votes)}
    facts["command"] = "python tests/tools/make_votes.py"
    facts["mean_voter_accuracy"] = accuracy(votes, label)
    facts["majority_accuracy"] = round(float(((2 * votes.sum(axis=1) > K) == label).mean()), 4)
    return VoteFile(np.column_stack([records.held_out, votes, label]), facts)


def accuracy(votes: Ints, label: Ints) -> float:
    return round(float((votes == label[:, None]).mean()), 4)


def clinic_files(patients: Records, max_affected: int, seed: SeedSequence) -> list[VoteFile]:
    """The randomized answers of the clinics, and the answers before."""
    base, votes = clinic_votes(patients, max_affected, seed)
    name = f"clinics_t{max_affected}"
    about = (
        f"{CLINICS} clinics (is this tumour malignant: 1) on held-out patients; every patient for training is with "
        "exactly `max_affected` clinics."
    )
    randomized: dict[str, Any] = {
        "epsilon": CLINIC_EPSILON,
        "Delta": 0.0,
        "name": name,
        "base_file": f"{name}_base.csv",
    }
    randomized["base_accuracy"] = accuracy(base, patients.labels[patients.held_out])
    randomized["description"] = f"Randomized responses of {about}"
    plain: dict[str, Any] = {"epsilon": None, "Delta": None, "name": f"{name}_base"}
    plain["description"] = f"Not private: answers, before they were randomized, of {about}"
    return [
        vote_file(patients, votes, "fresh", max_affected, **randomized),
        vote_file(patients, base, "not private", max_affected, **plain),
    ]


def make() -> list[VoteFile]:
    """All eight files."""
    of_digits, *seeds, of_patients, once, twice = SeedSequence(SEED).spawn(8)
    images, (noise_multiplier, spent) = digits(of_digits), calibrate()
    patients = tumours(of_patients)
    training: dict[str, Any] = {"epsilon": FIXED_EPSILON, "Delta": FIXED_DELTA, "accountant_epsilon": spent}
    training |= {"noise_multiplier": noise_multiplier, "sampling_rate": SAMPLING_RATE, "clip_norm": CLIP_NORM}
    training["accountant"] = "dp_accounting PLDAccountant, REPLACE_ONE, Poisson-sampled Gaussian"
    training |= {"learning_rate": LEARNING_RATE, "steps": STEPS}
    training["description"] = (
        f"Predictions (1 = odd) of {K} DP-SGD logistic regressions on held-out digits; every training "
        "image is in the shards of exactly `max_affected` teachers."
    )
    answering: dict[str, Any] = {"epsilon": FRESH_EPSILON, "Delta": 0.0}
    answering["description"] = (
        f"Randomized responses (1 = odd) of {K} parties, each with its own {PIXELS_SEEN} pixels, on held-out "
        "digits; every training image is known to exactly `max_affected` parties."
    )
    return [
        vote_file(images, fixed_votes(images, 1, noise_multiplier, seeds[0]), "fixed", 1, **training),
        vote_file(images, fixed_votes(images, 3, noise_multiplier, seeds[1]), "fixed", 3, **training),
        vote_file(images, fresh_votes(images, 11, seeds[2]), "fresh", 11, **answering),
        vote_file(images, fresh_votes(images, 3, seeds[3]), "fresh", 3, **answering),
        *clinic_files(patients, 1, once),
        *clinic_files(patients, 2, twice),
    ]


def summary(files: list[VoteFile]) -> str:
    """The text of votes.json."""
    return json.dumps({"files": [file.facts for file in files]}, indent=1, sort_keys=True) + "\n"


def difference(made: VoteFile, path: Path) -> tuple[str, bool]:
    """What to say about a shipped file, and whether it may stay."""
    text = path.read_bytes().decode() if path.is_file() else ""
    if text == made.text():
        return "is the same, byte for byte", True
    header, *lines = text.split("\n")
    try:
        shipped = np.array([line.split(",") for line in lines[:-1]], dtype=np.int64)
    except ValueError:
        return "is not a table of integers", False
    if header != made.header or shipped.shape != made.table.shape or (shipped != made.table)[:, [0, -1]].any():
        return "is missing, or has other columns, rows, queries or labels", False
    flips, total = int((shipped != made.table).sum()), (shipped.shape[1] - 2) * len(shipped)
    return f"differs in {flips} of {total} votes", flips <= TOLERATED * total


def check(files: list[VoteFile], folder: Path) -> bool:
    """Whether the shipped files are the ones made, a few votes and their accuracies aside."""
    results = {file.facts["file"]: difference(file, folder / file.facts["file"]) for file in files}
    path = folder / "votes.json"
    texts = path.read_bytes().decode() if path.is_file() else "", summary(files)
    shipped, made = ([line for line in text.split("\n") if "_accuracy" not in line] for text in texts)
    results[path.name] = ("says the same" if shipped == made else "says something else", shipped == made)
    for name, (words, fine) in results.items():
        print(f"{name} {words}{'' if fine else ': NOT REPRODUCED'}")
    return all(fine for _, fine in results.values())


def main() -> int:
    parser = argparse.ArgumentParser(description="Make the vote files that ship with darrm.")
    parser.add_argument("--out", type=Path, default=DATA, metavar="DIR", help="folder of the files")
    parser.add_argument("--check", action="store_true", help="compare with the files there; write nothing")
    arguments, files = parser.parse_args(), make()
    print(f"{'file':<20}{'mean voter':>11}{'min':>8}{'max':>8}{'majority':>10}")
    for table, facts in files:
        voters = (table[:, 1:-1] == table[:, -1:]).mean(axis=0)
        row = f"{facts['file']:<20}{voters.mean():>11.4f}{voters.min():>8.4f}{voters.max():>8.4f}"
        print(f"{row}{facts['majority_accuracy']:>10.4f}")
    if arguments.check:
        return 0 if check(files, arguments.out) else 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    for file in files:
        (arguments.out / file.facts["file"]).write_bytes(file.text().encode())
    (arguments.out / "votes.json").write_bytes(summary(files).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
