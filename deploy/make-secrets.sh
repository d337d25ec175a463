#!/bin/sh
# Makes what docker-compose.yml reads its secrets from: a file each in deploy/secrets. Safe to
# run again: what is there already is kept. A password that an earlier release had in
# POSTGRES_PASSWORD, and a secret in ROUTER_JWT_SECRET, are taken over.
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

keep postgres_password "${POSTGRES_PASSWORD:-$(openssl rand -hex 16)}"
keep database_url "postgresql+asyncpg://router:$(cat "$folder/postgres_password")@postgres:5432/router"
keep jwt_secret "${ROUTER_JWT_SECRET:-$(openssl rand -hex 32)}"
keep payload_keys "${ROUTER_PAYLOAD_KEYS:-$(date +%Y-%m):$(openssl rand -base64 32)}"
keep llm_api_key "${ROUTER_LLM_API_KEY:-none}"
