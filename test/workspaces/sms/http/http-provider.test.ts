/** The HTTP provider against gateways on loopback: what they get, and what each kind of answer leads to. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock } from '../../../../src/base/platform/clock.js'
import { HttpProvider } from '../../../../src/workspaces/sms/http/http-provider.js'
import type { SendOutcome, SmsMessage, SmsProvider } from '../../../../src/workspaces/sms/provider.js'
import { encodeText } from '../../../../src/workspaces/sms/text-encoding.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { type WebhookReceiver, webhookReceiver } from '../../../helpers/http/webhook-receiver.js'

const ACCOUNT = 'AC0123456789abcdef0123456789abcdef'
const PASSWORD = 'auth-token-of-the-account'
const CODE = '048213'
const TOKEN = 'abcdefghijklmnopqrstuvwxyz'

const message: SmsMessage = {
  id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10',
  phone: '+4915123456789',
  text: encodeText(`Ihr Code: ${CODE} & gültig`),
  expiresAt: systemClock() + 600_500,
  receiptUrl: `https://mail.example.test/v1/sms/receipts/0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10/${TOKEN}`,
}

interface GivenSettings {
  readonly style?: 'twilio' | 'template'
  readonly sender?: string
  readonly body_template?: string
  readonly username?: string
  readonly authorities?: string
}

function openProvider(
  t: Test,
  url: string,
  { sender = 'Posthorn', authorities, ...given }: GivenSettings = {},
): SmsProvider {
  const settings = {
    style: 'twilio',
    username: ACCOUNT,
    password: PASSWORD,
    body_template: '{"text":"{text}"}',
  } as const
  const provider = new HttpProvider({
    settings: () => ({ ...settings, ...given, url: new URL(url) }),
    sender: () => sender,
    authorities,
    clock: systemClock,
    random: () => 0,
  })
  t.teardown(() => provider.stop())
  return provider
}

/** With all secrets looked for in the reason. */
async function send(t: Test, provider: SmsProvider, patience = 12_000): Promise<SendOutcome> {
  const outcome = await provider.send(message, systemClock() + patience)
  const said = JSON.stringify(outcome)
  for (const secret of [CODE, PASSWORD, ACCOUNT, TOKEN, btoa(`${ACCOUNT}:${PASSWORD}`)]) {
    t.notOk(said.includes(secret), `${secret} is not in the outcome`)
  }
  return outcome
}

/** As the reference of Twilio's interface shows the resource of a message. */
const created = {
  account_sid: ACCOUNT,
  api_version: '2010-04-01',
  body: message.text.text,
  date_created: 'Thu, 24 Aug 2023 05:01:45 +0000',
  direction: 'outbound-api',
  error_code: null,
  error_message: null,
  from: '+15557122661',
  num_segments: '1',
  price: null,
  sid: 'SM0123456789abcdef0123456789abcdef',
  status: 'queued',
  to: '+4915123456789',
}

