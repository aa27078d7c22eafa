# ---- What the scenarios below are made of ----

# Nothing of the caller's surroundings may reach another server.
unset PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGPASSWORD PGSERVICE PGOPTIONS PGSSLMODE PGDATA PGPASSFILE

# PostgreSQL refuses to run as root: as root, this script runs again as $RUN_AS, from a copy which that user can read.
if [ "$(id -u)" = 0 ]; then
    if [ ! -f "$0" ]; then
        echo "as root, save this script to a file and run that: it runs again as $RUN_AS" >&2
        exit 2
    fi
    SCRIPT_FOLDER=$(mktemp -d "$WORK_DIR/runner-sh.XXXXXX")
    trap 'rm -rf "$SCRIPT_FOLDER"' EXIT
    cp "$0" "$SCRIPT_FOLDER/script.sh"
    chown -R "$RUN_AS" "$SCRIPT_FOLDER"
    cd /
    export SCRIPT_FOLDER ROUNDS SEED WORK_DIR PG_BIN_CLIENT
    exec su "$RUN_AS" -s /bin/sh -c 'exec sh "$0"' "$SCRIPT_FOLDER/script.sh"
fi

# Everything lies in one private folder, sockets too (a socket's path may have 107 bytes); nothing is left behind.
WORK=${SCRIPT_FOLDER:-$(mktemp -d "$WORK_DIR/runner-sh.XXXXXX")}
cd "$WORK"
NODES=
DIFFERED=0
# For TCP, since every local user can connect to 127.0.0.1.
PASSWORD=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
printf '%s\n' "$PASSWORD" >"$WORK/password"
printf '127.0.0.1:*:*:postgres:%s\n' "$PASSWORD" >"$WORK/pgpass"
chmod 600 "$WORK/password" "$WORK/pgpass"

