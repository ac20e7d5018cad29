/**
 * What the adapters rely on inside smtp-server. When a new version breaks it, this test names the
 * member that vanished or changed: read it in the new version, adapt `src/servers/smtp/server`, and write
 * its new digest here.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import { SMTPConnection } from 'smtp-server/lib/smtp-connection'
import { SMTPStream } from 'smtp-server/lib/smtp-stream'
import t from 'tap'

/** Methods that we call, override or repeat, by the digest of their source. */
const methods = {
  SMTPConnection: {
    init: '67b68fcaf9a0',
    connectionReady: '9a1a85dad07a',
    send: 'ef984a1c077d',
    close: '037caa361bbc',
    _createParser: '969851c58da1',
    _setListeners: 'cbf83a7bef4c',
    _onCommand: 'ec126bdb0225',
    _onClose: '4980a7a5f4c3',
    _onError: 'e8f6b8a6a96f',
    _resetSession: '344831df3393',
    upgrade: 'd9470b13d9d8',
    handler_AUTH: 'f954843c7dba',
    handler_DATA: '71b3f15027e6',
    handler_EHLO: '606809d09f66',
    handler_MAIL: 'c440c42d7079',
    handler_RCPT: '99e58e8df159',
  },
  SMTPServer: {
    connect: '760cd6611cf5',
    close: '8e6624e03bf9',
    onAuth: '956df4265fcd',
    onConnect: 'acefe2c52dab',
    onData: '2b6fb0a8e1c7',
    onSecure: '480110e69ef6',
    _acceptSocket: 'f37460a82eb1',
    _expectsProxyHeader: '19b909b66bd3',
    _onError: '902a959fc19b',
    _upgrade: '252f1aa1e421',
  },
  SMTPStream: {
    startDataMode: '38ea172d03e0',
    continue: 'd5a929d9939d',
    _write: '320ae0c4e718',
    _countDataBytes: 'c251edbbc2b2',
    _feedDataStream: 'f8d36018f7c4',
    _endDataMode: 'cf295c69c1b4',
  },
} as const

/** Fields that we read or write, by their type after construction. */
const fields = {
  SMTPConnection: {
    session: 'object',
    openingCommand: 'boolean',
    hostNameAppearsAs: 'boolean',
    remoteAddress: 'string',
    remotePort: 'number',
    _server: 'object',
    _socket: 'object',
    _parser: 'object',
    _ready: 'boolean',
    _upgrading: 'boolean',
    _nextHandler: 'boolean',
    _closing: 'boolean',
    _closed: 'boolean',
  },
  SMTPServer: {
    connections: 'object',
    options: 'object',
    server: 'object',
    _closeTimeout: 'boolean',
    _pendingSockets: 'object',
  },
  SMTPStream: {
    dataBytes: 'number',
    _atDataStart: 'boolean',
    _dataMode: 'boolean',
    _dataStream: 'object',
    _maxBytes: 'number',
    _remainder: 'string',
  },
} as const

type Class = keyof typeof methods

const server = new SMTPServer({ logger: false })
const instances: Readonly<Record<Class, object>> = {
  SMTPServer: server,
  SMTPConnection: new SMTPConnection(server, new Socket()),
  SMTPStream: new SMTPStream(),
}

function memberOf(owner: Class, name: string): unknown {
  return Reflect.get(instances[owner], name)
}

function digestOf(method: (...given: never[]) => unknown): string {
  return createHash('sha256').update(method.toString().replace(/\s+/g, ' ')).digest('hex').slice(0, 12)
}

/** Null: the method is as it was when the adapters were written for it. */
function methodOffence(owner: Class, name: string, digest: string): string | null {
  const method = memberOf(owner, name)
  if (typeof method !== 'function') return `${owner}.${name} vanished`
  const found = digestOf(method as () => unknown)
  return found === digest ? null : `${owner}.${name} changed: ${found}`
}

function fieldOffence(owner: Class, name: string, type: string): string | null {
  if (!(name in instances[owner])) return `${owner}.${name} vanished`
  const found = typeof memberOf(owner, name)
  return found === type ? null : `${owner}.${name} is of the type ${found}, not ${type}`
}

function* offences(): Iterable<string | null> {
  for (const owner of Object.keys(methods) as Class[]) {
    for (const [name, digest] of Object.entries(methods[owner])) yield methodOffence(owner, name, digest)
    for (const [name, type] of Object.entries(fields[owner])) yield fieldOffence(owner, name, type)
  }
}

t.test('the inside of smtp-server is as the adapters know it', async (t) => {
  t.same(
    [...offences()].filter((offence) => offence !== null),
    [],
  )
})

t.test('a member that vanished or changed is named', async (t) => {
  t.equal(methodOffence('SMTPConnection', '_noSuchMethod', ''), 'SMTPConnection._noSuchMethod vanished')
  t.match(methodOffence('SMTPConnection', 'init', 'another'), /^SMTPConnection\.init changed: [0-9a-f]{12}$/)
  t.equal(fieldOffence('SMTPStream', '_noSuchField', 'string'), 'SMTPStream._noSuchField vanished')
  t.match(fieldOffence('SMTPStream', '_remainder', 'number'), /is of the type string, not number$/)
})

t.test('the adapters alone know smtp-server, and every member that they use is named above', async (t) => {
  const names = readdirSync('src/servers/smtp', { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )
  t.ok(names.length > 20, 'src/servers/smtp is read')
  t.same(
    names.flatMap((name) => sourceOffences(name, readFileSync(join('src/servers/smtp', name), 'utf8'))),
    [],
  )
})

function sourceOffences(name: string, text: string): readonly string[] {
  const isAdapter = /^server\/smtp-(?:server|connection)-adapter\.ts$/.test(name)
  const known = new Set(isAdapter ? Object.keys(methods).flatMap((owner) => membersOf(owner as Class)) : [])
  const used = [...text.matchAll(/\.(_\w+|handler_[A-Z]+)/g)].map(([, member = '']) => member)
  return [
    ...(isAdapter || !text.includes("from 'smtp-server") ? [] : [`${name} imports smtp-server`]),
    ...used.filter((member) => !known.has(member)).map((member) => `${name} uses ${member}, which is not named`),
  ]
}

function membersOf(owner: Class): readonly string[] {
  return [...Object.keys(methods[owner]), ...Object.keys(fields[owner])]
}
