// The options of the command line. Paths are relative to the folder in which scripts/bench was called.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

export const kinds = [
  'accept',
  'relay',
  'rest',
  'floor',
  'queue',
  'inbound',
  'authenticate',
  'zone',
  'api',
  'rewrite',
  'broadcast',
  'track',
  'webhooks',
]

export const usage = `scripts/bench [accept] [relay] [rest] [floor] [queue] [inbound] [authenticate] [zone] [api] [rewrite] [broadcast] [track] [webhooks] [options]

  accept  messages taken a second, durable, nothing delivered; beside Postfix
  relay   signed with RSA-2048 and handed on over 20 sessions; beside Postfix with OpenDKIM
  rest    POST /v1/emails a second over kept connections; there is no peer, so beside our own SMTP
  floor   what smtp-server takes with SQLite and with nothing behind it, and Node's HTTPS server alone, beside all of
          Posthorn and Postfix; with --relay a relay of these packages that signs and does nothing else, beside all of
          Posthorn and Postfix with OpenDKIM; with --inbound an MX that authenticates and scores with Posthorn's code and
          does nothing else, beside all of Posthorn and Postfix with rspamd, as root
  queue   cost of a message while many others wait, of one recipient domain or of 10,000, and the time until the
          listeners are open with that queue; there is no peer
  inbound mail of external senders accepted, authenticated, scored and filed, over 10 sessions; beside Postfix
          with OpenDKIM, OpenDMARC and rspamd, and beside Postfix with rspamd alone; as root
  authenticate  SPF, DKIM, DMARC, ARC and iprev alone, through the thread that checks them, with ten messages in hand; beside
          another build of Posthorn (--beside)
  zone    questions to the service zone answered a second over UDP; beside Knot with a copy of it
  api     GET and POST of emails, contacts and suppressions, and pages at every depth, with 1,000,000
          emails, 1,000,000 contacts and 200,000 suppressions stored; beside itself next to empty
  rewrite what tracking opens and clicks costs the main thread a message, with 0, 20 and 200 links
  broadcast  what a broadcast's frame costs once, and each message made from it, beside composing it as a whole; a whole
          broadcast beside the relay; how long other mail takes beside a running broadcast and without it, in turns
  track   opens and clicks over kept HTTPS connections, at a fixed rate, while mail is relayed at half the
          speed measured just before; then alone; there is no peer
  webhooks relay with tracking and a webhook that gets every event, beside without; then a backlog of events to one
          endpoint, and the memory that it takes
  Without any of them: accept and relay.

  --messages N        messages a run (default 5000; queue: 2000; zone: 30000 questions;
                      api: 2000 requests)
  --warm-up N         messages before each run that are not counted: programs that compile as they
                      run and those that do not are then compared at work (default 3000); inbound: before
                      the first run, because the servers stay up and take turns
  --rounds N          runs of each side, in turns (default 3; queue: 1)
  --sizes A,B         octets of a message (default: accept and floor --relay 4096,51200; relay, floor and queue 4096)
  --sessions A,B      accept: SMTP sessions at once; rest, api: connections at once (default 1,10,50)
  --new-sessions A,B  accept, floor: at once, with a new connection for each message (default: accept 10, floor none; 0: none)
  --relay             floor: of the relay
  --inbound           floor: of inbound mail
  --domains N         zone: registered domains (default 5000)
  --depths A,B        queue: messages that wait (default 1000,100000,1000000)
  --rate N            track: requests a second (default 2000)
  --seconds N         track: of a run (default 20)
  --events N          webhooks: events of the backlog (default 50000)
  --scale X           api: so much of what is stored, as 0.01 (default 1)
  --beside DIR        authenticate: a folder of Posthorn, built, to be measured in turns
  --memory            inbound: no comparison, but what the daemon holds in memory after each tenth of
                      the messages (default 100000)
  --inbound-sessions N  inbound, floor --inbound: SMTP sessions at once (default 10)
  --cores A,B         inbound, floor --inbound: no peer, but Posthorn or with floor the least MX bound to so many cores, in
                      turns, the most first: how much faster it is with more; client and DNS server are not bound
  --disk DIR          where both sides keep their data (default: the project's folder)
  --json FILE         where all figures go (default: bench-results.json in the project's folder,
                      which git does not see)
  --install-peers     as root: install the peers from Debian first; no service is started

Without Postfix's programs Posthorn is measured alone, with a client and a sink in Node.js that
take more of the machine than Postfix's own: such figures do not compare with others.
BENCH_NODE_FLAGS is given to Posthorn's node, e.g. "--cpu-prof --cpu-prof-dir=DIR".
`

/** Throws a TypeError that names the fault. */
export function readOptions(words) {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: {
      messages: { type: 'string' },
      'warm-up': { type: 'string', default: '3000' },
      rounds: { type: 'string' },
      sizes: { type: 'string' },
      sessions: { type: 'string', default: '1,10,50' },
      'new-sessions': { type: 'string' },
      depths: { type: 'string', default: '1000,100000,1000000' },
      domains: { type: 'string', default: '5000' },
      rate: { type: 'string', default: '2000' },
      seconds: { type: 'string', default: '20' },
      events: { type: 'string', default: '50000' },
      scale: { type: 'string', default: '1' },
      beside: { type: 'string' },
      relay: { type: 'boolean', default: false },
      inbound: { type: 'boolean', default: false },
      memory: { type: 'boolean', default: false },
      'inbound-sessions': { type: 'string', default: '10' },
      cores: { type: 'string' },
      disk: { type: 'string' },
      json: { type: 'string' },
      'install-peers': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const unknown = positionals.find((kind) => !kinds.includes(kind))
  if (unknown !== undefined) throw new TypeError(`unknown measurement: ${unknown}`)
  const from = process.env['BENCH_FROM'] ?? '.'
  const newSessions = values['new-sessions']
  return {
    help: values.help,
    installPeers: values['install-peers'],
    asked: positionals.length === 0 ? ['accept', 'relay'] : positionals,
    messages: values.messages === undefined ? null : count(values.messages),
    warmUp: count(values['warm-up']),
    rounds: values.rounds === undefined ? null : count(values.rounds),
    sizes: values.sizes === undefined ? null : counts(values.sizes),
    sessions: counts(values.sessions),
    newSessions: newSessions === undefined ? null : counts(newSessions).filter((sessions) => sessions > 0),
    depths: counts(values.depths),
    domains: count(values.domains),
    rate: count(values.rate),
    seconds: count(values.seconds),
    events: count(values.events),
    scale: share(values.scale),
    beside: values.beside === undefined ? null : resolve(from, values.beside),
    relay: values.relay,
    inbound: values.inbound,
    inboundSessions: count(values['inbound-sessions']),
    memory: values.memory,
    cores: values.cores === undefined ? null : counts(values.cores),
    disk: values.disk === undefined ? resolve('.') : resolve(from, values.disk),
    json: values.json === undefined ? resolve('bench-results.json') : resolve(from, values.json),
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
