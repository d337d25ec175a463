#!/bin/sh
# Starts the Temporal server with the database's password from a file: the server itself reads
# it from its environment alone.
set -eu

POSTGRES_PWD=$(cat "${POSTGRES_PASSWORD_FILE:?}")
export POSTGRES_PWD
exec /etc/temporal/entrypoint.sh
