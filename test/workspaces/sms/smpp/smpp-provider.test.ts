/** Messages through an SMSC: what is submitted, and what becomes of each answer. */
import t from 'tap'
import { freePort } from '../../../helpers/free-port.js'
import { openClient, SECRET } from '../../../helpers/sms/smpp-client.js'
import { buildPdu, messageOf, openSmsc, type SmscPdu } from '../../../helpers/sms/smsc.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const text = `Your code is ${SECRET}.`
const THROTTLED = 0x58
const QUEUE_FULL = 0x14
const INVALID_DESTINATION = 0x0b

t.test('a short message is one submit_sm, and its id is returned', async (t) => {
  const smsc = await openSmsc(t)
  const outcome = await openClient(t, smsc).send(text)
  t.match(smsc.received[0], {
    command: 'bind_transceiver',
    system_id: 'posthorn',
    password: 'secret08',
    system_type: '',
    interface_version: 0x34,
  })
  const [submitted, ...more] = smsc.listReceived('submit_sm')
  t.match(submitted, {
    service_type: '',
    source_addr_ton: 5,
    source_addr_npi: 0,
    source_addr: 'Posthorn',
    dest_addr_ton: 1,
    dest_addr_npi: 1,
    destination_addr: '41791234567',
    esm_class: 0,
    registered_delivery: 1,
    data_coding: 0,
  })
  t.same(messageOf(submitted), { header: Buffer.alloc(0), text })
  t.same(more, [])
  t.match(outcome, { kind: 'accepted', messageIds: [/^message-\d+$/] })
})

t.test('a sender that changes holds for the next message', async (t) => {
  const smsc = await openSmsc(t)
  const senders = ['Posthorn', 'Changed']
  const { send } = openClient(t, smsc, { sender: () => senders.shift() ?? 'none' })
  await send(text)
  await send(text)
  t.same(
    smsc.listReceived('submit_sm').map((pdu) => pdu['source_addr']),
    ['Posthorn', 'Changed'],
  )
})

t.test('a long message is submitted in order, each segment with its header', async (t) => {
  const smsc = await openSmsc(t)
  const outcome = await openClient(t, smsc).send(`${text} ${'х'.repeat(100)}`)
  const submitted = smsc.listReceived('submit_sm')
  t.equal(submitted.length, 2)
  t.ok(submitted.every((pdu) => pdu['esm_class'] === 0x40 && pdu['data_coding'] === 8))
  const headers = submitted.map((pdu) => messageOf(pdu).header)
  t.same(headers, [Buffer.from([0, 3, headers[0]?.[2] ?? -1, 2, 1]), Buffer.from([0, 3, headers[0]?.[2] ?? -1, 2, 2])])
  t.equal(submitted.map((pdu) => messageOf(pdu).text).join(''), `${text} ${'х'.repeat(100)}`)
  t.ok(outcome.kind === 'accepted' && outcome.messageIds.length === 2)
})

t.test('a refused message has the name of the status, and no further segment is submitted', async (t) => {
  let count = 0
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu) => {
        count += 1
        return count === 2 ? pdu.response({ command_status: INVALID_DESTINATION }) : pdu.response({ message_id: 'a' })
      },
    },
  })
  t.same(await openClient(t, smsc).send('x'.repeat(400)), { kind: 'refused', reason: 'ESME_RINVDSTADR' })
  t.equal(smsc.listReceived('submit_sm').length, 2)
})

t.test('generic_nack and an unknown status are refusals', async (t) => {
  let status = 3
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu) =>
        status === 3
          ? buildPdu('generic_nack', { command_status: status, sequence_number: Number(pdu['sequence_number']) })
          : pdu.response({ command_status: status }),
    },
  })
  const client = openClient(t, smsc)
  t.same(await client.send(text), { kind: 'refused', reason: 'ESME_RINVCMDID' })
  status = 0x4ff
  t.same(await client.send(text), { kind: 'refused', reason: 'status 0x000004ff' })
})

t.test('an accepted message without an id has none, and so has one with an id that is too long', async (t) => {
  let id = ''
  const smsc = await openSmsc(t, { answers: { submit_sm: (pdu) => pdu.response({ message_id: id }) } })
  const client = openClient(t, smsc)
  t.same(await client.send(text), { kind: 'accepted', messageIds: [] })
  id = 'x'.repeat(65)
  t.same(await client.send(text), { kind: 'accepted', messageIds: [id] })
  id = 'x'.repeat(66)
  t.same(await client.send(text), { kind: 'accepted', messageIds: [] })
})

t.test('a throttled message is tried again, and the log says so once', async (t) => {
  const statuses = [THROTTLED, QUEUE_FULL, 0, THROTTLED, 0]
  const smsc = await openSmsc(t, {
    answers: { submit_sm: (pdu) => pdu.response({ command_status: statuses.shift() ?? 0, message_id: 'a' }) },
  })
  const client = openClient(t, smsc)
  t.match(await client.send(text), { kind: 'accepted' })
  t.match(await client.send(text), { kind: 'accepted' })
  t.same(statuses, [])
  t.equal(client.listMessages().filter((line) => String(line).includes('throttles')).length, 1)
})

