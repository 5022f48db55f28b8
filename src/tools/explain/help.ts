export const helpText = `Usage: npm run explain -- [options] [FILE]                  (in a clone)
       docker run -i IMAGE explain [options] [FILE]
       responses-extproc explain [options] [FILE]           (where the package is installed)

Shows what the service makes of a Responses request: the Chat Completions request that the upstream gets (path, headers,
body), and what became of each field: sent, renamed, rewritten, only seen in the Response, dropped, left out or refused.
For what is not simply sent it says why (the flag of the profile or the environment variable that decided, or the rule)
and names the row of docs/mapping.md. Nothing is sent anywhere.

FILE is the JSON body of a request; or {"method", "path", "headers", "body"}; or an exchange that was downloaded from the
inspector, which has its profile and its answer with it. Without FILE, or with -, it is read from standard input.

Settings are those of the service: the same environment variables (docs/settings.md), and these options:

  -p, --profile NAME        the upstream's profile, instead of UPSTREAM_PROFILE; its path comes with it
      --profiles-file FILE  profiles of your own, instead of UPSTREAM_PROFILES_FILE
  -m, --model NAME          as if the request were for this model, which rules of the profile may go by
      --path PATH           where the request is sent: /v1/responses (the default), /v1/responses/compact,
                            /v1/responses/input_tokens; '/v1/models?client_version=1', which has no body, for the
                            catalog that Codex asks for
      --field PATH          only this field, at any depth: --field 'input[2].content[0].detail'; may be repeated
  -r, --response FILE       replays a recorded Chat answer and shows the Responses events that each chunk of it causes:
                            JSON, an event stream, or a downloaded exchange. With such an exchange the request may be
                            left out
      --status STATUS       the HTTP status of that answer (default 200)
      --full                shortens nothing
      --json                prints JSON instead of text, see docs/explain.md
  -h, --help                shows this text

Text has colours on a terminal, and none in a pipe or with NO_COLOR=1; FORCE_COLOR=1 has them anyway.

Exit codes:
  0  explained
  1  the service refuses the request; the output says why, and what it would refuse next
  2  wrong usage, a file that cannot be read, or an invalid configuration
  3  the recorded answer becomes an error, or a Response that failed

Examples:
  npm run explain -- --profile vllm request.json
  npm run -s explain -- --json request.json | jq '.fields[] | select(.fate == "dropped")'
  npm run explain -- request.json --response answer.sse
  npm run explain -- exchange.json
`;
