# %% [markdown]
# # 02 · Workloads
#
# **You will be able to** make jobs of three kinds from one log, set their load, say what a model keeps
# of a log and what it loses, and explain why one simulated month proves little.
#
# **You need** [01](01_traces.ipynb). **It takes** 20 minutes to read and about 15 seconds to run on two
# cores.
#
# <!-- links -->
#
# ## Why one log is not enough
#
# A log is one history: the jobs that happened to come. An agent that learns from one log learns that
# log by heart, and a policy that is better on one log may have been lucky. So we want *more jobs of the
# same kind*. What "of the same kind" means is the question of this lesson. DRAS, in our reading of the
# paper, trains on three kinds, one after the other:
#
# | kind | where the jobs come from | when they come | here |
# |---|---|---|---|
# | sampled | drawn from the log, one by one | at random, as often as you like | `sample_jobs` |
# | real | a piece of the log | when they came | `slices` |
# | synthetic | made by a model of the log | by the model's days and hours | `like` |
#
# We take the log at a sixteenth of its size, 273 nodes for 4,360: everything is as before, and quicker.
# **For a log of your own, change the next cell.**

# %%
import numpy as np
import pandas as pd

from dras_lab import compare, fcfs, like, lublin, read_swf, simulate
from dras_lab.anatomy import arrivals_over_time
from dras_lab.curves import queue_curve
from dras_lab.lessons import show
from dras_lab.plotting import alt_text, set_alt, use_style
from dras_lab.workloads import sample_jobs, slices

trace = read_swf("theta-like").coarsen(16)
load = trace.summary()["offered_load"]
print(trace, f"offered load {load:.2f}")

# %% [markdown]
# ## Three job sets of one load
#
# As many jobs as the log has, of each kind. `seed` is where the random numbers come from: the same seed
# gives the same jobs, on every machine.

# %%
sets = {
    "sampled": sample_jobs(trace, len(trace), seed=1, load=load),
    "real": trace,
    "synthetic": like(trace, len(trace), seed=1, load=load),
}
for name, jobs in sets.items():
    facts = jobs.summary()
    print(
        f"{name:10} offered load {facts['offered_load']:.2f}, {facts['span_s'] / 86400:4.1f} days"
    )

# %% [markdown]
# The offered load is the same, to two digits. Are the jobs alike, too?

# %%
rows = {}
for name, jobs in sets.items():
    facts = jobs.summary()
    gaps = np.diff(jobs.table["submit_time"])
    rows[name] = {
        "median nodes": facts["size"]["median"],
        "mean nodes": facts["size"]["mean"],
        "median run (min)": facts["run_time_s"]["median"] / 60,
        "mean run (min)": facts["run_time_s"]["mean"] / 60,
        "gaps: st. dev. / mean": gaps.std() / gaps.mean(),
    }
pd.DataFrame(rows).T.round(1)

# %% [markdown]
# One column stands out, the last. **Guess first:** all three offer the same work to the same machine,
# under the same policy. In which will people wait longest, and by what factor does it differ from the
# one where they wait least?

# %%
runs = {name: simulate(jobs, fcfs) for name, jobs in sets.items()}
compare(runs)[["mean_wait_h", "max_wait_h", "utilisation"]].round(2)

# %% [markdown]
# The mean wait under the drawn jobs is 2.3 hours, and under the others about 13: more than five times
# as long, for the same work. So an offered load says little by itself. And the model comes close to the
# log, though that is partly luck, as you will see below.
#
# ## Why: look at when they come

# %%
from matplotlib import pyplot as plt

with use_style():
    figure, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, layout="constrained")
for (name, jobs), ax in zip(sets.items(), axes, strict=True):
    arrivals_over_time(jobs, ax).set_title(name)
    ax.label_outer()
    set_alt(ax, f"{name}: {alt_text(ax)}")
show(figure)

# %% [markdown]
# Drawn jobs come as drops of rain do, a *Poisson process*: how many come today has nothing to do with
# how many came yesterday. People are not like that. They work by day, submit ten jobs in a minute, and
# before a deadline all of them come at once. The model knows hours, weekdays, bursts and busy days, and
# gives most of that back.

# %%
show(queue_curve(runs))

