# Runs one program and sees to it that the program never outlives the harness.
#
#   sh -c "$(cat watchdog.sh)" watchdog LOG SCRATCH PROGRAM [ARGUMENT…]
#
# Standard input is a pipe that only the harness holds. It never writes; when it ends, however it ends, the pipe
# closes, `read` returns, and the program is killed. Standard output gets one line, the program's process id. The
# exit status is the program's. SCRATCH, unless empty, is a folder to remove once the program is gone.
log=$1
scratch=$2
shift 2
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
program=$!
echo "$program"
exec >/dev/null
{ read -r _ <&3; kill -KILL "$program"; } 2>/dev/null &
reader=$!
wait "$program"
status=$?
kill "$reader" 2>/dev/null
[ -z "$scratch" ] || rm -rf -- "$scratch"
exit "$status"
