/** Peers that break the protocol, and deliveries. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { SmppSession } from '../../../../src/workspaces/sms/smpp/session.js'
import { openClient, PHONE, SECRET, type SmppClient } from '../../../helpers/sms/smpp-client.js'
import { buildPdu, buildReceipt, openSmsc, type Smsc, type SmscPdu } from '../../../helpers/sms/smsc.js'
import { waitUntil } from '../../../helpers/wait-until.js'

type Changes = Parameters<typeof openClient>[2]

async function openPair(t: Test, changes: Changes = {}): Promise<{ smsc: Smsc; client: SmppClient }> {
  const smsc = await openSmsc(t)
  const client = openClient(t, smsc, changes)
  await client.send('x')
  return { smsc, client }
}

function waitFor(smsc: Smsc, command: string, count = 1): Promise<readonly SmscPdu[]> {
  return waitUntil(command, () => smsc.listReceived(command).length >= count && smsc.listReceived(command))
}

function write(smsc: Smsc, bytes: Buffer): void {
  smsc.sessions.at(-1)?.socket.write(bytes)
}

function buildHeader(length: number, command: number, sequence = 1): Buffer {
  const header = Buffer.alloc(16)
  for (const [place, value] of [length, command, 0, sequence].entries()) header.writeUInt32BE(value, place * 4)
  return header
}

t.test('a unit may arrive in any pieces, and many at once', async (t) => {
  const { smsc, client } = await openPair(t)
  const receipt = buildReceipt('id:a stat:DELIVRD')
  for (const byte of receipt.toBuffer()) {
    write(smsc, Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  await waitFor(smsc, 'deliver_sm_resp')
  write(smsc, Buffer.concat(Array<Buffer>(500).fill(buildPdu('enquire_link', { sequence_number: 7 }).toBuffer())))
  const answers = await waitFor(smsc, 'enquire_link_resp', 500)
  t.ok(answers.every((pdu) => pdu['sequence_number'] === 7))
  t.equal(client.receipts.length, 1)
})

t.test('what is unknown or malformed is refused, what is a response to nothing is ignored', async (t) => {
  const { smsc, client } = await openPair(t)
  write(smsc, buildHeader(16, 0x00000f0f, 11))
  write(smsc, buildPdu('submit_sm', { sequence_number: 12, destination_addr: '1' }).toBuffer())
  // The length of the message lies behind the end.
  write(smsc, Buffer.concat([buildHeader(34, 5, 13), Buffer.alloc(17), Buffer.from([200])]))
  // An optional parameter that must not be empty.
  write(smsc, Buffer.concat([buildHeader(37, 5, 14), Buffer.alloc(17), Buffer.from([0x03, 0x81, 0, 0])]))
  const refusals = await waitFor(smsc, 'generic_nack', 3)
  t.same(
    refusals.slice(0, 2).map((pdu) => [pdu['sequence_number'], pdu['command_status']]),
    [
      [11, 3],
      [12, 3],
    ],
  )
  for (const command of ['submit_sm_resp', 'enquire_link_resp', 'bind_transceiver_resp', 'alert_notification'])
    write(smsc, buildPdu(command, { sequence_number: 999 }).toBuffer())
  write(smsc, buildHeader(16, 0x80000f0f, 2))
  t.match(await client.send('x'), { kind: 'accepted' })
  t.equal(smsc.sessions.length, 1, 'the session goes on')
})

t.test('a response to another command does not answer a message', async (t) => {
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu, session) => {
        const sequence_number = Number(pdu['sequence_number'])
        session.send(buildPdu('enquire_link_resp', { sequence_number }))
        return pdu.response({ message_id: 'right' })
      },
    },
  })
  t.same(await openClient(t, smsc).send('x'), { kind: 'accepted', messageIds: ['right'] })
})

t.test('an impossible length ends the session, and the next one works', async (t) => {
  for (const length of [0, 4, 15, 16_385, 0xffffffff]) {
    const { smsc, client } = await openPair(t)
    write(smsc, buildHeader(length, 5))
    await smsc.waitForBind(2)
    t.match(client.lines[1], { msg: 'SMPP session lost', reason: `a unit of ${length} bytes` })
    t.match(await client.send('x'), { kind: 'accepted' })
  }
})

t.test('a unit that is cut off is no answer', async (t) => {
  const smsc = await openSmsc(t, {
    answers: {
      submit_sm: (pdu, session) => {
        session.socket.end(pdu.response({ message_id: '0123456789' }).toBuffer().subarray(0, 20))
        return undefined
      },
    },
  })
  t.match(await openClient(t, smsc).send('x'), { kind: 'silent' })
})

t.test('a peer that does not read is left', async (t) => {
  const question = buildPdu('enquire_link').toBuffer()
  let written = 0
  const socket = new Duplex({
    read: () => void socket.push(question),
    // The peer never takes the first answer.
    write: (bytes: Buffer) => {
      written += bytes.length
    },
  })
  const session = new SmppSession(socket, {
    times: { idle: 60_000, answer: 60_000 },
    onDelivery: async () => undefined,
  })
  t.equal(await session.ended, 'the SMSC does not read')
  t.equal(written, 16)
  t.equal(session.isOpen, false)
  t.same(await session.request('enquire_link', {}, 1_000), { kind: 'unsent' })
})

t.test('random bytes end at most the session', async (t) => {
  const sockets: Socket[] = []
  const bound = buildPdu('bind_transceiver_resp', { sequence_number: 1, system_id: 'x' }).toBuffer()
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.write(bound)
    const round = sockets.length
    // Headers with possible lengths lead into the codec, others to the end of the session.
    for (let count = 0; count < 50; count += 1) {
      const body = randomBytes(round % 40)
      const header = buildHeader(16 + body.length, randomBytes(1).readUInt8() % 0x22, count)
      if (round % 3 === 0) header.writeUInt32BE(0x8000_0000 + (round % 10), 4)
      socket.write(round % 5 === 0 ? randomBytes(64) : Buffer.concat([header, body]))
    }
    if (round % 2 === 0) socket.end()
    else setTimeout(() => socket.destroy(), 10)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const client = openClient(t, { port }, { times: { minPause: 1, maxPause: 1, refusedPause: 1 } })
  await waitUntil('200 sessions', () => sockets.length >= 200)
  await client.provider.stop()
})

t.test('receipts are reported and acknowledged; one that cannot be stored is asked for again', async (t) => {
  const faults = [new Error('the disk is full')]
  const stored: unknown[] = []
  const onReceipt = async (receipt: unknown): Promise<'applied'> => {
    const fault = faults.shift()
    if (fault !== undefined) throw fault
    stored.push(receipt)
    return 'applied'
  }
  const { smsc } = await openPair(t, { onReceipt })
  const receipt = buildReceipt('id:abc sub:001 dlvrd:001 stat:UNDELIV err:011 text:x')
  smsc.sessions[0]?.send(receipt)
  t.match((await waitFor(smsc, 'deliver_sm_resp'))[0], { command_status: 0x64 })
  smsc.sessions[0]?.send(receipt)
  t.match((await waitFor(smsc, 'deliver_sm_resp', 2))[1], { command_status: 0 })
  const parameters = { receipted_message_id: 'def', message_state: 2, source_addr: '1', destination_addr: '2' }
  smsc.sessions[0]?.send(buildPdu('data_sm', { esm_class: 4, ...parameters }))
  t.match((await waitFor(smsc, 'data_sm_resp'))[0], { command_status: 0 })
  t.match(stored, [
    { provider: 'smpp', messageIds: ['abc'], smsId: null, state: 'failed', reason: 'stat UNDELIV, err 011' },
    { provider: 'smpp', messageIds: ['def'], smsId: null, state: 'delivered', reason: 'stat DELIVRD' },
  ])
})

t.test('a receipt with an id of another notation is reported once, with each way to write it', async (t) => {
  const asked: (readonly string[])[] = []
  const { smsc } = await openPair(t, {
    onReceipt: async ({ messageIds }) => {
      asked.push(messageIds)
      return 'unknown'
    },
  })
  smsc.sessions[0]?.send(buildReceipt('id:255 stat:DELIVRD'))
  await waitFor(smsc, 'deliver_sm_resp')
  t.equal(asked.length, 1)
  t.match(asked[0], ['255', 'ff', 'FF'])
})

t.test('a message from a phone and a receipt that is not final are acknowledged and dropped', async (t) => {
  const { smsc, client } = await openPair(t)
  const text = `id:message-1 stat:DELIVRD ${SECRET} ${PHONE.slice(1)}`
  smsc.sessions[0]?.send(buildReceipt(text, { esm_class: 0 }))
  smsc.sessions[0]?.send(buildReceipt('id:message-1 stat:ACCEPTD'))
  await waitFor(smsc, 'deliver_sm_resp', 2)
  t.same(client.receipts, [])
  t.match(client.lines.slice(1), [
    { level: 20, msg: 'a message from a phone is dropped' },
    { level: 20, msg: 'a receipt without a final state', reason: 'stat ACCEPTD' },
  ])
})

t.test('deliveries beyond 50 at work wait, and none is lost', async (t) => {
  let atWork = 0
  let peak = 0
  const { smsc } = await openPair(t, {
    onReceipt: async () => {
      atWork += 1
      peak = Math.max(peak, atWork)
      await pause(5)
      atWork -= 1
      return 'applied'
    },
  })
  for (let count = 0; count < 200; count += 1) smsc.sessions[0]?.send(buildReceipt(`id:${count} stat:DELIVRD`))
  await waitFor(smsc, 'deliver_sm_resp', 200)
  t.equal(peak, 50)
})
