"""Votes counted by Flower's SecAgg+, whose server sees their sums, and labels that darrm releases from these counts.

    python benchmarks/studies/counts_by_flower.py [--rows 200]

Takes: half a minute. Needs Flower and Ray, for which darrm does not ask: pip install 'flwr[simulation]'.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import darrm

K, EPSILON = 7, 1.0
LEVELS = 1 << 16  # of the quantization of SecAgg+; an even number, so that the votes 0 and 1 are two of them


def votes_of(voter: int, rows: int) -> NDArray[np.int64]:
    """The votes of one voter, by randomized response."""
    made = np.random.default_rng([1, voter])
    answers = np.random.default_rng(0).integers(0, 2, rows)
    return np.asarray(np.where(made.random(rows) < 1 / (1 + np.exp(EPSILON)), 1 - answers, answers))


def summed(rows: int) -> NDArray[np.int64]:
    """The counts of ones, as the server of SecAgg+ gets them from seven clients."""
    from flwr.client import ClientApp, NumPyClient
    from flwr.client.mod import secaggplus_mod
    from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays
    from flwr.server import LegacyContext, ServerApp, ServerConfig
    from flwr.server.strategy import FedAvg
    from flwr.server.workflow import DefaultWorkflow, SecAggPlusWorkflow
    from flwr.simulation import run_simulation

    means: list[NDArray[np.float64]] = []

    class Voter(NumPyClient):  # type: ignore[misc]
        def __init__(self, voter: int) -> None:
            self.voter = voter

        def fit(self, parameters: Any, config: Any) -> Any:
            return [votes_of(self.voter, rows).astype(np.float64)], 1, {}

    class Mean(FedAvg):  # type: ignore[misc]
        def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:
            found = super().aggregate_fit(server_round, results, failures)
            means.append(parameters_to_ndarrays(found[0])[0])
            return found

    server = ServerApp()

    @server.main()  # type: ignore[untyped-decorator]
    def run(grid: Any, context: Any) -> None:
        every = {"fraction_fit": 1.0, "min_fit_clients": K, "min_available_clients": K, "fraction_evaluate": 0.0}
        strategy = Mean(initial_parameters=ndarrays_to_parameters([np.zeros(rows)]), **every)
        exact = {"clipping_range": 1.0, "quantization_range": LEVELS, "modulus_range": 1 << 32, "max_weight": 1}
        workflow = SecAggPlusWorkflow(num_shares=K, reconstruction_threshold=K // 2 + 1, **exact)
        config = LegacyContext(context=context, config=ServerConfig(num_rounds=1), strategy=strategy)
        DefaultWorkflow(fit_workflow=workflow)(grid, config)

    def client(context: Any) -> Any:
        return Voter(int(context.node_config["partition-id"])).to_client()

    run_simulation(server, ClientApp(client, mods=[secaggplus_mod]), num_supernodes=K)
    (mean,) = means
    return np.rint(mean * K).astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200, help="[%(default)s]")
    rows = parser.parse_args().rows
    counts = summed(rows)
    wrong = np.count_nonzero(counts != sum(votes_of(voter, rows) for voter in range(K)))
    problem = darrm.DecisionProblem([darrm.VoterGroup(K, epsilon=EPSILON)], epsilon=1.5, max_affected=1)
    design = darrm.solve(problem, objective=darrm.objectives.truth([0.73]))
    labels = darrm.mechanisms.PrivateDecision(design).release_counts(counts)
    print(f"{rows} rows of {K} voters: {wrong} counts are wrong; {len(labels)} labels released, {labels.sum()} are 1")


if __name__ == "__main__":
    main()
