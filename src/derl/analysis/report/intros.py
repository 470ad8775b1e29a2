"""What stands below the headings of the page."""

NO_NUMBER = (
    "None of the published numbers is among these results, which have other tasks, recipes or settings, or are not "
    "finished. What was run stands at the top."
)
INTROS = {
    "tables": "Each cell is a published number and ours, of which it shows what you choose. Point at it, tap it or "
    "move with the arrow keys for both, the interval, the verdict and the best reason for a difference. Enter opens "
    "its learning curve, the space bar all reasons.",
    "curves": "Choose tasks and recipes. The values below a chart belong to the vertical line: move it with the "
    "pointer or, with the chart in focus, the arrow keys. The dashed line is the best possible return.",
    "sensitivity": "Average evaluation returns over values of the bonus's scale λ, or of how fast it decays: the "
    "increment of counts, the learning rate of predictors. Hollow marks are the published numbers. A robust method "
    "stays high all the way.",
    "kl": "DeA2C with Count, and penalties α<sub>β</sub> on the explorer and α<sub>e</sub> on the exploiter for "
    "diverging from each other. The grids are the paper's, in DeepSea 10 and Hallway 20-20; of one without any "
    "run nothing is shown. In each view all grids have one scale.",
    "claims": "Each claim is tested by an effect that has to lie above or below a bound. It is undecided if the "
    "interval contains the bound; there is not enough data if too little was run to judge it. Returns and their "
    "spreads are shares of the best possible return. In the pictures the dot and line are our effect with its 95 % "
    "interval, the ring is the paper's own, and the dashed line the bound. From our spreads the noise of seeds is "
    "subtracted; the paper's own contain it, for it does not say how much its runs differ. A whole can be decided "
    "where its parts are not: it rests on more runs than each of them.",
    "differences": "The tables count the first five seeds, like the paper. What differs is run with further ones, and "
    "with the options in which the paper and its code are known to disagree: if the published number appears, and not "
    "by luck, that is the reason.",
    "again": "Each part is one command. What has been run already is kept in a store, so a command goes on where the "
    "last one stopped. The times are those of the runs on this page, on one core. Parts share runs, and a run counts "
    "in each part that has it, so that the counts do not add up.",
    "returns": "What <code>derl sweep</code> prints: of each case the mean over evaluations and runs, with the "
    "deviation over evaluations behind ± and the 95 % interval of the mean over runs; the best evaluation and the "
    "last.",
    "own-sensitivity": "Average evaluation returns over the values of each setting that has several numbers here. A "
    "robust method stays high all the way.",
    "own-again": "What has been run already is kept in a store, so a command goes on where the last one stopped. The "
    "times are those of the runs on this page, on one core.",
}
"""What each section shows. Those of a sweep of a user's own begin with `own`, if the paper's results have them too."""
