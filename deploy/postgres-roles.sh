#!/bin/sh
# Creates the roles `router` and `temporal` with their databases, and sets the passwords that the
# secrets have now. Neither role is a superuser, may create databases or roles, or may connect to
# the databases of the other. Safe to run again: data that is there already stays.
set -eu

: "${PGHOST:?}" "${PGUSER:?}"
PGPASSWORD=$(cat "${POSTGRES_PASSWORD_FILE:?}")
export PGPASSWORD PGDATABASE=postgres

sql() { psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 "$@"; }

# The password is read by psql: it stands in no argument, where other users would see it.
create_role() {
    PASSWORD_FILE=$2 sql --set role="$1" <<'SQL'
\set password `cat "$PASSWORD_FILE"`
SELECT format('CREATE ROLE %I', :'role')
    WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
ALTER ROLE :"role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS
    PASSWORD :'password';
SQL
}

create_database() {
    sql --set role="$1" --set name="$2" <<'SQL'
SELECT format('CREATE DATABASE %I OWNER %I', :'name', :'role')
    WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
REVOKE ALL ON DATABASE :"name" FROM PUBLIC;
SQL
}

# Every role may connect to these by default, and see there which others there are.
sql --command "REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC"
create_role router "${ROUTER_PASSWORD_FILE:?}"
create_database router router
create_role temporal "${TEMPORAL_PASSWORD_FILE:?}"
create_database temporal temporal
create_database temporal temporal_visibility
echo "the roles router and temporal are ready"
