// The options of the command line. Paths are relative to the folder in which scripts/bench was called.
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'

const kinds = ['accept', 'relay', 'rest', 'queue', 'inbound', 'api', 'broadcast', 'webhooks']

const texts = {
  ...{ messages: undefined, 'warm-up': '3000', rounds: undefined, sizes: undefined, sessions: '1,10,50' },
  ...{ 'new-sessions': '10', depths: '1000,100000,1000000', events: '50000', scale: '1' },
  ...{ 'inbound-sessions': '10', disk: undefined, json: undefined, storage: 'sqlite', build: undefined },
}

/** What was not given is absent. Throws a TypeError that names the fault. */
export function readOptions(words) {
  const options = {
    ...Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { type: 'string', default: value }])),
    'install-peers': { type: 'boolean', default: false },
  }
  const { values, positionals } = parseArgs({ args: words, allowPositionals: true, options })
  const unknown = positionals.find((kind) => !kinds.includes(kind))
  if (unknown !== undefined) throw new TypeError(`unknown measurement: ${unknown}`)
  const from = process.env['BENCH_FROM'] ?? '.'
  const given = (read, text) => (text === undefined ? undefined : read(text))
  return {
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
    storage: engine(values.storage),
    build: given((text) => resolve(from, text), values.build),
    disk: resolve(values.disk === undefined ? '.' : from, values.disk ?? '.'),
    json: resolve(values.json === undefined ? '.' : from, values.json ?? 'bench-results.json'),
  }
}

function engine(text) {
  if (text !== 'sqlite' && text !== 'postgres') throw new TypeError(`not sqlite or postgres: ${text}`)
  return text
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
