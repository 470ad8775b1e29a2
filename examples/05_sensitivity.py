"""How sensitive is a recipe to the weight of its bonus? All weights and seeds train in one compiled population.

python examples/05_sensitivity.py [--recipe dea2c-count] [--episodes 2000]
"""

import argparse

import polars as pl

import derl

SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)


def main() -> None:
    """Vary lambda and print one line for each value."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="dea2c-count", help="any recipe with a bonus (see derl list)")
    parser.add_argument("--episodes", type=int, default=2_000, help="training episodes of each run")
    args = parser.parse_args()

    result = derl.train(
        "DeepSea-6",
        args.recipe,
        seeds=2,
        vary={"bonus.scale": SCALES},
        cores=1,
        protocol__episodes=args.episodes,
        protocol__evaluate_every=max(1, args.episodes // 10),
    )
    with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=2):
        print(result.summary().select("bonus.scale", "runs", "average", "maximum", "final"))


if __name__ == "__main__":
    main()