# Ends every server at once and removes its data.
stop_nodes() {
    for name in $NODES; do
        tries=200
        until [ -f "$WORK/$name.ended" ] || [ "$tries" = 0 ]; do
            kill -QUIT "$(head -n 1 "$WORK/$name/postmaster.pid" 2>/dev/null)" 2>/dev/null || :
            tries=$((tries - 1))
            sleep 0.05
        done
        rm -rf "${WORK:?}/$name" "$WORK/$name.log" "$WORK/$name.port" "$WORK/$name.ended"
    done
    NODES=
}
trap 'status=$?; trap - EXIT; stop_nodes; cd /; rm -rf "$WORK"; exit "$status"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# fail MESSAGE: ends with the last lines of every log.
fail() {
    echo "failed: $1" >&2
    for log in "$WORK"/*.log; do
        [ -f "$log" ] && { echo "-- $log" >&2; tail -n 5 "$log" >&2; }
    done
    exit 1
}

# Seconds, with fractions where this system's date has them.
now() {
    case $(date +%N) in
    '' | *[!0-9]*) date +%s ;;
    *) date +%s.%N ;;
    esac
}

# took PHASE BEGAN: prints a phase's seconds.
took() {
    now | awk -v what="$1" -v began="$2" '{ printf "  phase %-20s %9.3f s\n", what, $1 - began }'
}

# start_node NODE BIN [INITDB OPTION...] <lines of postgresql.conf: a fresh server, until it accepts connections.
start_node() {
    name=$1 bin=$2
    shift 2
    case $TRANSPORT in
    tcp) listen=127.0.0.1; set -- --auth-host=scram-sha-256 --pwfile="$WORK/password" "$@" ;;
    *) listen=; set -- --auth-host=reject "$@" ;;
    esac
    "$bin/initdb" -D "$WORK/$name" --username=postgres --encoding=UTF8 --locale=C --auth-local=trust \
        --no-sync --no-instructions "$@" >"$WORK/$name.log" 2>&1 </dev/null || fail "initdb of $name"
    cat >>"$WORK/$name/postgresql.conf"
    tries=5
    while :; do
        # A port that is taken is tried again with another.
        port=$(od -An -N2 -tu2 /dev/urandom | awk '{ print 20000 + $1 % 40000 }')
        rm -f "$WORK/$name.ended"
        NODES="$NODES $name"
        (
            "$bin/postgres" -D "$WORK/$name" -k "$WORK" -p "$port" -c listen_addresses="$listen" \
                >>"$WORK/$name.log" 2>&1 </dev/null || :
            : >"$WORK/$name.ended"
        ) &
        printf '%s\n' "$port" >"$WORK/$name.port"
        until [ -f "$WORK/$name.ended" ] || [ "$(sql "$name" -c 'SELECT 1' 2>/dev/null)" = 1 ]; do
            sleep 0.05
        done
        [ -f "$WORK/$name.ended" ] || return 0
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] && grep -q 'could not bind' "$WORK/$name.log" || fail "start of $name"
    done
}

# sql NODE [PSQL OPTION...] <SQL
sql() {
    node=$1
    shift
    PGOPTIONS='-c client_min_messages=warning' "$PG_BIN_CLIENT/psql" -X -q -A -t -v ON_ERROR_STOP=1 \
        -h "$WORK" -p "$(cat "$WORK/$node.port")" -U postgres -d postgres "$@"
}

# conninfo NODE: how other servers and the load reach it.
conninfo() {
    folder=$(printf '%s' "$WORK" | sed "s/[\\\\']/\\\\&/g")
    case $TRANSPORT in
    tcp) reach="host=127.0.0.1 passfile='$folder/pgpass'" ;;
    *) reach="host='$folder'" ;;
    esac
    printf '%s\n' "$reach port=$(cat "$WORK/$1.port") user=postgres dbname=postgres"
}

# wait_for SECONDS NODE VALUE WHAT <SQL: polls until the query gives the value. Each look is a new psql, which costs
# the server some milliseconds of CPU and limits the resolution to some hundredths of a second.
wait_for() {
    query=$(cat)
    end=$(($(date +%s) + $1))
    until [ "$(sql "$2" -c "$query")" = "$3" ]; do
        [ "$(date +%s)" -lt "$end" ] || fail "waited $1 s until $4"
        sleep 0.01
    done
}

# load NODE WORKLOAD PGBENCH-OPTION...: pgbench connects and prepares within the phase's clock; the runner does so
# before it.
load() {
    node=$1 workload=$2
    shift 2
    "$PG_BIN_CLIENT/pgbench" --random-seed=$((SEED + round)) "$@" \
        "$(conninfo "$node")" >"$WORK/$workload.out" 2>&1 </dev/null || {
        cat "$WORK/$workload.out" >&2
        fail "workload $workload"
    }
    sed -n -e "s/^tps/  workload $workload: tps/p" -e "s/^number of failed/  workload $workload: failed/p" \
        "$WORK/$workload.out"
}

# consume NODE SLOT PG_RECVLOGICAL-OPTION...: takes the slot's stream until its server ends.
consume() {
    node=$1 slot=$2
    shift 2
    "$PG_BIN_CLIENT/pg_recvlogical" -d "$(conninfo "$node")" --slot="$slot" --start --no-loop -f /dev/null "$@" \
        >"$WORK/$slot.log" 2>&1 </dev/null &
}

# compare PUBLISHER SUBSCRIBER <SQL that writes a query of rows and checksum for each table.
compare() {
    sql "$1" >"$WORK/checksums.sql" || fail "list of the tables of $1"
    for side in "$1" "$2"; do
        { session; cat "$WORK/checksums.sql"; } | sql "$side" -F '	' >"$WORK/$side.sums" || fail "checksums on $side"
    done
    awk -F '	' -v publisher="$1" -v subscriber="$2" '
        $2 == "" { if (NR == FNR) print "  " $1; next }
        NR == FNR { rows[$1] = $2; sum[$1] = $3; next }
        rows[$1] == $2 && sum[$1] == $3 { printf "  table %s: %s rows, checksum %s: agree\n", $1, $2, $3; next }
        {
            differ = 1
            printf "  table %s: %s rows, checksum %s on %s; %s rows, checksum %s on %s: differ\n",
                $1, rows[$1], sum[$1], publisher, $2, $3, subscriber
        }
        END { exit differ }' "$WORK/$1.sums" "$WORK/$2.sums" || DIFFERED=1
}
