# %% [markdown]
# # 01 · Job logs
#
# **You will be able to** read a job log in the Standard Workload Format, say what was repaired in it,
# work out the load it offers to a machine, and judge what kind of users it comes from.
#
# **You need** [00](00_start_here.ipynb), and a little pandas. **It takes** 25 minutes to read and
# about 10 seconds to run on two cores.
#
# <!-- links -->
#
# ## A log is a text file
#
# Almost all that is known about how supercomputers are used comes from *job logs*: one line a job, 18
# numbers a line, and lines behind a `;` that say which machine it was. The format is called SWF, the
# Standard Workload Format, and dozens of machines have published theirs in it.
#
# `theta-like` is such a log, though no real user is in it: a program made it, so that its sums and
# shares are those of Theta, a machine of 4,360 nodes, in 2022. Here is how it begins.

# %%
import gzip

import numpy as np
import pandas as pd

from dras_lab import Trace, read_swf
from dras_lab.anatomy import anatomy, request_accuracy, sizes
from dras_lab.lessons import show
from dras_lab.traces import shipped

with gzip.open(shipped()["theta-like"], "rt", encoding="utf-8") as file:
    lines = file.read().splitlines()
comments = [line for line in lines if line.startswith(";")]
print(*comments[:7], "...", *lines[len(comments) :][:4], sep="\n")

# %% [markdown]
# Of the 18 numbers of a line, five decide what a scheduler has to do:
#
# | field | name here | what it is |
# |---:|---|---|
# | 1 | `job_id` | a number for the job |
# | 2 | `submit_time` | when it came, in seconds since the log began |
# | 4 | `run_time` | how long it ran in the end, in seconds |
# | 8 | `size` | how many nodes it asked for |
# | 9 | `requested_time` | for how long it asked for them, in seconds |
#
# `-1` stands for what is not known. Field 3, how long the job waited, is -1 throughout: nobody has
# scheduled these jobs yet. That is what we are going to do.
#
# ## Reading is not enough
#
# Real logs have faults. Somebody has to decide what a job is to mean that asked for no time, or ran
# for -5 seconds; if the program that reads the log decides it silently, your result depends on it and
# you do not know. So `read_swf` repairs or refuses by named rules, and counts. Let us hand it four
# lines of which three are odd.
#
# **Guess first:** the second job asks for -1 nodes, and the third for -1 seconds. What would you do?

# %%
from pathlib import Path
from tempfile import TemporaryDirectory

odd = """\
; MaxProcs: 8
1  0 -1 100 4 -1 -1  4 200 -1 1 -1 -1 -1 -1 -1 -1 -1
2 10 -1 100 2 -1 -1 -1 200 -1 1 -1 -1 -1 -1 -1 -1 -1
3 20 -1 100 1 -1 -1  1  -1 -1 1 -1 -1 -1 -1 -1 -1 -1
4 30 -1  -1 1 -1 -1  1 200 -1 5 -1 -1 -1 -1 -1 -1 -1
"""
with TemporaryDirectory() as folder:
    path = Path(folder) / "odd.swf"
    path.write_text(odd, encoding="utf-8")
    small = read_swf(path)
print(small.report)

# %% [markdown]
# Job 2 is taken at the two processors it was given, job 3 at the time it ran, and job 4, of which
# nobody knows how long it ran, is left out. Each is a decision that one may quarrel with; now at least
# one can. (`strict=True` refuses the file instead.)
#
# ## The log of this lesson
#
# From here on, every number comes from the trace of the next cell. **Put the path of an `.swf` or
# `.swf.gz` file of your own there** and the lesson is about your machine; only the sentences between
# the cells will go on speaking of `theta-like`.

# %%
trace = read_swf("theta-like")
print(trace)
print(trace.report)

# %% [markdown]
# A quarter of the jobs ran past the time they had asked for, half of these by less than a minute: it
# takes a system a moment to end a job. The simulator will end them at their request.
#
# ## A table of jobs
#
# `trace.table` is a pandas DataFrame, a row a job in the order they came.
#
# **Guess first:** half of the jobs run for an hour or so at most. Is the *mean* run time above or
# below that, and by how much?

# %%
table = trace.table
shown = table[["size", "run_time", "requested_time"]].describe(percentiles=[0.5, 0.9])
shown.drop(["count", "std"]).round(0).astype(int)

# %% [markdown]
# The median run time is 3,661 seconds, about an hour; the mean is more than twice that. A few long
# jobs pull it up. Sizes are worse: the median job has 128 nodes, the largest 3,935. Whenever a mean
# stands alone in this course, ask for the rest of the distribution.
#
# ## Anatomy of a log
#
# Six views on one page. Take your time: when do jobs come, how large are they, how long do they run,
# and how much of the time that they ask for do they use?

# %%
show(anatomy(trace))

# %% [markdown]
# What to see:
#
# - **Jobs come in waves**, by the hour and by the day, and the third view has days with many times the
#   jobs of others. No machine is large enough for the waves; that is why there are queues.
# - **Requests are round numbers.** Users do not compute how long a job takes, they pick a number.
# - **Many use all of their time**, and many next to nothing of it: both ends of the last view stick
#   out.
#
# ## Who does the work?
#
# Work is nodes times time: a job that holds 128 nodes for an hour does 128 node-hours.
#
# **Guess first:** three jobs of four have 256 nodes or fewer. Which share of the node-hours is theirs?

# %%
show(sizes(trace))

