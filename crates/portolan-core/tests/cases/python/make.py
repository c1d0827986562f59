"""What CPython says of the rows of `cases.txt`.

A row is `expression  |  output as JSON  |  what it comes to`: JSON, or `!` and the exception. Lines that are empty or begin
with `#` are left alone. Without arguments the rows are compared with what CPython says; with `--write` they are filled in.

    python3 crates/portolan-core/tests/cases/python/make.py [--write]

Python 3.12 or newer: before that, `sum` loses more of floats.
"""

import json
import pathlib
import sys
import warnings

BAR = "  |  "
CASES = pathlib.Path(__file__).with_name("cases.txt")


def plain(value):
    """The value as JSON has it: what is gone through becomes a list."""
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, (set, frozenset)):
        if len(value) > 1:
            sys.exit(f"the order of a set is nobody's business: sort {value}")
        return list(map(plain, value))
    if value is None or isinstance(value, (str, int, float)):
        return value
    return list(map(plain, value))


def answer(expression, output):
    try:
        value = eval(expression, {"output": json.loads(output)})
        return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    except SyntaxError:
        sys.exit(f"no expression of Python: {expression}")
    except Exception as error:
        return "!" + type(error).__name__


def main():
    if sys.version_info < (3, 12):
        sys.exit("Python 3.12 or newer is needed")
    warnings.simplefilter("ignore")
    found, different = [], 0
    for number, line in enumerate(CASES.read_text(encoding="utf-8").split("\n"), 1):
        if line == "" or line.startswith("#"):
            found.append(line)
            continue
        expression, output, *said = line.split(BAR)
        row = BAR.join([expression, output, answer(expression, output)])
        if said and row != line:
            different += 1
            print(f"{CASES.name}:{number}: {line}\n  CPython: {row}")
        found.append(row)
    if "--write" in sys.argv[1:]:
        CASES.write_text("\n".join(found), encoding="utf-8")
    elif different or "\n".join(found) != CASES.read_text(encoding="utf-8"):
        sys.exit(f"{different} rows differ")
    print(f"{sum(bool(line) and line[0] != '#' for line in found)} rows")


main()
