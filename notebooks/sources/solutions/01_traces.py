# %% [markdown]
# # 01 · Job logs: exercises
#
# Replace each `...` and run the cell; `check` says what is wrong, if something is, and `hint` helps.
# The checks are the public ones: they are few, and an answer that passes them may still be wrong
# elsewhere. There is often more than one good answer.
#
# <!-- links -->

# %%
import numpy as np
import pandas as pd

from dras_lab import Trace, read_swf
from dras_lab.lessons import check, hint

table = read_swf("theta-like").table

# %% [markdown]
# ## 1.1 Long requests
#
# Which share of the jobs of `theta-like`, in per cent, ask for *more than* six hours?

# %%
long_requests = 100 * (table["requested_time"] > 6 * 3600).mean()  # solution

check("1.1", long_requests)

# %% [markdown]
# ## 1.2 Wide jobs and their work
#
# Write a function: the share of a log's node-hours (a number from 0 to 1) that is held by jobs of
# `nodes` nodes or more. The simulator ends a job at its requested time.


# %%
def wide_share(trace, nodes):
    """Share of the node-hours that jobs of `nodes` nodes or more hold."""
    # solution
    held = trace.table[["run_time", "requested_time"]].min(axis=1)
    work = trace.table["size"] * held
    return work[trace.table["size"] >= nodes].sum() / work.sum()
    # end of solution


check("1.2", wide_share)

# %% [markdown]
# ## 1.3 The waves
#
# Write a function: the work that arrives on each day, divided by what the machine can do in a day. The
# first day begins with the first submission, and the list ends with the day of the last one; a day on
# which nobody submits has a 0. (What a job holds counts on the day on which it was submitted, however
# long it runs.)


# %%
def load_by_day(trace):
    """Offered load of each day, an array."""
    # solution
    jobs = trace.table
    day = (jobs["submit_time"] - jobs["submit_time"].iloc[0]) // 86_400
    work = jobs["size"] * jobs[["run_time", "requested_time"]].min(axis=1)
    return np.bincount(day, weights=work) / (trace.nodes * 86_400)
    # end of solution


check("1.3", load_by_day)

# %% [markdown]
# ## 1.4 A log from the accounts
#
# Your computing centre hands you its accounts as a table with the columns `queued`, `started`, `ended`
# (text such as `2024-05-01 08:00:00`; nothing for a job that was cancelled before it started), `nodes`,
# and `limit_min`, the requested time in minutes. Make a `Trace` of it, with times in seconds; jobs
# that never started are left out. The rows need not be in order.


# %%
def from_accounts(accounts, nodes):
    """A trace of a table of accounts, for a machine of so many nodes."""
    # solution
    accounts = accounts.dropna(subset=["started", "ended"])
    queued, started, ended = (
        pd.to_datetime(accounts[column], utc=True) for column in ("queued", "started", "ended")
    )
    jobs = pd.DataFrame(
        {
            "submit_time": (queued - queued.min()).dt.total_seconds().astype(int),
            "size": accounts["nodes"],
            "requested_time": 60 * accounts["limit_min"],
            "run_time": (ended - started).dt.total_seconds().astype(int),
        }
    )
    return Trace.from_table(jobs, nodes, name="accounts")
    # end of solution


check("1.4", from_accounts)

# %% [markdown]
# Stuck? Ask for a hint; a second argument asks for a plainer one: `hint("1.4", 2)`.

# %%
hint("1.4")
