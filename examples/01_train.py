"""Train a recipe, look at the results, and use the learned policy.

python examples/01_train.py [--episodes 3000]
"""

import argparse

import derl


def main() -> None:
    """Train DeA2C with Count on a small DeepSea."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=3_000, help="training episodes of each seed")
    episodes = parser.parse_args().episodes

    # Two seeds in one compiled program. Add out="runs/first" to keep results and a checkpoint.
    result = derl.train(
        "DeepSea-6",
        "dea2c-count",
        seeds=2,
        protocol__episodes=episodes,
        protocol__evaluate_every=max(1, episodes // 10),
    )

    # Polars frames: one row per run and evaluation, means with intervals, the paper's scores.
    print(result.frame.select("seed", "episodes", "return", "explorer_return", "importance_weight").tail(4))
    print(result.curves().select("episodes", "mean", "low", "high", "explorer_mean").tail(4))
    print(result.summary().select("runs", "average", "maximum", "final"))

    # The exploiter of the first run. Observations are integers here: row * size + column.
    policy = result.policy(run=0)
    print("greedy action in the start state:", policy.predict(0))
    print("one action for each of three states:", policy.predict([0, 6, 7]))
    episode = policy.play(seed=0)
    print(f"greedy return {float(episode.total):.2f} of {policy.env.optimal_return:.2f}")


if __name__ == "__main__":
    main()
