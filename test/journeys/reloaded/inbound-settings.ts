/** Observes the settings of the MX listener and of the judgement of spam. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { idOfReply, waitUntilProcessed } from '../../helpers/smtp/deliver-inbound.js'
import { type Dialogue, dial } from '../../helpers/smtp/smtp-dialogue.js'
import { greetTwo, opened, trickle } from './listener-settings.js'
import { type MxClients, proxyLine } from './mx-clients.js'
import type { Observations, ReloadedDaemon } from './observation.js'
import type { RecordedRequest } from './recorder.js'

const MINUTE = 60_000
const DAY = 86_400_000

/** The zone has it in a block list and in an allow list. */
const LISTED_CLIENT = '8.8.4.7'
export const inboundZone = {
  '7.4.8.8.bl.test': { addresses: ['127.0.0.2'] },
  '7.4.8.8.wl.test': { addresses: ['127.0.5.2'] },
  '_dmarc.spoofed.test': { TXT: ['v=DMARC1; p=reject'] },
}

export function inboundSettings(
  here: ReloadedDaemon,
  mx: MxClients,
  recorder: { readonly url: string; readonly requests: readonly RecordedRequest[] },
): Observations {
  return {
    ...connectionSettings(mx),
    ...messageSettings(mx),
    ...recipientSettings(mx),
    ...paceSettings(mx),
    ...listSettings(mx),
    ...greylistSettings(here, mx),
    ...spamSettings(here, mx, recorder),
  }
}

function connectionSettings(mx: MxClients): Observations {
  const sees = [
    ['220', '220'],
    ['220', '421'],
  ] as const
  const two = (make: (client: string) => string) => () => {
    const client = mx.newClient()
    return greetTwo(mx.port, ['127.0.0.1', '127.0.0.1'], [proxyLine(client), proxyLine(make(client))])
  }
  const [same, neighbour] = [two((client) => client), two((client) => client.replace(/7$/, '8'))]
  return {
    'inbound.proxies': {
      ...{ from: ['127.0.0.1/32'], to: ['127.0.0.0/8'], sees: [/^5/, /^220/] },
      look: async () => {
        const session = await dial(mx.port, { localAddress: '127.0.0.9' })
        const first = session.readReply()
        await session.send(proxyLine(mx.newClient()))
        const reply = await first
        session.end()
        // Where no PROXY line is expected, it is a command that came early, and unknown.
        return reply.startsWith('220') ? session.readReply().then((next) => (next === 'closed' ? reply : next)) : reply
      },
    },
    'inbound.max_connections': { from: 1000, to: 1, sees, look: two(() => mx.newClient()) },
    'inbound.max_connections_per_address': { from: 50, to: 1, sees, look: same },
    'inbound.max_connections_per_network': {
      ...{ from: 200, to: 1, sees, look: neighbour, beside: { 'inbound.max_connections_per_address': 1 } },
    },
    'inbound.connections_per_minute': { from: 300, to: 1, sees, look: same },
    'inbound.session_deadline': {
      ...{ from: '1d', to: '1s' },
      open: async () => {
        const session = await mx.greet()
        return opened(session, () => session.sendCommand('NOOP'))
      },
    },
    'inbound.early_talkers': {
      ...{ from: 'note', to: 'refuse', sees: [/^220/, /^554/] },
      look: async () => {
        const session = await dial(mx.port)
        await session.send(`${proxyLine(mx.newClient())}EHLO early.test\r\n`)
        const reply = await session.readReply()
        session.end()
        return reply
      },
    },
  }
}

function messageSettings(mx: MxClients): Observations {
  return {
    'inbound.messages_per_minute': {
      ...{ from: 1000, to: 1, sees: [/^250/, /^4/] },
      look: () => mx.ask(['MAIL FROM:<>', 'RSET', 'MAIL FROM:<>']),
    },
    'inbound.bytes_per_minute': {
      ...{ from: '200MB', to: '1KB', sees: [/^250/, /^4/] },
      look: async () => {
        const client = mx.newClient()
        await mx.deliver({ from: 'ann@b.test', client })
        return mx.ask(['MAIL FROM:<> SIZE=5000'], client)
      },
    },
    'inbound.max_size': {
      from: '35MB',
      to: '1MB',
      sees: [/^250/, /^552/],
      look: () => mx.ask(['MAIL FROM:<> SIZE=2000000']),
    },
    'inbound.dmarc': {
      ...{ from: 'report', to: 'reject', sees: [/^250/, /^550/] },
      look: () => mx.deliver({ from: 'ann@spoofed.test' }),
    },
  }
}

function recipientSettings(mx: MxClients): Observations {
  const unknown = ['a', 'b', 'c'].map((name) => `RCPT TO:<${name}@absent.test>`)
  return {
    'inbound.max_recipients': {
      ...{ from: 100, to: 1, sees: [/^250/, /^452/] },
      look: () => mx.ask(['MAIL FROM:<>', 'RCPT TO:<a@home.test>', 'RCPT TO:<b@home.test>']),
    },
    'inbound.max_refused_recipients': {
      ...{ from: 1000, to: 1, sees: [/^550/, /^421/] },
      look: () => mx.ask(['MAIL FROM:<>', ...unknown.slice(0, 2)]),
    },
    'inbound.tarpit': {
      // The second of two refusals is delayed by half of the setting.
      ...{ from: '30s', to: '1s', beside: { 'inbound.max_refused_recipients': 2 } },
      open: async () => {
        const session = await mx.greet()
        for (const line of ['EHLO mx.b.test', 'MAIL FROM:<>', unknown[0] ?? '']) await session.sendCommand(line)
        const reply = session.sendCommand(unknown[1] ?? '')
        let isAnswered = false
        void reply.then(() => {
          isAnswered = true
        })
        return {
          ended: () => reply.then(() => session.end()),
          goOn: async () => {
            session.reset()
            if (isAnswered) throw new Error('the reply was not delayed')
          },
        }
      },
    },
  }
}

