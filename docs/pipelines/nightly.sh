#!/bin/sh
# Releases a table and checks what is published. Beside it: spec.yaml, and a folder out/ for release and report.
# Mail goes out when the table is not safe (exit code 1); any other failure goes to the system's log.
to=${1:?usage: nightly.sh ADDRESS}
cd "$(dirname "$0")" || exit 2
exec 9> .lock
flock --nonblock 9 || { logger -t anonymize "the last run has not ended"; exit 75; }

anonymize release spec.yaml --output out/release.csv --report out/report.json --force --quiet 2> nightly.log &&
    anonymize audit spec.yaml --input out/release.csv --format text > out/audit.txt 2>> nightly.log
code=$?
case $code in
    0) ;;
    1) mail -s "anonymize: the table is not safe to publish" "$to" < nightly.log ;;
    *) logger -t anonymize "exit code $code: $(head -n 1 nightly.log)" ;;
esac
exit $code
