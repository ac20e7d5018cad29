/** The session that is kept: bind, TLS, reconnecting, the sign of life, and the stop. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import t, { type Test } from 'tap'
import { createDialer } from '../../../../src/base/platform/dialer.js'
import { createSelfSigned } from '../../../helpers/certificates.js'
import { freePort } from '../../../helpers/free-port.js'
import { openClient } from '../../../helpers/sms/smpp-client.js'
import { buildPdu, openSmsc } from '../../../helpers/sms/smsc.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const INVALID_PASSWORD = 0x0e

/** A server that is no SMSC. `port`: where it listens. */
async function openServer(t: Test, server: Server): Promise<{ readonly port: number }> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0 }
}

t.test('a refused bind is logged with its status and tried again after a pause of its own', async (t) => {
  let isRefusing = true
  const smsc = await openSmsc(t, {
    answers: { bind_transceiver: (pdu) => pdu.response(isRefusing ? { command_status: INVALID_PASSWORD } : {}) },
  })
  const client = openClient(t, smsc, { times: { minPause: 60_000, refusedPause: 30, connectWait: 100 } })
  await waitUntil('the refusal', () => client.lines.length > 0)
  t.match(await client.send('x'), { kind: 'refused', reason: 'no SMPP session: bind refused: ESME_RINVPASWD' })
  await smsc.waitForBind(3)
  isRefusing = false
  t.match(await client.send('x'), { kind: 'accepted' })
  t.match(client.lines[0], { level: 40, msg: 'no SMPP session', reason: 'bind refused: ESME_RINVPASWD' })
  t.ok(
    client.lines.slice(1, -1).every(({ level }) => level === 20),
    'the same fault again is a line for debugging',
  )
  t.match(client.lines.at(-1), { level: 30, msg: 'SMPP session bound', smpp: `127.0.0.1:${smsc.port}` })
})

t.test('a bind that is answered by generic_nack, not at all or by a close is no session', async (t) => {
  const answers = [
    (sequence: number) => buildPdu('generic_nack', { sequence_number: sequence }),
    () => undefined,
    () => 'close' as const,
  ]
  const smsc = await openSmsc(t, {
    answers: {
      bind_transceiver: (pdu, session) => {
        const answer = answers.shift()
        const made = answer === undefined ? pdu.response() : answer(Number(pdu['sequence_number']))
        if (made === 'close') session.close()
        return made === 'close' ? undefined : made
      },
    },
  })
  const client = openClient(t, smsc, { times: { answer: 50 } })
  t.match(await client.send('x'), { kind: 'accepted' })
  t.match(
    client.lines.map(({ reason }) => reason),
    ['bind refused: generic_nack', 'no answer to the bind within 0.05 s', 'the SMSC closed the connection', undefined],
  )
})

t.test('a session that breaks is opened again, with pauses that grow to a limit', async (t) => {
  let isClosing = true
  const smsc = await openSmsc(t, {
    answers: {
      bind_transceiver: (pdu, session) => {
        session.send(pdu.response())
        if (isClosing) session.close()
        return undefined
      },
    },
  })
  const client = openClient(t, smsc, { times: { minPause: 10, maxPause: 80 } })
  await smsc.waitForBind(6)
  isClosing = false
  // The sixth session may still be closed: a message that it had taken by then is not known to have arrived.
  for (let sent = await client.send('x'); sent.kind !== 'accepted'; ) sent = await client.send('x')
  t.match(client.lines[1], { level: 40, msg: 'SMPP session lost', reason: 'the SMSC closed the connection' })
})

t.test('the SMSC is asked for a sign of life after silence, and left if it gives none', async (t) => {
  let isAlive = true
  const smsc = await openSmsc(t, { answers: { enquire_link: (pdu) => (isAlive ? pdu.response() : undefined) } })
  const client = openClient(t, smsc, { times: { idle: 30, answer: 200 } })
  await waitUntil('questions', () => smsc.listReceived('enquire_link').length >= 3)
  t.equal(smsc.listReceived('bind_transceiver').length, 1, 'answers keep the session')
  isAlive = false
  await smsc.waitForBind(2)
  await waitUntil('a line', () =>
    client.lines.some(({ reason }) => reason === 'no answer to enquire_link within 0.2 s'),
  )
})

t.test('an SMSC that unbinds gets its answer, and a new session is opened', async (t) => {
  const smsc = await openSmsc(t)
  const client = openClient(t, smsc)
  const session = await smsc.waitForBind()
  session.send(buildPdu('unbind'))
  await waitUntil('unbind_resp', () => smsc.listReceived('unbind_resp').length === 1)
  await smsc.waitForBind(2)
  t.match(client.lines[1], { msg: 'SMPP session lost', reason: 'the SMSC unbound' })
})

