# %% [markdown]
# # 00 · Start here
#
# **You will be able to** replay the job log of a supercomputer under several scheduling policies, put
# their waiting times side by side, and say why a short mean wait is not yet a good schedule.
#
# **You need** to know a little Python. **It takes** about five minutes to read and 10 seconds to run
# on two cores.
#
# <!-- links -->
#
# ## What this is
#
# A supercomputer is shared through a queue. Users submit *jobs*: so many nodes, for at most so many
# hours. The *scheduler* decides which job starts when. It knows what users asked for; how long a job
# will really run it learns only when the job ends.
#
# `dras_lab` is a small laboratory for such schedulers: a simulator that replays a log of jobs from
# decision to decision, policies to make the decisions, and measures to judge them by.
#
# First, whether it is installed:

# %%
# NBVAL_IGNORE_OUTPUT
import sys

import dras_lab
from dras_lab import compare, make_policy, read_swf, simulate
from dras_lab.lessons import show
from dras_lab.plotting import overview

print(f"dras_lab {dras_lab.__version__} on Python {sys.version.split()[0]}: ready")

# %% [markdown]
# ## A log of jobs
#
# `theta-like` is a synthetic log, generated to be like that of Theta at Argonne in 2022: a machine of
# 4,360 nodes whose jobs are wide and whose queue is long. To use a log of your own, put the path of
# an `.swf` or `.swf.gz` file in its place.

# %%
trace = read_swf("theta-like")
print(trace)
trace.table[["job_id", "submit_time", "size", "requested_time", "run_time"]].head()

# %% [markdown]
# Each row is a job: when it was submitted (in seconds), how many nodes it asked for, for how long, and
# how long it ran in the end. Most users ask for more time than they need. About a quarter of the jobs
# would run past their request; the simulator ends them there, unless it is told not to.
#
# ## Seven ways to pick the next job
#
# - **fcfs**, first come, first served: whoever has waited longest.
# - **sjf**, shortest job first, by the time asked for.
# - **saf**, smallest area first: nodes times the time asked for.
# - **wfp3**: a score that grows with the size and with the cube of the time waited, as a share of the
#   time asked for.
# - **f1**: a score somebody found by machine learning; it grows with size, time asked for and lateness.
# - **binpacking**: the biggest job that fits the free nodes now.
# - **random**: any job of the queue's first fifty.
#
# All of them work with *EASY backfilling*. When the job that is next does not fit, nodes are reserved
# for it as early as possible, and jobs that do not delay it may fill the holes until then.
#
# Before you run the next cell, guess: which policy has the shortest mean wait? And which makes the
# unluckiest job wait longest?

# %%
policies = ["fcfs", "sjf", "saf", "wfp3", "f1", "binpacking", "random"]
results = {name: simulate(trace, make_policy(name)) for name in policies}
table = compare(results, baseline="fcfs")
table[["mean_wait_h", "max_wait_h", "mean_bounded_slowdown", "utilisation"]].round(2)

# %%
show(overview(table, f"{trace.name}: seven policies, EASY backfilling"))

# %% [markdown]
# Smallest area first (saf) brings the mean wait down to about 0.3 of what it is under first come, first
# served. Its unluckiest job waits 434 hours, which is 18 days; under first come, first served nobody
# waits longer than 157 hours. Short and narrow jobs gain, and somebody pays.
#
# So look at the mean *and* the maximum, always. The chart on the right does: each axis is one measure,
# and the rim is the best of the policies shown.
#
# ## One decision
#
# The simulator writes down every decision: what was on offer and what was chosen. Here is the first
# one in which a hole was filled.

# %%
log = results["fcfs"].log
first = next(choice for choice in log if choice.level == "backfill")
print(f"At {first.time} s, {first.free} of {trace.nodes} nodes are free.")
print(f"Job {first.reserved} does not fit; it is promised a start at {first.reserved_start} s.")
print(f"It would not be delayed by these jobs: {list(first.candidates)[:5]}")
print(f"Job {first.job_id} is started.")

# %% [markdown]
# ## What you did
#
# You replayed a log of 4,000 jobs seven times, compared the waits, and looked into one decision.
#
# **Questions**
#
# 1. Shortest job first sorts by the time *asked for*. What would a user do who knows that?
# 2. Binpacking takes the biggest job that fits and never reserves. Which jobs suffer?
# 3. Utilisation hardly differs between the policies. Why?
#
# **Read on:** [README.md](../README.md) for the command line,
# [docs/departures.md](../docs/departures.md) for what exactly the simulator does, and Mu'alem and
# Feitelson, "Utilization, predictability, workloads, and user runtime estimates in scheduling the
# IBM SP2 with backfilling" (TPDS 2001), where EASY and conservative backfilling are compared.
