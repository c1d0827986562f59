"""Fits a model of workers and their store to what `benches/workers.rs` has measured, and says what more workers would do.

    cargo bench -p portolan-runtime --bench workers > measured
    python3 crates/portolan-runtime/benches/workers.py measured

The model is a closed queueing network. Each worker drives `atOnce` runs at once, so that K = workers * atOnce runs circulate. A run waits
for its calls, which are other machines' work and queue nowhere; they take `stretch` longer than they should, with all else that a run
waits for: a disk answers later when it has little to do. A run also takes D milliseconds of processor time of workers, store and
tools, which share two cores here: `run`, `call` for each call, and `wake` for each record and worker, since every record wakes all
workers. Two cores are one queue of half the service time and a wait of the other half (Seidmann). The rate X(K) follows by mean
value analysis:

    D = run + call * calls + wake * records * workers
    R(k) = D/2 * (1 + Q(k-1)),   X(k) = k / (calls * takes * (1 + stretch) + D/2 + R(k)),   Q(k) = X(k) * R(k)

The four parameters are fitted to all settings but that with 8 workers, which is predicted. Exit code 1 if the prediction is off by more
than a fifth.

For more machines, each has two cores for one worker with 16 runs at once, and the database has two cores of its own. Its share of
the processor time is that of an append (`benches/postgres.rs`); a run has 3 records, and 2 for each call.
"""

import json
import math
import sys

CORES = 2
# The appends a second of 64 callers: `docs/performance.md`.
APPENDS = 17_700
RUN_RECORDS, CALL_RECORDS = 3, 2
# The seconds of a month.
MONTH = 2.63e6
HELD_OUT = 8


def rate(customers, wait, demand, cores=CORES):
    """The runs a second of so many that circulate. Times are in milliseconds."""
    queue = 0.0
    served, beside = demand / cores, demand * (cores - 1) / cores
    for present in range(1, customers + 1):
        response = served * (1 + queue)
        through = present / (wait + beside + response)
        queue = through * response
    return through * 1000


def records(calls):
    return RUN_RECORDS + CALL_RECORDS * calls


def predicted(setting, parameters):
    run, call, wake, stretch = parameters
    workers, calls = setting["workers"], setting["calls"]
    demand = run + call * calls + wake * records(calls) * workers
    return rate(workers * setting["atOnce"], calls * setting["takesMs"] * (1 + stretch), demand)


def error(settings, parameters):
    return sum(math.log(predicted(each, parameters) / each["rate"]) ** 2 for each in settings)


def fitted(settings):
    """Least squares of the logarithms, by steps that shrink."""
    best = [2.0, 1.0, 0.05, 0.05]
    step = 2.0
    while step > 1.0005:
        tries = [[*best[:at], best[at] * by, *best[at + 1 :]] for at in range(len(best)) for by in (step, 1 / step)]
        nearest = min(tries, key=lambda parameters: error(settings, parameters))
        if error(settings, nearest) < error(settings, best):
            best = nearest
        else:
            step = math.sqrt(step)
    return best


def nodes(parameters):
    """What more machines do with runs of 3 calls of 2 s each, as models and builds take."""
    run, call, wake, stretch = parameters
    calls, takes, at_once = 3, 2_000, 16
    store = records(calls) * CORES * 1000 / APPENDS
    work = max(run + call * calls - store, 0.1)
    most = CORES * 1000 / store
    print(f"\nruns of {calls} calls of {takes / 1000:g} s, {at_once} at once on each node:")
    print(f"{work:.1f} ms of a worker's cores and {store:.1f} ms of the database's for a run, and {wake:.3f} ms for each record that wakes a worker")
    print(f"{'nodes':>8}{'runs /s':>10}{'moves /s':>10}{'moves a month':>15}{'cores that wake':>17}  limit")
    for count in (1, 10, 100, 1_000):
        alone = rate(at_once, calls * takes * (1 + stretch), work) * count
        # Each node is woken by the records of all.
        woken = min(alone, most) * records(calls) * wake / 1000
        through = min(alone, most)
        limit = "calls" if alone < 0.8 * most else "the database"
        if woken > 0.5 * CORES:
            limit += ", and workers that are woken for nothing"
        moves = through * records(calls)
        print(f"{count:>8}{through:>10.1f}{moves:>10.0f}{moves * MONTH:>15.2e}{woken / CORES:>17.1%}  {limit}")


def main():
    given = sys.argv[1:]
    lines = open(given[0]) if given else sys.stdin
    measured = [json.loads(line) for line in lines if line.startswith('{"workers"')]
    training = [each for each in measured if each["workers"] != HELD_OUT]
    held_out = [each for each in measured if each["workers"] == HELD_OUT]
    if len(training) < 3 or not held_out:
        sys.exit(__doc__)
    parameters = fitted(training)
    run, call, wake, stretch = parameters
    print(f"run {run:.2f} ms, call {call:.2f} ms, wake {wake:.3f} ms; calls take {stretch:.0%} longer")
    print(f"{'workers':>8}{'calls':>7}{'each ms':>9}{'measured /s':>13}{'model /s':>10}{'off':>8}")
    worst = 0.0
    for each in training + held_out:
        model = predicted(each, parameters)
        off = model / each["rate"] - 1
        mark = "  predicted" if each in held_out else ""
        print(f"{each['workers']:>8}{each['calls']:>7}{each['takesMs']:>9}{each['rate']:>13.1f}{model:>10.1f}{off:>+8.0%}{mark}")
        worst = max(worst, abs(off)) if each in held_out else worst
    nodes(parameters)
    sys.exit(1 if worst > 0.2 else 0)


if __name__ == "__main__":
    main()