function paceSettings(mx: MxClients): Observations {
  const begin = async (): Promise<Dialogue> => {
    const session = await mx.greet()
    for (const line of ['EHLO mx.b.test', 'MAIL FROM:<>', 'RCPT TO:<a@home.test>', 'DATA'])
      await session.sendCommand(line)
    await session.send('From: ann@b.test\r\nSubject: slow\r\n\r\n')
    return session
  }
  return {
    'inbound.min_data_rate_patience': {
      ...{ from: '10m', to: '1s' },
      open: async () => {
        const session = await begin()
        return opened(session, () => session.sendCommand('.'))
      },
    },
    'inbound.min_data_rate': {
      ...{ from: 1, to: 1_000_000, beside: { 'inbound.min_data_rate_patience': '2s' } },
      open: async () => {
        const session = await begin()
        return opened(session, trickle(session))
      },
    },
  }
}

function listSettings(mx: MxClients): Observations {
  const list = [{ zone: 'bl.test', weight: 2 }]
  const look = (): Promise<string> => mx.askRecipient('a@home.test', 'ann@b.test', LISTED_CLIENT)
  return {
    'inbound.dnsbl': { from: [], to: list, sees: [/^250/, /^5/], look, beside: { 'inbound.refuse_listed_from': 1 } },
    'inbound.refuse_listed_from': { from: 5, to: 1, sees: [/^250/, /^5/], look, beside: { 'inbound.dnsbl': list } },
    'inbound.dnswl': {
      ...{ from: [], to: [{ zone: 'wl.test' }], sees: [/^5/, /^250/], look },
      beside: { 'inbound.dnsbl': list, 'inbound.refuse_listed_from': 1 },
    },
  }
}

function greylistSettings({ app }: ReloadedDaemon, mx: MxClients): Observations {
  const enabled = { 'inbound.greylisting.enabled': true }
  const short = { ...enabled, 'inbound.greylisting.delay': '1m' }
  /** The replies to the same recipient, after each of these waits. */
  const askAfter = async (...waits: readonly number[]): Promise<string> => {
    const [client, from] = [mx.newClient(), `ann.${mx.newClient()}@b.test`]
    let reply = await mx.askRecipient('a@home.test', from, client)
    for (const wait of waits) {
      app.advance(wait)
      reply = await mx.askRecipient('a@home.test', from, client)
    }
    return reply
  }
  return {
    'inbound.greylisting.enabled': { from: false, to: true, sees: [/^250/, /^451/], look: () => askAfter() },
    'inbound.greylisting.delay': {
      ...{ from: '5m', to: '1m', beside: enabled, sees: [/ in 300 seconds/, / in 60 seconds/], look: () => askAfter() },
    },
    'inbound.greylisting.retry_window': {
      ...{ from: '2d', to: '1h', beside: short, sees: [/^250/, /^451/], look: () => askAfter(3 * 60 * MINUTE) },
    },
    'inbound.greylisting.remember': {
      ...{ from: '36d', to: '1d', beside: short, sees: [/^250/, /^451/], look: () => askAfter(2 * MINUTE, 2 * DAY) },
    },
    'inbound.greylisting.exempt': {
      ...{ from: [], to: ['8.0.0.0/8'], beside: enabled, sees: [/^451/, /^250/], look: () => askAfter() },
    },
  }
}

function spamSettings(
  { app }: ReloadedDaemon,
  mx: MxClients,
  { url, requests }: { readonly url: string; readonly requests: readonly RecordedRequest[] },
): Observations {
  const listed = { 'inbound.dnsbl': [{ zone: 'bl.test', weight: 50 }] }
  const look = async (): Promise<unknown> => {
    const id = idOfReply(await mx.deliver({ from: 'ann@b.test', client: LISTED_CLIENT }))
    return (await waitUntilProcessed(app, id))['spam_status']
  }
  const countRequests = async (): Promise<number> => {
    const count = requests.length
    await look()
    return requests.length - count
  }
  const file = join(app.folder, 'rspamd')
  writeFileSync(file, `${url}\n`, { mode: 0o600 })
  return {
    'spam.suspicious_score': {
      ...{ from: 40, to: 90, sees: ['suspicious', 'clean'], look, beside: { ...listed, 'spam.spam_score': 100 } },
    },
    'spam.spam_score': { from: 100, to: 45, sees: ['suspicious', 'spam'], look, beside: listed },
    'spam.rspamd_url': { from: '', to: url, sees: [0, 1], look: countRequests },
    'spam.rspamd_url_file': {
      ...{ from: '', to: file, sees: [0, 1], look: countRequests, fills: 'spam.rspamd_url' },
    },
  }
}
