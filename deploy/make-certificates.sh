#!/bin/sh
# Creates what deploy/temporal-mtls.yml reads, a file each in deploy/secrets: an authority, the
# certificate of Temporal's server, and the one that its clients show. Safe to run again: what is
# there already is kept. To replace certificates, delete their files, run this and restart.
set -eu

folder=${1:-"$(dirname "$0")/secrets"}
days=${2:-825}

# Containers read the files as users of their own, so the folder keeps others on this host out.
umask 022
mkdir -p "$folder"
chmod 700 "$folder"

sign() {
    [ -e "$folder/$1.pem" ] && echo "kept $folder/$1.pem" && return
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "$folder/$1.key" -out "$folder/$1.csr" 2>/dev/null
    printf '%s\n' "$2" >"$folder/$1.ext"
    openssl x509 -req -in "$folder/$1.csr" -days "$days" -extfile "$folder/$1.ext" \
        -CA "$folder/temporal_authority.pem" -CAkey "$folder/temporal_authority.key" \
        -CAcreateserial -out "$folder/$1.pem" 2>/dev/null
    chmod 644 "$folder/$1.key"
    rm "$folder/$1.csr" "$folder/$1.ext"
    echo "made $folder/$1.pem"
}

if [ ! -e "$folder/temporal_authority.pem" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
        -subj "/CN=intent-router Temporal authority" \
        -keyout "$folder/temporal_authority.key" -out "$folder/temporal_authority.pem" 2>/dev/null
    echo "made $folder/temporal_authority.pem"
fi
# The server's services are clients of one another.
sign temporal_server "subjectAltName=DNS:temporal,DNS:localhost,IP:127.0.0.1
extendedKeyUsage=serverAuth,clientAuth"
sign temporal_client "extendedKeyUsage=clientAuth"
