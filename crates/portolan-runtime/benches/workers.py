"""Fits a model of workers and their store to what `benches/workers.rs` has measured, and says what more workers would do.

    cargo bench -p portolan-runtime --bench workers | python3 crates/portolan-runtime/benches/workers.py
    python3 crates/portolan-runtime/benches/workers.py --nodes measured.jsonl     # the table for more machines

The model is a closed queueing network. Each worker drives `atOnce` runs at once, so that K = workers * atOnce runs circulate. A run waits
for its calls (no queue: they are other machines' work), and takes `run + call * calls` milliseconds of processor time of workers,
store and tools, which share two cores here. Two cores are one queue of half the service time and a wait of the other half
(Seidmann). The rate X(K) follows by mean value analysis:

    R(k) = D/2 * (1 + Q(k-1)),   X(k) = k / (wait + D/2 + R(k)),   Q(k) = X(k) * R(k)

`run`, `call` and `idle`, a wait of each run beside its calls, are fitted to all settings but that with 8 workers, which is
predicted. Exit code 1 if the prediction is off by more than a fifth.

For more machines, each has two cores for one worker with 16 runs at once, and the database has two cores of its own. Its share of
the processor time is that of an append (`benches/postgres.rs`); a run has 3 records, and 2 for each call.
"""

import json
import math
import sys

CORES = 2
# The appends a second of 64 callers, and the bytes of a record with its share of the snapshot, in `docs/performance.md`.
APPENDS = 7_000
RUN_RECORDS, CALL_RECORDS = 3, 2
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


def predicted(setting, parameters):
    idle, run, call = parameters
    wait = idle + setting["calls"] * setting["takesMs"]
    return rate(setting["workers"] * setting["atOnce"], wait, run + call * setting["calls"])


def error(settings, parameters):
    return sum(math.log(predicted(each, parameters) / each["rate"]) ** 2 for each in settings)


def fitted(settings):
    """Least squares of the logarithms, by steps that shrink."""
    best = [10.0, 2.0, 1.0]
    step = 2.0
    while step > 1.0005:
        tries = [[*best[:at], best[at] * by, *best[at + 1 :]] for at in range(3) for by in (step, 1 / step)]
        nearest = min(tries, key=lambda parameters: error(settings, parameters))
        if error(settings, nearest) < error(settings, best):
            best = nearest
        else:
            step = math.sqrt(step)
    return best


def nodes(parameters):
    """What more machines do with runs of 3 calls of 2 s each, as models and builds take."""
    idle, run, call = parameters
    calls, takes, at_once = 3, 2_000, 16
    records = RUN_RECORDS + CALL_RECORDS * calls
    store = records * CORES * 1000 / APPENDS
    work = max(run + call * calls - store, 0.1)
    print(f"\nruns of {calls} calls of {takes / 1000:g} s: {work:.1f} ms of a worker's cores, {store:.1f} ms of the database's")
    print(f"{'nodes':>8}{'runs /s':>12}{'moves /s':>12}{'moves a month':>16}  limit")
    most = CORES * 1000 / store
    for count in (1, 10, 100, 1_000):
        alone = rate(at_once, idle + calls * takes, work) * count
        limit = "calls" if alone < 0.8 * most else "the database"
        through = min(alone, most)
        print(f"{count:>8}{through:>12.1f}{through * records:>12.0f}{through * records * 2.6e6:>16.2e}  {limit}")


def main():
    given = [argument for argument in sys.argv[1:] if argument != "--nodes"]
    lines = open(given[0]) if given else sys.stdin
    measured = [json.loads(line) for line in lines if line.startswith('{"workers"')]
    training = [each for each in measured if each["workers"] != HELD_OUT]
    held_out = [each for each in measured if each["workers"] == HELD_OUT]
    if len(training) < 3 or not held_out:
        sys.exit(__doc__)
    parameters = fitted(training)
    print("idle {:.1f} ms a run; {:.2f} ms of processor time a run, {:.2f} ms a call".format(*parameters))
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