t.test('TLS: the chain and the name must be valid', async (t) => {
  const tls = await createSelfSigned(['smsc.test'])
  const smsc = await openSmsc(t, { tls })
  const resolveAddresses = async () => ({ kind: 'records', records: ['127.0.0.1'] }) as const
  const open = (host: string, authorities?: string) =>
    openClient(t, smsc, {
      server: { host, port: smsc.port, secure: true },
      dialer: createDialer(authorities),
      resolveAddresses,
      times: { connectWait: 500 },
    })
  t.match(await open('smsc.test', tls.cert).send('x'), { kind: 'accepted' })
  t.match(await open('other.test', tls.cert).send('x'), { kind: 'refused', reason: /no SMPP session: .*other\.test/ })
  t.match(await open('smsc.test').send('x'), { kind: 'refused', reason: /self-signed certificate/ })
  const plain = openClient(t, smsc, { times: { connectWait: 200, answer: 100 } })
  t.match(await plain.send('x'), { kind: 'refused' }, 'without TLS there is no session')
})

t.test('a name is resolved, and each of its addresses is tried', async (t) => {
  const smsc = await openSmsc(t)
  const server = { host: 'smsc.test', port: smsc.port, secure: false }
  const send = async (resolveAddresses: Parameters<typeof openClient>[2] & object) =>
    openClient(t, smsc, { server, times: { connectWait: 100 }, ...resolveAddresses }).send('x')
  const records = ['127.0.0.2', '127.0.0.1'] as const
  t.match(await send({ resolveAddresses: async () => ({ kind: 'records', records }) }), { kind: 'accepted' })
  const faults = [
    [{ kind: 'no-domain' }, 'the host does not exist'],
    [{ kind: 'no-data' }, 'the host has no address'],
    [{ kind: 'failure', detail: 'SERVFAIL' }, 'DNS does not answer: SERVFAIL'],
  ] as const
  for (const [found, reason] of faults) {
    const outcome = await send({ resolveAddresses: async () => found })
    t.same(outcome, { kind: 'refused', reason: `no SMPP session: ${reason}` })
  }
})

t.test('a message that is refused during the first attempt says what has not happened yet', async (t) => {
  const { port } = await openServer(t, createServer())
  const times = { connectWait: 200 }
  const server = { host: '127.0.0.1', port, secure: true }
  const resolveAddresses = () => new Promise<never>(() => undefined)
  const cases = [
    [openClient(t, { port }, { times }), 'the bind is not answered yet'],
    [openClient(t, { port }, { times, server }), 'the TLS handshake is not answered yet'],
    [
      openClient(t, { port }, { times, server: { ...server, host: 'smsc.test' }, resolveAddresses }),
      'the host is being looked up',
    ],
  ] as const
  for (const [client, reason] of cases) {
    t.same(await client.send('x'), { kind: 'refused', reason: `no SMPP session: ${reason}` })
  }
})

t.test('a stop unbinds and waits for the answer, but not for long', async (t) => {
  const polite = await openSmsc(t)
  const mute = await openSmsc(t, { answers: { unbind: () => undefined } })
  for (const smsc of [polite, mute]) {
    const client = openClient(t, smsc, { times: { unbind: 100 } })
    await waitUntil('a session', () => client.lines.length === 1)
    await client.provider.stop()
    t.equal(smsc.listReceived('unbind').length, 1)
    t.equal(client.lines.length, 1, 'the end is no fault')
  }
})

t.test('a stop does not wait for DNS, a dial, a bind or a pause', async (t) => {
  const mute = await openServer(t, createServer())
  const clients = [
    openClient(t, mute, { times: { answer: 600_000 } }),
    openClient(t, { port: await freePort() }, { times: { minPause: 600_000, maxPause: 600_000 } }),
    openClient(t, mute, {
      server: { host: 'smsc.test', port: 1, secure: false },
      resolveAddresses: () => new Promise(() => undefined),
    }),
    openClient(t, mute, { server: { host: '127.0.0.1', port: mute.port, secure: true }, times: { dial: 600_000 } }),
  ]
  await waitUntil('a fault', () => clients[1]?.lines.length === 1)
  for (const client of clients) await client.provider.stop()
  t.same(
    clients.map(({ lines }) => lines.length),
    [0, 1, 0, 0],
  )
})
