"""What several rounds say of a ratio."""

import math
import statistics

# Student's t, 97.5 %, by degrees of freedom from 1 on; 1.96 beyond.
T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
     2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042]


def ratio_interval(ratios):
    """(geometric mean, low, high): a 95 % interval by Student's t on the logarithms of the rounds' ratios. Of one round the
    interval is the whole line: (ratio, 0, infinity)."""
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return math.exp(middle), 0.0, math.inf
    freedom = len(logs) - 1
    t = T[freedom - 1] if freedom <= len(T) else 1.96
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - half), math.exp(middle + half)
