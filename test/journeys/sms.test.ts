/**
 * Verification codes as apps and operators see them: a gateway or an SMSC takes over messages, webhooks hear of them, and a
 * code is nowhere but in its message.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { databaseFile } from '../../src/base/storage/open.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { withOwnDatabase } from '../helpers/database/daemon-database.js'
import { openTestDatabase } from '../helpers/database/database.js'
import { codeIn, openSmsGateway, type SmsGateway, smsSettings } from '../helpers/http/sms-gateway.js'
import { webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { buildReceipt, messageOf, openSmsc, type Smsc } from '../helpers/sms/smsc.js'
import { waitUntil } from '../helpers/wait-until.js'
import { configure, createReadyInstallation, type Daemon, serve } from './support/program.js'

const PHONE = '+4915123456701'
const webhooks = { allowed_private_networks: ['127.0.0.0/8'] }
/** Long codes between letters: no other digits of the data are like them. */
const body = { phone: PHONE, code_length: 8, template: 'pass {code} for {minutes} min' }

interface Checked {
  readonly valid: boolean
  readonly status: string
}

async function send(app: TestDaemon, more: object = {}): Promise<string> {
  const answer = await app.rest('POST', '/v1/sms/verify/send', { body: { ...body, ...more } })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<{ readonly id: string }>().id
}

async function check(app: TestDaemon, code: string | undefined): Promise<Checked> {
  const answer = await app.rest('POST', '/v1/sms/verify/check', { body: { phone: PHONE, code } })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<Checked>()
}

const wrongFor = (code: string | undefined): string => (code === '00000000' ? '00000001' : '00000000')

const eventTypes = async (app: TestDaemon): Promise<readonly string[]> =>
  (await app.rows<{ type: string }>(`select type from events where type like 'sms.%' order by seq`)).map(
    ({ type }) => type,
  )

/** Files below the folder that contain the code between other characters than digits. */
function filesWith(folder: string, code: string): readonly string[] {
  const form = new RegExp(`(?<!\\d)${code}(?!\\d)`)
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile() && form.test(readFileSync(file, 'latin1')))
}

async function assertSecret(t: Test, app: TestDaemon, codes: readonly (string | undefined)[]): Promise<void> {
  t.ok(codes.length > 0 && codes.every((code) => /^\d{8}$/.test(code ?? '')), 'the messages had codes')
  for (const code of codes.map(String)) {
    t.same(
      app.lines.filter((line) => line.includes(code)),
      [],
      'no line of the log has the code',
    )
    t.same(await app.rows('select data from events where data like ?', `%${code}%`), [], 'no event has it')
    t.same(filesWith(app.folder, code), [], 'no file has it')
  }
}

/** A receipt as the gateway sends it, to the daemon behind `public_url`. */
function report(app: TestDaemon, url: string | undefined, status: string) {
  const { pathname } = new URL(url ?? '')
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return app.rest('POST', pathname, { key: null, headers, body: `MessageSid=SM1&MessageStatus=${status}` })
}

t.test('through a gateway: sent, delivered, verified, and the code is nowhere', async (t) => {
  const gateway = await openSmsGateway(t)
  const receiver = await webhookReceiver(t)
  const app = await testDaemon(t, { level: 'debug', settings: { sms: smsSettings(gateway), webhooks } })
  const events = ['sms.sent', 'sms.delivered', 'sms.failed', 'sms.verified']
  t.equal((await app.rest('POST', '/v1/webhooks', { body: { url: receiver.url, events } })).status, 201)

  const id = await send(app, { metadata: { user: 7 } })
  const [message] = gateway.messages
  const code = gateway.codeFor(PHONE)
  t.match(message, {
    to: PHONE,
    from: '+15005550006',
    body: `pass ${code} for 10 min`,
    authorization: `Basic ${Buffer.from('AC1:gateway-secret').toString('base64')}`,
  })
  t.match(message?.statusCallback, `https://mail.service.test/v1/sms/receipts/${id}/`)
  t.equal((await report(app, message?.statusCallback, 'sent')).status, 204)
  t.equal((await report(app, `${message?.statusCallback}x`, 'delivered')).status, 404)
  t.equal((await report(app, message?.statusCallback, 'delivered')).status, 204)
  t.equal((await report(app, message?.statusCallback, 'delivered')).status, 204)
  t.match(await check(app, wrongFor(code)), { valid: false, status: 'invalid', message: /2 attempts are left/ })
  t.match(await check(app, code), { valid: true, status: 'verified' })
  t.match(await check(app, code), { valid: false, status: 'invalid' })
  t.same(await eventTypes(app), ['sms.sent', 'sms.delivered', 'sms.verified'])
  await waitUntil('the webhook has all', () => receiver.events().length === 3)
  for (const { type, data } of receiver.events()) {
    t.match(data, { sms_id: id, phone: PHONE, country: 'DE', segments: 1, metadata: { user: 7 } }, type)
  }
  const usage = (await app.rest('GET', '/v1/usage')).json<{ readonly sms: object }>()
  t.match(usage.sms, { sms_sent: 1, segments: 1, days: [{ sms_sent: 1, segments: 1 }] })

  t.equal((await app.rest('POST', '/v1/sms/verify/send', { body: { ...body, phone: '+4915123456798' } })).status, 503)
  t.ok(
    app.lines.some((line) => line.includes('21614') && line.includes('code not sent')),
    "the gateway's words are logged",
  )
  t.same((await eventTypes(app)).at(-1), 'sms.failed')
  await assertSecret(t, app, [code])
  t.same(
    app.lines.filter((line) => line.includes('gateway-secret')),
    [],
    'nor does the log have the password',
  )
  t.same(app.errors, [])
})

