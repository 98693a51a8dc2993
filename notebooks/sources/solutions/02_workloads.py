# %% [markdown]
# # 02 · Workloads: exercises
#
# Replace each `...` and run the cell; `check` says what is wrong, if something is, and `hint` helps.
# The checks are the public ones: they are few, and an answer that passes them may still be wrong
# elsewhere.
#
# <!-- links -->

# %%
import numpy as np
import pandas as pd

from dras_lab import Trace, read_swf
from dras_lab.lessons import check, hint

trace = read_swf("theta-like")

# %% [markdown]
# ## 2.1 Busier
#
# By which `x` must `trace.scale_load(x)` be called for an offered load of 0.9? Two digits after the
# point will do.

# %%
x = 0.9 / trace.summary()["offered_load"]  # solution

check("2.1", x)

# %% [markdown]
# ## 2.2 How uneven is it?
#
# Write a function: the coefficient of variation of the gaps between submissions, 0 for a metronome and
# 1 for rain.


# %%
def burstiness(trace):
    """Standard deviation over mean of the gaps between submissions."""
    # solution
    gaps = np.diff(trace.table["submit_time"])
    return gaps.std() / gaps.mean()
    # end of solution


check("2.2", burstiness)

# %% [markdown]
# ## 2.3 Rain
#
# Write a function that makes the submission times of a Poisson process: `jobs` of them, in order, with
# gaps of `mean_gap` seconds on average. All its random numbers come from `rng`, a
# `numpy.random.Generator`.


# %%
def poisson_times(jobs, mean_gap, rng):
    """Submission times in seconds, an array."""
    # solution
    return rng.exponential(mean_gap, jobs).cumsum()
    # end of solution


check("2.3", poisson_times)

# %% [markdown]
# ## 2.4 Two communities, one machine
#
# Write a function that puts the jobs of two traces, both made for a machine of the same size, into one
# queue. Both traces count their jobs from 1.


# %%
def merged(first, second):
    """A trace with the jobs of both."""
    # solution
    columns = ["submit_time", "size", "requested_time", "run_time"]
    table = pd.concat([first.table[columns], second.table[columns]], ignore_index=True)
    return Trace.from_table(table, first.nodes, name=f"{first.name}+{second.name}")
    # end of solution


check("2.4", merged)

# %% [markdown]
# ## For an afternoon
#
# Make a theta-like log and a lublin log for 273 nodes, merge them at a load of 0.8 together, and find out
# which of the two communities waits longer under `fcfs`, and which under `sjf`.

# %%
hint("2.4")