# %% [markdown]
# ## What the load does
#
# With the sampled jobs we can set the load as we like.
#
# **Guess first:** the load goes from 0.6 to 0.9, half as much again. How does the mean wait change?

# %%
rows = []
for target in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1):
    waits = [
        compare([simulate(sample_jobs(trace, 2000, seed=seed, load=target), fcfs, log=False)])
        for seed in (1, 2, 3)
    ]
    means = [float(wait["mean_wait_h"].iloc[0]) for wait in waits]
    rows.append({"load": target, "least": min(means), "mean": np.mean(means), "most": max(means)})
print("mean wait in hours, of three seeds")
pd.DataFrame(rows).set_index("load").round(1)

# %% [markdown]
# From 0.6 to 0.9 the work grows by half, and the mean wait to six or seven times what it was. Near 1 it
# takes off: the queue no longer empties between the waves, so that chance adds up. Above 1 there is no
# mean wait to speak of, for it grows with the length of the log; run the cell with 4,000 jobs and see.
#
# ## One month proves little
#
# Here are the four quarters of the log, a thousand jobs each, as real job sets for training:

# %%
for piece in slices(trace, 1000):
    wait = simulate(piece, fcfs, log=False).wait.mean() / 3600
    print(f"{piece.name}: load {piece.summary()['offered_load']:.2f}, mean wait {wait:.1f} h")

# %% [markdown]
# The same users, the same machine, and the mean waits are worlds apart; partly because the loads are.
# The model can make as many histories of *one* load as we like: the same users, another roll of the
# dice. **Guess first:** ten histories of a thousand jobs. How far apart are the shortest and
# the longest mean wait?

# %%
waits = []
for seed in range(10):
    run = simulate(like(trace, 1000, seed=seed, load=load), fcfs, log=False)
    waits.append(float(run.wait.mean()) / 3600)
print("mean waits in hours:", *(f"{wait:.1f}" for wait in sorted(waits)))
print(f"mean {np.mean(waits):.1f}, standard deviation {np.std(waits, ddof=1):.1f}")

# %% [markdown]
# The longest mean wait is five times the shortest, and no policy had a hand in it. Suppose that you run
# first come, first served on one of these histories and your own policy on another, and yours is 30 %
# better. You have shown nothing.
#
# The remedy is to compare policies *on the same jobs*, and on several sets of them. The history, good or
# bad, is then the same for both.
#
# ## A model that is in the books
#
# Where there is no log there are models. That of Lublin and Feitelson (2003) was fitted to three
# machines of the nineties. It has a day's rhythm, sizes that are often powers of two, and run times that
# go with sizes. It says nothing of requests; ours are over-estimates in round numbers.

# %%
book = lublin(2000, nodes=256, seed=1, load=0.8)
print(book.format_summary())

# %% [markdown]
# Half of its jobs are done in minutes and have a handful of nodes: another world than Theta's. What is
# best in one need not be best in the other, and in [lesson 05](05_baselines.ipynb) it is not.
#
# <details><summary><b>Larger</b>: a year of jobs (not run here)</summary>
#
# ```python
# year = like(read_swf("theta-like"), 24_000, seed=1)
# year.write_swf("year.swf.gz")
# ```
#
# takes a second or so; `dras-lab generate theta-like --jobs 24000 --out year.swf.gz` does about the same
# from the command line. Run the cells above with `trace = read_swf("year.swf.gz").coarsen(16)` and ten
# seeds instead of three.
#
# </details>
#
# ## What you did
#
# You made sampled, real and synthetic jobs of one load, saw that the load does not say how long people
# wait, and how much a mean wait differs from one history to the next.
#
# **Questions**
#
# 1. Training begins with sampled jobs. What can an agent learn there that is right for real ones, and
#    what can it not?
# 2. The model repeats shapes of jobs as users do. What of real users does it know nothing of?
# 3. Somebody shows that a policy is 10 % better, on one log of a month. Which question do you ask?
#
# **Now do** the [exercises](exercises/02_workloads.ipynb).
#
# **Read on:** [traces/README.md](../traces/README.md), where the model and the log it was fitted to stand
# side by side, with what does not fit; U. Lublin and D. G. Feitelson, "The workload on parallel
# supercomputers", Journal of Parallel and Distributed Computing 63(11), 2003.
