#!/bin/sh
# One session and two turns with nothing but curl: the answer as plain text, and the turn as events.
# usage: TURNLOOM_TOKEN=... ./chat.sh [message]
set -eu

url=${TURNLOOM_URL:-http://127.0.0.1:7171}
token=${TURNLOOM_TOKEN:-$(cat "${TURNLOOM_DATA:-$HOME/.local/share/turnloom}/token")}
session="curl-$$"
message=$(printf %s "${1:-echo hello}" | sed 's/["\\]/\\&/g')

call() {
  path=$1
  shift
  curl -sSN --fail-with-body -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$@" "$url$path"
}

call /api/sessions -d "{\"session_id\": \"$session\", \"runtime\": \"mock\"}" >/dev/null

echo '--- the answer, as it comes'
call "/api/sessions/$session/turn" -H 'Accept: text/plain' -d "{\"message\": \"$message\"}"
echo

echo '--- a turn, as events'
call "/api/sessions/$session/turn" -d '{"message": "permission"}' | while read -r line; do
  case $line in
    'data: '*'"type":"permission_request"'*)
      ask=$(printf %s "$line" | sed 's/.*"ask_id":"\([^"]*\)".*/\1/')
      echo "    it asks: $ask"
      call "/api/sessions/$session/permissions/$ask" -d '{"reply": "once"}'
      echo
      ;;
    'event: '*) echo "$line" ;;
  esac
done