t.test('time and new codes end a code', async (t) => {
  const gateway = await openSmsGateway(t)
  const app = await testDaemon(t, { settings: { sms: smsSettings(gateway) } })
  await send(app, { expiry_minutes: 1 })
  const expired = gateway.codeFor(PHONE)
  app.advance(60_001)
  t.match(await check(app, expired), { valid: false, status: 'expired' })
  t.match(await check(app, expired), { valid: false, status: 'expired' }, 'and stays so')
  await send(app)
  const old = gateway.codeFor(PHONE)
  gateway.treat('refuse')
  t.equal((await app.rest('POST', '/v1/sms/verify/send', { body })).status, 503)
  gateway.treat('accept')
  t.match(await check(app, wrongFor(old)), { message: /2 attempts are left/ }, 'the old one stays valid')
  await send(app)
  t.match(await check(app, old), { valid: false, message: /2 attempts are left/ }, 'until the new one is sent')
  t.match(await check(app, gateway.codeFor(PHONE)), { valid: true })
  t.same(
    (await app.rows<{ status: string }>('select status from sms_codes order by id')).map(({ status }) => status),
    ['expired', 'replaced', 'void', 'verified'],
  )
})

function lastText(smsc: Smsc): string {
  return String(messageOf(smsc.listReceived('submit_sm').at(-1)).text)
}

t.test('through an SMSC that is lost and comes back', async (t) => {
  const smsc = await openSmsc(t)
  const smpp = { url: `smpp://127.0.0.1:${smsc.port}`, system_id: 'posthorn', password: 'smsc-password' }
  const sms = { provider: 'smpp', sender: 'Posthorn', allowed_countries: ['DE'], smpp }
  const app = await testDaemon(t, { level: 'debug', settings: { sms } })
  await send(app)
  const codes = [codeIn(lastText(smsc))]
  const [part] = await app.rows<{ message_id: string }>('select message_id from sms_parts')
  const session = await smsc.waitForBind()
  session.send(buildReceipt(`id:${part?.message_id} sub:001 dlvrd:001 stat:DELIVRD err:000 text:pass`))
  await waitUntil('the receipt is applied', async () => (await eventTypes(app)).includes('sms.delivered'))

  await smsc.stop()
  t.equal((await app.rest('POST', '/v1/sms/verify/send', { body })).status, 503, 'no SMSC: refused within seconds')
  t.match(await check(app, codes[0]), { valid: true }, 'the code before it is still valid')
  const again = await openSmsc(t, { port: smsc.port })
  await waitUntil('it is bound again', () => again.listReceived('bind_transceiver').length > 0)
  await send(app)
  codes.push(codeIn(lastText(again)))
  t.match(await check(app, codes[1]), { valid: true })
  t.same(await eventTypes(app), ['sms.sent', 'sms.delivered', 'sms.failed', 'sms.verified', 'sms.sent', 'sms.verified'])
  await assertSecret(t, app, codes)
  t.same(
    app.lines.filter((line) => line.includes('smsc-password')),
    [],
  )
  await app.stop()
  t.equal(again.listReceived('unbind').length, 1, 'the stop unbinds')
})

