#!/bin/sh
# Makes what docker-compose.yml reads its secrets from: a file each in deploy/secrets. Safe to
# run again: what is there already is kept. A secret in ROUTER_JWT_SECRET is taken over.
set -eu

folder=${1:-"$(dirname "$0")/secrets"}

# Containers read the files as users of their own, so the folder keeps others on this host out.
umask 022
mkdir -p "$folder"
chmod 700 "$folder"

keep() {
    if [ -e "$folder/$1" ]; then
        echo "kept $folder/$1"
    else
        printf '%s\n' "$2" >"$folder/$1"
        echo "made $folder/$1"
    fi
}

# PostgreSQL's superuser, and the two roles that deploy/postgres-roles.sh makes.
keep postgres_password "$(openssl rand -hex 16)"
keep router_password "$(openssl rand -hex 16)"
keep temporal_password "$(openssl rand -hex 16)"
keep database_url "postgresql+asyncpg://router:$(cat "$folder/router_password")@postgres:5432/router"
keep jwt_secret "${ROUTER_JWT_SECRET:-$(openssl rand -hex 32)}"
keep payload_keys "${ROUTER_PAYLOAD_KEYS:-$(date +%Y-%m):$(openssl rand -base64 32)}"
keep llm_api_key "${ROUTER_LLM_API_KEY:-none}"