t.test('a message that is throttled until its deadline is refused', async (t) => {
  const smsc = await openSmsc(t, {
    answers: { submit_sm: (pdu) => pdu.response({ command_status: THROTTLED }) },
  })
  const client = openClient(t, smsc)
  t.same(await client.send(text, 500), { kind: 'refused', reason: 'ESME_RTHROTTLED, and no time is left' })
  const count = smsc.listReceived('submit_sm').length
  t.ok(count >= 3 && count <= 8, `the pauses grow: ${count}`)
})

t.test('a message without an answer is silent, and frees its place among 10', async (t) => {
  let isSilent = true
  const waiting: SmscPdu[] = []
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu) => {
        if (isSilent) waiting.push(pdu)
        return isSilent ? undefined : pdu.response({ message_id: 'a' })
      },
    },
  })
  const client = openClient(t, smsc)
  await smsc.waitForBind()
  const outcomes = Promise.all(Array.from({ length: 12 }, (_, place) => client.send(text, place < 10 ? 1_000 : 5_000)))
  await waitUntil('10 messages', () => waiting.length === 10)
  isSilent = false
  const kinds = (await outcomes).map(({ kind }) => kind)
  t.equal(waiting.length, 10, 'the eleventh waits')
  t.same(kinds, [...Array<string>(10).fill('silent'), 'accepted', 'accepted'])
  const [late] = waiting
  if (late !== undefined) smsc.sessions[0]?.send(late.response({ message_id: 'late' }))
  t.match(await client.send(text), { kind: 'accepted', messageIds: ['a'] }, 'a late answer is ignored')
})

t.test('an SMSC slower than the messages gets none whose answer would come too late', async (t) => {
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu, session) => {
        setTimeout(() => session.send(pdu.response({ message_id: 'a' })), 300)
        return undefined
      },
    },
  })
  const client = openClient(t, smsc, { times: { submission: 1_000 } })
  await smsc.waitForBind()
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => client.send(text, 2_000)))
  const refused = outcomes.filter(({ kind }) => kind === 'refused')
  t.ok(refused.length >= 10, 'not all fit into the time')
  t.match(refused[0], { reason: 'too many messages wait for the SMSC' })
  t.same(
    outcomes.filter(({ kind }) => kind === 'silent'),
    [],
  )
  t.equal(smsc.listReceived('submit_sm').length, 100 - refused.length)
})

t.test('a message whose connection breaks is silent and never submitted again', async (t) => {
  let isBreaking = true
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu, session) => {
        if (!isBreaking) return pdu.response({ message_id: 'a' })
        isBreaking = false
        session.destroy()
        return undefined
      },
    },
  })
  const client = openClient(t, smsc)
  t.match(await client.send(text), { kind: 'silent', reason: /lost/ })
  t.match(await client.send(text), { kind: 'accepted' }, 'the next message waits for the new session')
  t.equal(smsc.listReceived('submit_sm').length, 2)
  t.match(client.lines, [
    { msg: 'SMPP session bound' },
    { msg: 'SMPP session lost', level: 40 },
    { msg: 'SMPP session bound' },
  ])
})

t.test('without a session a message waits for one', async (t) => {
  const port = await freePort()
  const client = openClient(t, { port }, { times: { connectWait: 300 } })
  t.match(await client.send(text), { kind: 'refused', reason: 'no SMPP session: connection refused' })
  t.match(await client.send(text, 50), { kind: 'refused' }, 'at most until its deadline')
  t.match(await client.send(text, -1), { kind: 'refused' }, 'a deadline that is over')
  const patient = openClient(t, { port })
  const outcome = patient.send(text)
  const smsc = await openSmsc(t, { port })
  t.match(await outcome, { kind: 'accepted' })
  t.equal(smsc.listReceived('submit_sm').length, 1)
})

t.test('after the stop nothing is submitted', async (t) => {
  const smsc = await openSmsc(t)
  const client = openClient(t, smsc)
  await client.send(text)
  await Promise.all([client.provider.stop(), client.provider.stop()])
  t.equal(smsc.listReceived('unbind').length >= 1, true)
  t.match(await client.send(text), { kind: 'refused', reason: /stopping/ })
  t.equal(smsc.listReceived('submit_sm').length, 1)
})

t.test('a stop ends messages that wait for a session or for the end of throttling', async (t) => {
  const smsc = await openSmsc(t, { answers: { submit_sm: (pdu) => pdu.response({ command_status: THROTTLED }) } })
  const throttled = openClient(t, smsc, { times: { throttlePause: 60_000 } })
  const unconnected = openClient(t, { port: await freePort() }, { times: { connectWait: 60_000 } })
  const outcomes = [throttled.send(text, 100_000), unconnected.send(text, 100_000)]
  await waitUntil('a throttled message', () => throttled.listMessages().some((line) => /throttles/.test(String(line))))
  await Promise.all([throttled.provider.stop(), unconnected.provider.stop()])
  for (const outcome of await Promise.all(outcomes)) t.match(outcome, { kind: 'refused', reason: /stopping/ })
})