/** Answers one status and body after the other; the last of them from then on. */
function answerInTurn(
  gateway: WebhookReceiver,
  ...answers: readonly (readonly [status: number, body: unknown, headers?: Record<string, string>])[]
): void {
  let turn = 0
  gateway.answer((response) => {
    const [status, body, headers = {}] = answers[Math.min(turn, answers.length - 1)] ?? [500, null]
    turn += 1
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

/** A server that does to each connection what the test says, once a request has begun to arrive. */
async function rawServer(t: Test, respond: (socket: Socket) => void): Promise<{ url: string; requests: () => number }> {
  let requests = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      requests += 1
      respond(socket)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests: () => requests }
}

t.test('a message as Twilio wants it', async (t) => {
  const gateway = await webhookReceiver(t)
  answerInTurn(gateway, [201, created])
  t.same(await send(t, openProvider(t, gateway.url)), { kind: 'accepted', messageIds: [created.sid] })
  const sender = 'MG0123456789abcdef0123456789abcdef'
  t.match(await send(t, openProvider(t, gateway.url, { sender })), { kind: 'accepted' })
  const [first, second] = gateway.requests
  const { ValidityPeriod, ...fields } = Object.fromEntries(new URLSearchParams(first?.body))
  t.same(fields, {
    To: '+4915123456789',
    From: 'Posthorn',
    Body: message.text.text,
    StatusCallback: message.receiptUrl,
  })
  t.ok(Number(ValidityPeriod) > 500 && Number(ValidityPeriod) <= 600, `${ValidityPeriod} seconds`)
  t.match(first, {
    path: '/hook',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${btoa(`${ACCOUNT}:${PASSWORD}`)}`,
      'user-agent': /^Posthorn\//,
    },
  })
  const inService = new URLSearchParams(second?.body)
  t.same([inService.get('MessagingServiceSid'), inService.has('From')], [sender, false])
  t.match(await send(t, openProvider(t, gateway.url, { sender: 'MG Motors' })), { kind: 'accepted' })
  t.equal(new URLSearchParams(gateway.requests[2]?.body).get('From'), 'MG Motors')
})

t.test('a refusal has its reason, without secrets that the gateway repeats', async (t) => {
  const gateway = await webhookReceiver(t)
  const provider = openProvider(t, gateway.url)
  const refusal = { code: 21211, message: "The 'To' number is not valid", more_info: 'https://…', status: 400 }
  const failed = { ...created, status: 'failed', error_code: 30_007, error_message: 'Message filtered' }
  const cases: readonly (readonly [number, unknown, string])[] = [
    [400, refusal, "answered 400, code 21211: The 'To' number is not valid"],
    [201, failed, 'answered 201, status failed, code 30007: Message filtered'],
    [201, { ...created, sid: 'x'.repeat(201) }, 'answered 201, status queued'],
    [201, { ...failed, status: 'undelivered' }, 'answered 201, status undelivered, code 30007: Message filtered'],
    [
      401,
      { code: 20_003, message: `Authenticate ${ACCOUNT}:${PASSWORD}` },
      'answered 401, code 20003: Authenticate [hidden]:[hidden]',
    ],
    [
      400,
      { code: 21_609, message: `${message.receiptUrl} is not a URL` },
      'answered 400, code 21609: [hidden] is not a URL',
    ],
    [400, { message: `in the token\n${TOKEN}, in ${CODE}` }, 'answered 400: in the token [hidden], in [hidden]'],
    [400, { code: 1, message: message.text.text }, 'answered 400, code 1: [hidden]'],
    [200, '<html>Log in</html>', 'answered 200, without the JSON of this API'],
    [200, { status: 'queued' }, 'answered 200, status queued'],
    [404, 'null', 'answered 404, without the JSON of this API'],
    [307, { message: 'elsewhere' }, 'answered 307: elsewhere'],
  ]
  for (const [status, body, reason] of cases) {
    answerInTurn(gateway, [status, body, { location: 'http://127.0.0.1:1/' }])
    t.same(await send(t, provider), { kind: 'refused', reason })
  }
  t.equal(gateway.requests.length, cases.length, 'none of them was tried again')
  answerInTurn(gateway, [400, { message: 'x'.repeat(5_000) }])
  t.match(await send(t, provider), { kind: 'refused', reason: /^.{400}$/ })
})

t.test('5xx and 429 are tried again, as Retry-After says', async (t) => {
  const gateway = await webhookReceiver(t)
  const provider = openProvider(t, gateway.url)
  answerInTurn(gateway, [500, ''], [503, 'down'], [201, created])
  t.match(await send(t, provider), { kind: 'accepted' })
  t.equal(gateway.requests.length, 3)
  const times: number[] = []
  gateway.answer((response) => {
    times.push(performance.now())
    if (times.length === 1) response.writeHead(429, { 'retry-after': '1' }).end('{"code":20429}')
    else response.writeHead(201).end(JSON.stringify(created))
  })
  t.match(await send(t, provider), { kind: 'accepted' })
  const [first = 0, second = 0] = times
  t.ok(second - first >= 990, `the second request came after ${second - first} ms`)
  answerInTurn(gateway, [429, { code: 20_429, message: 'Too Many Requests' }, { 'retry-after': '60' }])
  const before = gateway.requests.length
  t.same(await send(t, provider), { kind: 'refused', reason: 'answered 429, code 20429: Too Many Requests' })
  t.equal(gateway.requests.length, before + 1, 'it asks for more time than there is')
  answerInTurn(gateway, [502, 'bad'])
  t.same(await send(t, provider, 2_000), {
    kind: 'refused',
    reason: 'answered 502, without the JSON of this API',
  })
})

t.test('silence and half an answer are not tried again', async (t) => {
  const start = 'HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{"sid":'
  const cases: readonly (readonly [string, (socket: Socket) => void, RegExp])[] = [
    ['no answer', () => undefined, /^no answer within/],
    ['half an answer', (socket) => socket.write(start), /^no answer within/],
    ['half an answer, then the end', (socket) => socket.end(start), /closed before the answer was complete/],
    ['a reset', (socket) => socket.resetAndDestroy(), /closed before the answer was complete/],
    ['no HTTP', (socket) => socket.end('220 smtp ready\r\n'), /is not HTTP/],
  ]
  for (const [name, respond, reason] of cases) {
    const server = await rawServer(t, respond)
    t.match(await send(t, openProvider(t, server.url), 400), { kind: 'silent', reason }, name)
    t.equal(server.requests(), 1, name)
  }
})

t.test('a huge answer is not read', async (t) => {
  let written = 0
  const server = await rawServer(t, (socket) => {
    socket.write('HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n')
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const more = (): void => {
      while (!socket.destroyed && written < 500_000_000) {
        written += piece.length
        if (!socket.write(piece)) return
      }
    }
    socket.on('drain', more)
    more()
  })
  t.same(await send(t, openProvider(t, server.url)), {
    kind: 'refused',
    reason: 'answered 201, without the JSON of this API',
  })
  t.same(await send(t, openProvider(t, server.url, { style: 'template' })), { kind: 'accepted', messageIds: [] })
  t.ok(written < 20_000_000, `${written} bytes were written`)
})

t.test('what cannot be connected is tried again, then refused', async (t) => {
  const gateway = await webhookReceiver(t)
  answerInTurn(gateway, [201, created])
  const provider = openProvider(t, gateway.url)
  await gateway.close()
  t.match(await send(t, provider, 1_100), { kind: 'refused', reason: /^the connection was refused/ })
  const late = send(t, provider)
  setTimeout(() => void gateway.open(), 300)
  t.match(await late, { kind: 'accepted' })
  t.equal(gateway.requests.length, 1)
})

t.test('certificates are verified', async (t) => {
  const { cert, key } = await createSelfSigned(['127.0.0.1'])
  let requests = 0
  const server = createTlsServer({ cert, key }, (_, response) => {
    requests += 1
    response.writeHead(201).end(JSON.stringify(created))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  t.match(await send(t, openProvider(t, url), 1_100), { kind: 'refused', reason: /certificate/ })
  t.equal(requests, 0)
  t.match(await send(t, openProvider(t, url, { authorities: cert })), { kind: 'accepted' })
})

t.test('credentials of the URL are sent, and appear in no reason', async (t) => {
  const gateway = await webhookReceiver(t)
  const url = gateway.url.replace('http://', 'http://gate%40way:p%C3%A4ss@')
  const provider = openProvider(t, url, { style: 'template', username: '', body_template: 'text={text}' })
  gateway.answer((response, { headers }) => response.writeHead(403).end(`${headers.authorization} gate@way päss`))
  t.match(await send(t, provider), {
    kind: 'refused',
    reason: /^answered 403: Bearer \[hidden\] \[hidden\] \[hidden\]$/,
  })
  t.same([...new URLSearchParams(gateway.requests[0]?.body)], [['text', message.text.text]])
})

t.test('a gateway slower than the messages gets none whose answer would come too late', async (t) => {
  let requests = 0
  const server = createHttpServer((request, response) => {
    requests += 1
    request.resume()
    setTimeout(() => response.writeHead(201).end(JSON.stringify(created)), 300)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const provider = openProvider(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  const deadline = systemClock() + 3_400
  const outcomes = await Promise.all(Array.from({ length: 500 }, () => provider.send(message, deadline)))
  const refused = outcomes.filter(({ kind }) => kind === 'refused')
  t.ok(refused.length >= 100, 'not all fit into the time')
  t.match(refused[0], { reason: 'too many messages wait for the gateway' })
  t.same(
    outcomes.filter(({ kind }) => kind === 'silent'),
    [],
  )
  t.equal(requests, 500 - refused.length)
})

t.test('a stop ends what is under way, and what comes later is refused', async (t) => {
  const server = await rawServer(t, () => undefined)
  const gateway = await webhookReceiver(t)
  answerInTurn(gateway, [503, ''])
  const [hanging, waiting] = [openProvider(t, server.url), openProvider(t, gateway.url)]
  const outcomes = [send(t, hanging), send(t, waiting)]
  while (server.requests() === 0 || gateway.requests.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
  // The answer is read by then, and the message waits for another try.
  await new Promise((resolve) => setTimeout(resolve, 500))
  await Promise.all([hanging.stop(), waiting.stop()])
  const [first, second] = await Promise.all(outcomes)
  t.equal(first?.kind, 'silent', 'the gateway may have it')
  t.equal(second?.kind, 'refused')
  t.match(await send(t, hanging), { kind: 'refused', reason: /the service is stopping/ })
  t.equal(server.requests(), 1)
})
