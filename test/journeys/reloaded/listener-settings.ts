/** Observes the settings of the certificate, of the REST listener and of the submission listener. */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { createSelfSigned } from '../../helpers/certificates.js'
import { authPlain, submitMessage } from '../../helpers/daemon/test-daemon.js'
import { type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'
import type { Observation, Observations, ReloadedDaemon } from './observation.js'

/** The first reply to each of two connections that are open at once: its code, or `closed`. */
export async function greetTwo(
  port: number,
  addresses: readonly [string, string],
  beforeGreeting: readonly [string, string] = ['', ''],
): Promise<readonly string[]> {
  const sessions: Dialogue[] = []
  const codes: string[] = []
  for (const [at, localAddress] of addresses.entries()) {
    const session = await dial(port, { localAddress })
    await session.send(beforeGreeting[at] ?? '')
    sessions.push(session)
    codes.push((await session.readReply()).slice(0, 3))
  }
  for (const session of sessions) session.end()
  await Promise.all(sessions.map((session) => session.waitForClose()))
  return codes
}

/** A session that is ended with a 421. */
export function opened(
  session: Dialogue,
  rest: () => Promise<string>,
): Awaited<ReturnType<Extract<Observation, { open: unknown }>['open']>> {
  return {
    ended: async () => {
      const reply = await session.readReply()
      if (!reply.startsWith('421')) throw new Error(`not ended but ${reply}`)
    },
    goOn: async () => {
      const reply = await rest()
      if (!reply.startsWith('250')) throw new Error(`ended: ${reply}`)
    },
  }
}

/** Sends lines of a message that are far slower than the rate after and faster than the one before, until it is told to end it. */
export function trickle(session: Dialogue): () => Promise<string> {
  let goesOn = true
  void session.waitForClose().then(() => {
    goesOn = false
  })
  const sending = (async () => {
    while (goesOn) {
      await session.send('0123456789\r\n')
      await sleep(50)
    }
  })()
  return async () => {
    goesOn = false
    await sending
    return session.sendCommand('.')
  }
}

export async function listenerSettings({ app }: ReloadedDaemon): Promise<Observations> {
  return { ...(await certificateSettings(app)), ...apiSettings(app), ...submissionSettings(app) }
}

type App = ReloadedDaemon['app']

function portOf(app: App): number {
  const [endpoint] = app.daemon.api
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no REST listener')
  return endpoint.port
}

async function certificateSettings(app: App): Promise<Observations> {
  const path = (name: string): string => join(app.folder, name)
  const one = await createSelfSigned(['localhost', 'one.test'])
  const two = await createSelfSigned(['localhost', 'two.test'])
  writeFileSync(path('one.key'), one.key)
  writeFileSync(path('same.key'), one.key)
  writeFileSync(path('two.key'), two.key)
  writeFileSync(path('one.pem'), one.cert)
  writeFileSync(path('two.pem'), two.cert)
  const look = (): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: portOf(app), rejectUnauthorized: false }, () => {
        const { subjectaltname } = socket.getPeerCertificate()
        socket.destroy()
        resolve(subjectaltname)
      }).once('error', reject)
    })
  return {
    'tls.cert_file': {
      ...{ from: path('one.pem'), to: path('two.pem'), look, sees: [/one\.test/, /two\.test/] },
      together: [{ 'tls.key_file': path('one.key') }, { 'tls.key_file': path('two.key') }],
    },
    'tls.key_file': {
      ...{ from: path('one.key'), to: path('two.key'), look, sees: [/one\.test/, /two\.test/] },
      together: [{ 'tls.cert_file': path('one.pem') }, { 'tls.cert_file': path('two.pem') }],
    },
  }
}

/** Which of two TLS connections are let in that are open at once. */
async function secureTwo(app: App, addresses: readonly [string, string]): Promise<readonly string[]> {
  const sockets: ReturnType<typeof connect>[] = []
  const found: string[] = []
  for (const localAddress of addresses) {
    const from = { host: '127.0.0.1', port: portOf(app), localAddress }
    const socket = connect({ ...from, rejectUnauthorized: false })
    sockets.push(socket)
    found.push(
      await new Promise<string>((resolve) => {
        socket.once('secureConnect', () => resolve('open')).once('error', () => resolve('refused'))
        socket.once('close', () => resolve('refused'))
      }),
    )
  }
  const closed = sockets.map(
    (socket) => new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve))),
  )
  for (const socket of sockets) socket.destroy()
  await Promise.all(closed)
  return found
}

