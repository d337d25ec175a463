#!/bin/sh
# Creates or updates the tables of Temporal's two databases. Runs before every start of the
# server, and does nothing where both are up to date. temporal-sql-tool reads SQL_PASSWORD itself.
set -eu

: "${POSTGRES_HOST:?}" "${POSTGRES_USER:?}"
SQL_PASSWORD=$(cat "${POSTGRES_PASSWORD_FILE:?}")
export SQL_PASSWORD

sql() {
    database=$1
    shift
    temporal-sql-tool --plugin postgres12 --ep "$POSTGRES_HOST" -p 5432 -u "$POSTGRES_USER" \
        --db "$database" "$@"
}

migrate() {
    sql "$1" setup-schema -v 0.0
    sql "$1" update-schema -d "/etc/temporal/schema/postgresql/v12/$2/versioned"
}

migrate temporal temporal
migrate temporal_visibility visibility
