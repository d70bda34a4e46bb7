#!/bin/sh
# Makes the files under deploy/secrets that compose.yaml names; one that is there stays as it is.
# Only their folder is closed to others: a file itself is read by the user of a container.
set -eu
umask 077
folder="${1:-$(dirname "$0")/secrets}"
mkdir -p "$folder"

# Letters and digits: a password that began with '-' would be an option to some server's program.
random() { head -c 36 /dev/urandom | base64 | tr -dc 'A-Za-z0-9' | cut -c 1-40; }

keep() { # NAME CONTENT
  if [ ! -e "$folder/$1" ]; then
    printf '%s' "$2" > "$folder/$1"
    chmod 644 "$folder/$1"
  fi
}

for name in postgres_admin_password ricordo_role_password valkey_password graph_view_password nats_password; do
  keep "$name" "$(random)"
done
keep history_url "redis://:$(cat "$folder/valkey_password")@valkey:6379/0"
keep neo4j_auth "neo4j/$(cat "$folder/graph_view_password")"
keep model_api_key ""
echo "Secrets lie in $folder. Put your endpoint's key into model_api_key, if it wants one."