function apiSettings(app: App): Observations {
  const sees = [
    ['open', 'open'],
    ['open', 'refused'],
  ] as const
  const one = 'api.max_connections_per_address'
  return {
    // Pages are refused over plain HTTP, which only a proxy that is trusted can report.
    'api.trusted_proxies': {
      ...{ from: [], to: ['127.0.0.0/8'], sees: [401, 400] },
      look: async () => {
        // It holds for the next connection.
        const headers = { 'x-forwarded-proto': 'http', 'sec-fetch-site': 'same-origin', connection: 'close' }
        return (await app.rest('GET', '/ui/api/session', { key: null, headers })).status
      },
    },
    'api.max_connections': { from: 1000, to: 1, look: () => secureTwo(app, ['127.0.0.2', '127.0.0.3']), sees },
    'api.max_connections_per_address': {
      ...{ from: 200, to: 1, sees, beside: { 'api.trusted_proxies': [] } },
      look: () => secureTwo(app, ['127.0.0.2', '127.0.0.2']),
    },
    'api.max_connections_per_network': {
      ...{ from: 500, to: 1, sees, beside: { [one]: 1 } },
      look: () => secureTwo(app, ['127.0.0.2', '127.0.0.3']),
    },
  }
}

function submissionSettings(app: App): Observations {
  return { ...submissionSessions(app), ...submissionMessages(app), ...submissionPace(app) }
}

const portFor = (app: App): number => app.daemon.submission.find(({ tls }) => !tls)?.port ?? 0

async function greeted(app: App): Promise<Dialogue> {
  const session = await dial(portFor(app))
  await session.readReply()
  return session
}

async function askOnce(session: Dialogue, ...lines: readonly string[]): Promise<string> {
  let reply = ''
  for (const line of lines) reply = await session.sendCommand(line)
  session.end()
  return reply
}

function submissionSessions(app: App): Observations {
  const sees = [
    ['220', '220'],
    ['220', '421'],
  ] as const
  const two = (addresses: readonly [string, string]) => () => greetTwo(portFor(app), addresses)
  const one = 'submission.max_connections_per_address'
  return {
    'submission.allow_plaintext_loopback': {
      ...{ from: true, to: false, sees: [true, false] },
      look: async () => /AUTH/.test(await askOnce(await greeted(app), 'EHLO app.test')),
    },
    'submission.trusted': {
      ...{ from: [], to: [{ network: '127.0.0.0/8', workspace: app.workspaceId }], sees: [/^530/, /^250/] },
      look: async () => askOnce(await greeted(app), 'EHLO app.test', 'MAIL FROM:<app@a.test>'),
    },
    'submission.max_connections': { from: 1000, to: 1, sees, look: two(['127.0.0.2', '127.0.0.3']) },
    'submission.max_connections_per_address': { from: 200, to: 1, sees, look: two(['127.0.0.2', '127.0.0.2']) },
    'submission.max_connections_per_network': {
      ...{ from: 500, to: 1, sees, beside: { [one]: 1 }, look: two(['127.0.0.2', '127.0.0.3']) },
    },
    'submission.auth_timeout': {
      ...{ from: '10m', to: '1s' },
      open: async () => {
        const session = await greeted(app)
        return opened(session, () => askOnce(session, 'NOOP'))
      },
    },
    'submission.session_deadline': {
      ...{ from: '1d', to: '1s' },
      open: async () => {
        const session = await app.openSession()
        return opened(session, () => askOnce(session, 'NOOP'))
      },
    },
  }
}

function submissionMessages(app: App): Observations {
  return {
    'submission.max_size': {
      ...{ from: '15MB', to: '1MB', sees: [/SIZE 15728640/, /SIZE 1048576/] },
      look: async () => askOnce(await greeted(app), 'EHLO app.test'),
    },
    'submission.max_recipients': {
      ...{ from: 100, to: 1, sees: [/^250/, /^452/] },
      look: async () =>
        askOnce(await app.openSession(), 'MAIL FROM:<app@a.test>', 'RCPT TO:<a@b.test>', 'RCPT TO:<b@b.test>'),
    },
    'submission.max_line_length': {
      ...{ from: 2000, to: 998, sees: [/^250/, /^5/] },
      look: async () => {
        const raw = `From: app@a.test\r\nSubject: a long line\r\n\r\n${'x'.repeat(1500)}\r\n`
        const session = await app.openSession()
        const reply = await submitMessage(session, { to: ['long@b.test'], raw })
        session.end()
        return reply
      },
    },
  }
}

function submissionPace(app: App): Observations {
  const begin = async (): Promise<Dialogue> => {
    const session = await greeted(app)
    for (const line of ['EHLO app.test', authPlain(app.key), 'MAIL FROM:<app@a.test>', 'RCPT TO:<slow@b.test>', 'DATA'])
      await session.sendCommand(line)
    await session.send('From: app@a.test\r\nSubject: slow\r\n\r\n')
    return session
  }
  return {
    'submission.min_data_rate_patience': {
      ...{ from: '10m', to: '1s' },
      open: async () => {
        const session = await begin()
        return opened(session, () => askOnce(session, '.'))
      },
    },
    'submission.min_data_rate': {
      ...{ from: 1, to: 1_000_000, beside: { 'submission.min_data_rate_patience': '2s' } },
      open: async () => {
        const session = await begin()
        return opened(session, trickle(session))
      },
    },
  }
}
