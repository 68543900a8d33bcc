# A database that commits row after row, and what is left of the rows that it acknowledged. The
# numbers of those are in the file $ACKED.
ACKED=acked

new_database() { # file
    sqlite3 "$1" 'CREATE TABLE kept (n INTEGER PRIMARY KEY, text)' && : >"$ACKED"
}
# Until there is a file `stop`. A row counts when SQLite says so, which syncs at each commit; EXTRA,
# since FULL does not sync the directory that the journal was deleted from, and a power cut would
# bring that back, which undoes the last commit (sqlite.org/pragma.html#pragma_synchronous). On a
# bare drive of this guest, without drivelab, FULL lost the last commit in 2 cuts of 3, EXTRA none.
commits() { # file
    n=0
    while [ ! -e stop ]; do
        n=$((n + 1))
        sqlite3 -bail "$1" "PRAGMA synchronous = EXTRA;
            INSERT INTO kept VALUES ($n, hex(randomblob(700)))" ||
            { echo "commit $n failed"; return 1; }
        echo $n >>"$ACKED"; sync "$ACKED"
    done
}
acked() { wc -l <"$ACKED"; }
more_than() { [ "$(acked)" -gt "$1" ]; }
# Some rows later.
goes_on() { until_so more_than $(($(acked) + 3)); }
counted() { # file
    sqlite3 "$1" 'PRAGMA integrity_check' | sed 's/^/integrity: /'
    sqlite3 "$1" 'SELECT n FROM kept' >rows
    echo "$(acked) commits acknowledged, $(grep -vxcFf rows "$ACKED") of them lost"
}
