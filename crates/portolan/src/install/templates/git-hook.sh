#!/bin/sh
# Made by `portolan install git`; with `--uninstall` it puts back what was here before.
# The hook that was here runs first, with the same arguments and the same input, and its refusal counts.
chained="$(dirname -- "$0")/@NAME@.portolan-chained"
