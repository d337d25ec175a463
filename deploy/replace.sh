#!/bin/sh
# Replaces the containers of a service (api, worker) by such of the image and the settings that
# there are now. The new ones come up beside the old, which are stopped once those are well; where
# one doesn't get well, the new ones go and the old ones stay. docs/operations.md, "Without a pause".
set -eu

service=${1:?which service: api or worker}
seconds=${2:-600}

old=$(docker-compose ps --quiet "$service")
[ -n "$old" ] || { echo "no container of $service: docker-compose up --detach" >&2 && exit 1; }
count=$(echo "$old" | wc -l)

created() { docker-compose ps --quiet "$service" | grep -vxF "$old"; }

give_up() {
    echo "$1: the old containers of $service stay" >&2
    created | xargs --no-run-if-empty docker rm --force >/dev/null
    exit 1
}

docker-compose up --detach --no-deps --no-recreate --scale "$service=$((count * 2))" "$service" ||
    give_up "no further container of $service starts; an api needs a free port in API_PORTS"

for container in $(created); do
    left=$seconds
    until [ "$(docker inspect --format '{{.State.Health.Status}}' "$container")" = healthy ]; do
        left=$((left - 1))
        [ "$left" -gt 0 ] || give_up "$container isn't well within $seconds s (docker logs $container)"
        sleep 1
    done
done
# shellcheck disable=SC2086 # a word each
docker stop $old >/dev/null
# shellcheck disable=SC2086
docker rm $old >/dev/null
echo "$service: $count replaced"
