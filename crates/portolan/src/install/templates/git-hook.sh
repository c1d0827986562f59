#!/bin/sh
# Made by `portolan install git`; with `--uninstall` it puts back what was here before.
# The hook that was here runs first, with the same arguments and the same input, and its refusal counts.
chained="${0%/*}/@NAME@.portolan-chained"
portolan=@PROGRAM@
if [ ! -x "$portolan" ]; then
    echo "portolan: $portolan is gone, so that nothing can be judged: put it back, or install it and run: portolan install git" >&2
    @GONE@
fi
