// The options of the command line. Paths are relative to the folder in which scripts/bench was called.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const kinds = ['accept', 'relay', 'rest', 'queue', 'inbound', 'api', 'broadcast', 'webhooks']

export const usage = `scripts/bench [${kinds.join('] [')}] [options]

  accept  messages taken a second, durable, nothing delivered; beside Postfix
  relay   signed with RSA-2048 and handed on over 20 sessions; beside Postfix with OpenDKIM
  rest    POST /v1/emails a second over kept connections; there is no peer, so beside our own SMTP
  queue   cost of a message while many others wait, of one recipient domain or of 10,000, and the time until the
          listeners are open with that queue; there is no peer
  inbound mail of external senders accepted, authenticated, scored and filed, over 10 sessions; beside Postfix
          with rspamd; as root
  api     GET and POST of emails, contacts and suppressions, pages of all lists at every depth, metrics, an export and
          what other requests wait meanwhile, with 1,000,000 emails and contacts stored; beside itself next to empty
  broadcast  a whole broadcast of 20 KB, beside the relay of such messages
  webhooks relay with tracking and a webhook that gets every event, beside without; then a backlog of events to one
          endpoint, and the memory that it takes
  Without any of them: accept and relay.

  --messages N        messages a run (default 5000; queue: 2000; inbound: 3000; api: 2000 requests)
  --warm-up N         messages before each run that are not counted: programs that compile as they
                      run and those that do not are then compared at work (default 3000); inbound: before
                      the first run, because the servers stay up and take turns
  --rounds N          runs of each side, in turns (default 3; queue: 1)
  --sizes A,B         octets of a message (default: accept 4096,51200; relay and queue 4096)
  --sessions A,B      accept: SMTP sessions at once; rest, api: connections at once (default 1,10,50)
  --new-sessions A,B  accept: at once, with a new connection for each message (default 10; 0: none)
  --depths A,B        queue: messages that wait (default 1000,100000,1000000)
  --events N          webhooks: events of the backlog (default 50000)
  --scale X           api: so much of what is stored, as 0.01 (default 1)
  --memory            inbound: no comparison, but what the daemon holds in memory after each tenth of
                      the messages (default 100000)
  --inbound-sessions N  inbound: SMTP sessions at once (default 10)
  --cores A,B         inbound: no peer, but Posthorn bound to so many cores, in turns, the most first: how much faster it is
                      with more; client and DNS server are not bound
  --disk DIR          where both sides keep their data (default: the project's folder)
  --json FILE         where all figures go (default: bench-results.json in the project's folder,
                      which git does not see)
  --install-peers     as root: install the peers from Debian first; no service is started

Without Postfix's programs Posthorn is measured alone, with a client and a sink in Node.js that
take more of the machine than Postfix's own: such figures do not compare with others.
BENCH_NODE_FLAGS is given to Posthorn's node, e.g. "--cpu-prof --cpu-prof-dir=DIR".
`

const texts = {
  ...{ messages: undefined, 'warm-up': '3000', rounds: undefined, sizes: undefined, sessions: '1,10,50' },
  ...{ 'new-sessions': '10', depths: '1000,100000,1000000', events: '50000', scale: '1', cores: undefined },
  ...{ 'inbound-sessions': '10', disk: undefined, json: undefined },
}
const flags = ['memory', 'install-peers', 'help']

/** What was not given is absent. Throws a TypeError that names the fault. */
export function readOptions(words) {
  const options = {
    ...Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { type: 'string', default: value }])),
    ...Object.fromEntries(flags.map((name) => [name, { type: 'boolean', default: false }])),
  }
  const { values, positionals } = parseArgs({ args: words, allowPositionals: true, options })
  const unknown = positionals.find((kind) => !kinds.includes(kind))
  if (unknown !== undefined) throw new TypeError(`unknown measurement: ${unknown}`)
  const from = process.env['BENCH_FROM'] ?? '.'
  const given = (read, text) => (text === undefined ? undefined : read(text))
  return {
    help: values.help,
    installPeers: values['install-peers'],
    asked: positionals.length === 0 ? ['accept', 'relay'] : positionals,
    messages: given(count, values.messages),
    warmUp: count(values['warm-up']),
    rounds: given(count, values.rounds),
    sizes: given(counts, values.sizes),
    sessions: counts(values.sessions),
    newSessions: counts(values['new-sessions']).filter((sessions) => sessions > 0),
    depths: counts(values.depths),
    events: count(values.events),
    scale: share(values.scale),
    inboundSessions: count(values['inbound-sessions']),
    memory: values.memory,
    cores: given(counts, values.cores),
    disk: resolve(values.disk === undefined ? '.' : from, values.disk ?? '.'),
    json: resolve(values.json === undefined ? '.' : from, values.json ?? 'bench-results.json'),
  }
}

function counts(text) {
  return text.split(',').map(count)
}

function share(text) {
  if (!/^(?:1|0\.\d{1,6})$/.test(text)) throw new TypeError(`not a share such as 0.01: ${text}`)
  return Number(text)
}

function count(text) {
  if (!/^\d{1,9}$/.test(text)) throw new TypeError(`not a number: ${text}`)
  return Number(text)
}
