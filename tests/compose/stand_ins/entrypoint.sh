#!/bin/sh
# Temporal's development server. Its file is kept in PostgreSQL between two starts, so that what
# docs/operations.md says of backups is about what is under way here too.
set -eu

export PGHOST="$POSTGRES_SEEDS" PGUSER="$POSTGRES_USER" PGPASSWORD="$POSTGRES_PWD" PGDATABASE=temporal
file=/tmp/temporal.db
psql -qAtXc "SELECT content FROM kept" | base64 -d >"$file"
[ -s "$file" ] || rm "$file"

trap 'kill -TERM "$server"' TERM INT
env -u TEMPORAL_ADDRESS temporal server start-dev --headless --ip "$BIND_ON_IP" --db-filename "$file" \
    --metrics-port 9090 --log-level error --dynamic-config-value matching.enableFairness=true \
    --dynamic-config-value matching.numTaskqueueReadPartitions=1 \
    --dynamic-config-value matching.numTaskqueueWritePartitions=1 \
    --dynamic-config-value system.numConsecutiveWorkflowTaskProblemsToTriggerSearchAttribute=3 &
server=$!
while kill -0 "$server" 2>/dev/null; do wait "$server" || true; done

python3 -c "import sqlite3; sqlite3.connect('$file').execute('PRAGMA wal_checkpoint(TRUNCATE)').fetchall()"
{
    echo 'BEGIN; TRUNCATE kept; COPY kept FROM STDIN;'
    base64 -w0 "$file"
    printf '\n\\.\nCOMMIT;\n'
} | psql -qX --set ON_ERROR_STOP=1
