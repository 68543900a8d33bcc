#!/usr/bin/env bash
# What action.yml does: BASE and HEAD in one run, their passes in turn, so that whatever drifts on
# the machine meanwhile hits both; a page for the job's summary; the exit code of `compare`.
set -euo pipefail
: "${DRIVELAB:?the program}" "${BASE:?the baseline target}" "${HEAD:?the target to judge}"
# A job may have two such steps.
work=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/drivelab.XXXXXX")
store=$work/drivelab-history.db
record=$work/drivelab-record.json
summary=${GITHUB_STEP_SUMMARY:-/dev/null}

# Blanks part words in ARGUMENTS, and nothing in it is a pattern.
read -r -a arguments <<< "${ARGUMENTS:-}"
"$DRIVELAB" run "$BASE" "$HEAD" --method "${METHOD:-quick}" --grade "${GRADE:-normal}" --quiet \
    --label ci --store "$store" --json "$record" ${arguments[@]+"${arguments[@]}"}
echo "record=$record" >> "${GITHUB_OUTPUT:-/dev/null}"

code=0
table=$("$DRIVELAB" compare "$record" --fail-on "${FAIL_ON:-slower}") || code=$?
printf '%s\n' "$table"
{
    case $code in
        0) printf '### drivelab: nothing found\n\n' ;;
        1) printf '### drivelab: found what fails this step (%s)\n\n' "${FAIL_ON:-slower}" ;;
        *) printf '### drivelab could not compare\n\n' ;;
    esac
    # The fence is longer than any that a target's name could have.
    printf '~~~~~~~~text\n%s\n~~~~~~~~\n\n' "$table"
    "$DRIVELAB" export "$record" --as markdown
} >> "$summary"
exit "$code"