t.test('a stop does not wait for a gateway that is silent', async (t) => {
  const gateway = await openSmsGateway(t)
  const app = await testDaemon(t, { settings: { sms: smsSettings(gateway) } })
  await send(app)
  gateway.treat('ignore')
  const asked = app.rest('POST', '/v1/sms/verify/send', { body }).catch(() => null)
  await waitUntil('the gateway is asked', () => gateway.unanswered.length > 0)
  await app.stop()
  await asked
  const rows = await withOwnDatabase(app, async ({ read }) =>
    read('select status, delivery from sms_codes order by id', []),
  )
  t.match(rows, [{ status: 'pending' }, { status: 'void', delivery: 'failed' }])
  t.same(app.errors, [])
})

t.test('a code whose sender died is void after the start, also if the clock was set back', async (t) => {
  const gateway = await openSmsGateway(t)
  const settings = { sms: smsSettings(gateway) }
  const first = await testDaemon(t, { settings, ahead: 3_600_000 })
  const id = await send(first)
  await withOwnDatabase(first, async ({ commit }) => {
    await commit([{ sql: `update sms_codes set status = 'sending', delivery = 'sending'`, parameters: [] }])
  })
  await first.stop()
  const second = await testDaemon(t, { settings, folder: first.folder })
  t.match(await second.rows('select id, status, reason from sms_codes'), [
    { id, status: 'void', reason: 'interrupted' },
  ])
  t.same(await eventTypes(second), ['sms.sent', 'sms.failed'])
})

t.test('the provider for development logs the text, and says so at the start', async (t) => {
  const app = await testDaemon(t, { level: 'info', settings: { sms: { provider: 'log', allowed_countries: ['DE'] } } })
  await send(app)
  const line = app.lines.find((one) => one.includes('pass '))
  t.match(await check(app, codeIn(JSON.parse(line ?? '{}').text as string)), { valid: true })
  t.ok(app.lines.some((one) => one.includes('sms.provider is \\"log\\"')))
  const nowhere = await testDaemon(t, { level: 'info', settings: { sms: { provider: 'log' } } })
  t.ok(nowhere.lines.some((one) => one.includes('sms.allowed_countries is empty')))
  const refused = await nowhere.rest('POST', '/v1/sms/verify/send', { body })
  t.match(refused.json(), { error: { code: 'validation_error', details: { reason: 'country_not_allowed' } } })
})

/** A request to the API of a program's daemon. */
function createCaller(t: Test, { dataDir, key }: { readonly dataDir: string; readonly key: string }) {
  const ca = readFileSync(join(dataDir, 'tls', 'cert.pem'))
  const agent = new Agent({ connect: { ca, servername: 'localhost' } })
  t.teardown(() => agent.destroy())
  return async ({ apiPort }: Daemon, path: string, given: object): Promise<{ status: number; text: string }> => {
    const answer = await request(`https://127.0.0.1:${apiPort}/v1/sms/verify/${path}`, {
      dispatcher: agent,
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(given),
    })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
}

function sectionsFor({ url }: SmsGateway): string {
  return `[sms]
provider = "http"
sender = "Posthorn"
allowed_countries = ["DE"]
[sms.http]
url = "${url}"
username = "AC1"
password = "gateway-secret"`
}

t.test('SIGKILL while the gateway is silent: the code is void after the start, an older one stays valid', async (t) => {
  const gateway = await openSmsGateway(t)
  const prepared = await createReadyInstallation(t, 9, '127.0.0.0/8')
  configure(prepared, 9, sectionsFor(gateway))
  let daemon = await serve(t, prepared)
  const call = createCaller(t, prepared)
  t.equal((await call(daemon, 'send', body)).status, 200)
  const valid = gateway.codeFor(PHONE)
  gateway.treat('ignore')
  const lost = call(daemon, 'send', body).then(
    () => 'answered',
    () => 'broken off',
  )
  await waitUntil('the gateway is asked', () => gateway.unanswered.length > 0)
  daemon.signal('SIGKILL')
  t.equal(await daemon.ended, 'SIGKILL')
  t.equal(await lost, 'broken off')

  daemon = await serve(t, prepared)
  const { read } = await openTestDatabase(t, { file: databaseFile(prepared.dataDir) })
  const rows = await read('select status, delivery, reason from sms_codes order by id', [])
  t.match(rows, [{ status: 'pending' }, { status: 'void', delivery: 'failed', reason: 'interrupted' }])
  t.match(await read(`select type, data from events where type like 'sms.%' order by seq`, []), [
    { type: 'sms.sent' },
    { type: 'sms.failed', data: /"reason":"interrupted"/ },
  ])
  t.match((await call(daemon, 'check', { phone: PHONE, code: valid })).text, /"status":"verified"/)
  t.same(filesWith(prepared.folder, String(valid)), [], 'no file has the code')
})