# %%
held = table[["run_time", "requested_time"]].min(axis=1)  # a job ends at its request at the latest
work = table["size"] * held
narrow = table["size"] <= 256
print(f"jobs of 256 nodes or fewer: {narrow.mean():.0%} of the jobs, ", end="")
print(f"{work[narrow].sum() / work.sum():.0%} of the node-hours")
largest = work.sort_values(ascending=False).head(len(trace) // 100)
print(f"the largest 1 % of the jobs: {largest.sum() / work.sum():.0%} of the node-hours")

# %% [markdown]
# So there are two populations in one queue. If you count *jobs*, the small ones are nearly everybody.
# If you count *node-hours*, they are a sixth. A policy that favours small jobs pleases most users and
# may still keep most of the work waiting. Remember it when you see a mean wait.
#
# ## What users say, and what happens
#
# A scheduler plans with requested times, for it knows nothing else.

# %%
show(request_accuracy(trace))

# %%
print(
    f"half of the jobs use {np.median(held / table['requested_time']):.0%} or less of their request"
)
asked = table["size"] * table["requested_time"]
print(f"of all node-hours asked for, {work.sum() / asked.sum():.0%} are used")

# %% [markdown]
# A third of the time that the scheduler has to plan with is never used. You will see in
# [lesson 04](04_backfilling.ipynb) that this is not only bad.
#
# ## How busy is the machine going to be?
#
# The *offered load* is the work that arrives, divided by what the machine could do while it arrives:
#
# $$\text{load} = \frac{\sum_j \text{nodes}_j \cdot \text{time held}_j}
# {\text{nodes of the machine} \cdot \text{time from the first submission to the last}}$$
#
# Below 1 a machine can keep up in the long run, and above 1 the queue grows for as long as it lasts.

# %%
span = table["submit_time"].iloc[-1] - table["submit_time"].iloc[0]
print(f"by hand:    {work.sum() / (trace.nodes * span):.3f}")
print(f"by summary: {trace.summary()['offered_load']:.3f}")

# %% [markdown]
# Three quarters: that sounds as if there were room. But it is a mean. **Guess first:** on how many of
# the 68 days does more work arrive than the machine can do in a day?

# %%
day = (table["submit_time"] - table["submit_time"].iloc[0]) // 86_400
by_day = np.bincount(day, weights=work) / (trace.nodes * 86_400)
print(f"days: {len(by_day)}; above 1: {(by_day > 1).sum()}; the most in a day: {by_day.max():.2f}")

# %% [markdown]
# On one day users bring more than three days' work, and on the next one two and a half. Suppose that
# the machine wastes nothing, and works off what is left over as soon as it can:

# %%
left, days_behind = 0.0, []
for load in by_day:
    left = max(0.0, left + load - 1)  # days of work that the machine is behind in the evening
    days_behind.append(left)
print(
    f"the machine is behind on {np.count_nonzero(days_behind)} of {len(by_day)} evenings, ", end=""
)
print(f"by {max(days_behind):.1f} days at worst")

# %% [markdown]
# *This* is why people wait for a machine that is idle for a quarter of the time: work comes in waves,
# and a wave takes long to go away. No policy can do anything about that. What a policy decides is who
# waits.
#
# ## Pieces, and other machines
#
# A trace gives other traces. These four are used all over the course:

# %%
train, check_on, test = trace.split(0.6, 0.15, 0.25)  # in order of time: the future is the test
first_week = trace.between(table["submit_time"].iloc[0], table["submit_time"].iloc[0] + 7 * 86_400)
coarse = trace.coarsen(16)  # 16 nodes become one
busier = trace.scale_load(1.2)  # the same jobs in less time
for part in (train, check_on, test, first_week, coarse, busier):
    load = part.summary()["offered_load"]
    print(f"{part.name:36} {len(part):5} jobs, {part.nodes:5} nodes, offered load {load:.3f}")

# %% [markdown]
# Look at the loads of the three parts: the last quarter is overloaded, and the part before it is not.
# Whoever tunes a policy on a quiet month and tries it in a busy one has learnt little. And to shuffle
# the jobs before splitting them, as is right for pictures of cats, would destroy the waves.
#
# ## Your own jobs
#
# Any table with a time of submission, a size and a run time becomes a trace.

# %%
mine = pd.DataFrame(
    {
        "submit_time": [0, 60, 120],
        "size": [2, 4, 1],
        "requested_time": [3600, 3600, 600],
        "run_time": [1800, 3000, 600],
    }
)
print(Trace.from_table(mine, nodes=4, name="mine"))

# %% [markdown]
# <details><summary><b>Larger</b>: a real log (not run here)</summary>
#
# The [Parallel Workloads Archive](https://www.cs.huji.ac.il/labs/parallel/workload/) has logs of some
# forty machines, of all sizes. Take KTH-SP2, 28,000 jobs, and change the cell above to
#
# ```python
# trace = read_swf("KTH-SP2-1996-2.1-cln.swf.gz")
# ```
#
# [traces/README.md](../traces/README.md) says how to get the records of the real Theta, and how to turn
# any table of jobs into a log. A log of 250,000 jobs takes less than a second to read.
#
# </details>
#
# ## What you did
#
# You read a log and the report of what was repaired in it, saw when jobs come, how large they are and
# what users ask for, and worked out the load they offer.
#
# **Questions**
#
# 1. A log says what users did on a machine whose scheduler they knew. You replay it under another one.
#    What would they have done otherwise, and which of your numbers does that spoil?
# 2. Why may two logs of the same offered load have mean waits that differ by a factor of ten?
# 3. A job that is ended at its request has often done its work for nothing. Should it count as work?
#
# **Now do** the [exercises](exercises/01_traces.ipynb).
#
# **Read on:** the [definition of the format](https://www.cs.huji.ac.il/labs/parallel/workload/swf.html);
# D. G. Feitelson, *Workload Modeling for Computer Systems Performance Evaluation* (Cambridge, 2015),
# the first two chapters.
