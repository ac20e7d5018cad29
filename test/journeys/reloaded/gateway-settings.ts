/** Observes the settings of webhooks and of verification codes by SMS. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { webhookReceiver } from '../../helpers/http/webhook-receiver.js'
import { waitUntil } from '../../helpers/wait-until.js'
import type { Observations, ReloadedDaemon } from './observation.js'
import type { RecordedRequest, Recorder } from './recorder.js'

const HOUR = 3_600_000
const MINUTE = 60_000

/** `gateway`: takes over the messages of the daemon. */
export async function gatewaySettings(here: ReloadedDaemon, gateway: Recorder): Promise<Observations> {
  return { ...(await webhookSettings(here)), ...smsLimits(here), ...smsSettings(here, gateway) }
}

async function webhookSettings({ app, next, t }: ReloadedDaemon): Promise<Observations> {
  const receiver = await webhookReceiver(t)
  receiver.answer((response, { path }) => {
    if (!path.startsWith('/silent')) response.writeHead(500).end()
  })
  const private_ = { 'webhooks.allowed_private_networks': ['127.0.0.0/8'] }
  const subscribe = (path: string): ReturnType<typeof app.rest> =>
    app.rest('POST', '/v1/webhooks', {
      body: { url: `http://127.0.0.1:${receiver.port}${path}`, events: ['email.queued'] },
    })
  /** Subscribes, and finds the delivery of an event from then on once it was attempted. */
  const begin = async (path: string) => {
    const hook = (await subscribe(path)).json<{ readonly id: string }>().id
    const email = await app.submitAccepted({ to: [`n${next()}@d.test`] })
    type Row = { readonly attempts: number; readonly next_attempt_at: number }
    const sql = `select attempts, next_attempt_at from webhook_deliveries where webhook_id = ?
      and event_id in (select id from events where email_id = ?)`
    return async () => (await app.rows<Row>(sql, hook, email))[0]
  }
  return {
    'webhooks.allowed_private_networks': {
      ...{ from: [], to: ['127.0.0.0/8'], sees: [400, 201], look: async () => (await subscribe('/checked')).status },
    },
    'webhooks.retry_schedule': {
      ...{ from: ['5m'], to: ['2h'], beside: private_, sees: [0, 2] },
      look: async () => {
        const find = await begin('/failing')
        const { next_attempt_at: at } = (await waitUntil(
          'it has failed',
          async () => (await find())?.attempts === 1 && (await find()),
        )) || {
          next_attempt_at: 0,
        }
        return Math.round((at - app.now()) / HOUR)
      },
    },
    'webhooks.timeout': {
      ...{ from: '5m', to: '1s', beside: private_ },
      open: async () => {
        const path = `/silent${next()}`
        const find = await begin(path)
        await waitUntil('it is asked', () => receiver.requests.some((request) => request.path === path))
        return {
          ended: () => waitUntil('it was given up', async () => (await find())?.attempts === 1),
          goOn: async () => {
            if (((await find())?.attempts ?? 0) > 0) throw new Error('it was given up')
          },
        }
      },
    },
  }
}

function smsLimits(here: ReloadedDaemon): Observations {
  const { app } = here
  /** Numbers of a range differ in their last four digits, and ranges of a prefix in those before. */
  const newRange = (): string => `+4915${String(10_000 + here.next()).padStart(5, '0')}`
  const send = async (phone: string): Promise<number> =>
    (await app.rest('POST', '/v1/sms/verify/send', { body: { phone } })).status
  /** The answer to the second of two. */
  const sendTwo = async (range: string, ends: readonly [string, string] = ['1111', '2222']): Promise<number> => {
    await send(range + ends[0])
    return send(range + ends[1])
  }
  const limit = (name: string, from: number, look: () => Promise<number>): Observations => ({
    [`sms.limits.${name}`]: { from, to: 1, sees: [200, 429], look },
  })
  return {
    'sms.allowed_countries': {
      from: ['US'],
      to: ['DE'],
      sees: [/^4/, /^200/],
      look: async () => `${await send(`${newRange()}1111`)}`,
    },
    ...limit('per_phone_per_hour', 5, () => sendTwo(newRange(), ['1111', '1111'])),
    ...limit('per_phone_per_day', 10, () => sendTwo(newRange(), ['1111', '1111'])),
    ...limit('per_range_per_hour', 50, () => sendTwo(newRange())),
    ...limit('per_workspace_per_minute', 10_000, () => sendTwo(newRange())),
    ...limit('per_workspace_per_hour', 10_000, () => sendTwo(newRange())),
    ...limit('per_workspace_per_day', 10_000, () => sendTwo(newRange())),
    'sms.limits.min_verified_percent': {
      ...{ from: 0, to: 100, sees: [200, 429] },
      look: async () => {
        for (let at = 0; at < 20; at += 1) await send(`+1212555${String(1000 + here.next())}`)
        app.advance(6 * MINUTE)
        return send(`+1212555${1000 + here.next()}`)
      },
    },
  }
}

function smsSettings(here: ReloadedDaemon, { url, requests }: Recorder): Observations {
  const { app } = here
  const request = async (): Promise<RecordedRequest | undefined> => {
    const phone = `+491520${String(1_000_000 + here.next())}`
    const { status, text } = await app.rest('POST', '/v1/sms/verify/send', { body: { phone } })
    if (status !== 200) throw new Error(text)
    return requests.at(-1)
  }
  const login = async (): Promise<string> =>
    Buffer.from((await request())?.authorization.replace('Basic ', '') ?? '', 'base64').toString()
  const file = (name: string, content: string): string => {
    const path = join(app.folder, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  const template = { 'sms.http.style': 'template' }
  const [one, two] = ['one', 'two'].map((name) => `{"name":"${name}","to":"{to}","text":"{text}"}`)
  const body = async (): Promise<string | undefined> => (await request())?.body
  return {
    'sms.sender': {
      from: '+15005550006',
      to: '+15005550007',
      sees: [/From=%2B15005550006/, /From=%2B15005550007/],
      look: body,
    },
    'sms.http.style': { from: 'twilio', to: 'template', sees: [/^To=/, /^\{/], look: body },
    'sms.http.url': {
      from: `${url}/one`,
      to: `${url}/two`,
      sees: ['/one', '/two'],
      look: async () => (await request())?.path,
    },
    'sms.http.username': { from: 'one', to: 'two', sees: ['one:secret', 'two:secret'], look: login },
    'sms.http.password': { from: 'one', to: 'two', sees: ['AC1:one', 'AC1:two'], look: login },
    'sms.http.password_file': {
      ...{ from: file('one', 'one'), to: file('two', 'two'), sees: ['AC1:one', 'AC1:two'], look: login },
      ...{ beside: { 'sms.http.password': '' }, fills: 'sms.http.password' },
    },
    'sms.http.body_template': { from: one, to: two, sees: [/"one"/, /"two"/], look: body, beside: template },
    'sms.http.body_template_file': {
      ...{ from: file('one.json', one ?? ''), to: file('two.json', two ?? ''), sees: [/"one"/, /"two"/], look: body },
      ...{ beside: template, fills: 'sms.http.body_template' },
    },
  }
}
