/** An independent SMSC, written with Debian's Net::SMPP: it codes and decodes every unit by itself. */
import t, { type Test } from 'tap'
import { systemClock } from '../../../../src/base/platform/clock.js'
import type { Receipt } from '../../../../src/workspaces/sms/provider.js'
import { freePort } from '../../../helpers/free-port.js'
import { netSmppServer, skipWithoutNetSmpp } from '../../../helpers/programs/net-smpp.js'
import { buildMessage, openClient, SECRET, type SmppClient } from '../../../helpers/sms/smpp-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const skip = skipWithoutNetSmpp()
const text = `Code ${SECRET}`

function send({ provider }: SmppClient, phone: string, written: string, timeLimit = 10_000) {
  return provider.send({ ...buildMessage(written), phone }, systemClock() + timeLimit)
}

function waitForReceipt({ receipts }: SmppClient, id: string): Promise<Receipt> {
  return waitUntil('a receipt', () => receipts.find(({ messageIds }) => messageIds.includes(id)))
}

async function readSubmission(smsc: Awaited<ReturnType<typeof netSmppServer>>, phone: string, since: number) {
  const line: unknown = JSON.parse(await smsc.waitForLine(`"phone":"${phone}"`, since))
  return line
}

t.test('it reads what is submitted, and its receipts are read', { skip }, async (t) => {
  const port = await freePort()
  const smsc = await netSmppServer(t, port)
  const client = openClient(t, { port })
  t.match(JSON.parse(await smsc.waitForLine('bind_transceiver')), { version: '52', known: '1' })
  await smsc.waitForLine('enquire_link answered')

  t.same(await send(client, '+41791230001', '@£$ {€} ä^'), { kind: 'accepted', messageIds: ['ABC1'] })
  t.match(await readSubmission(smsc, '41791230001', 0), {
    source: 'Posthorn',
    types: '5/0/1/1',
    esm_class: '0',
    data_coding: '0',
    registered_delivery: '1',
    validity: /^0000000005\d\d000R$|^000000000[45]\d\d000R$/,
    octets: '00010220' + '1b28' + '1b65' + '1b29' + '20' + '7b' + '1b14',
  })
  t.match(await waitForReceipt(client, 'ABC1'), { state: 'delivered', reason: 'stat DELIVRD, err 000' })

  t.same(await send(client, '+41791230015', 'Код 😀'), { kind: 'accepted', messageIds: ['ABC2'] })
  const unicode = Buffer.from('Код 😀', 'utf16le').swap16().toString('hex')
  t.match(await readSubmission(smsc, '41791230015', 0), { data_coding: '8', octets: unicode })
  t.match(await waitForReceipt(client, 'ABC2'), { state: 'failed', reason: 'stat UNDELIV, err 000' })

  const since = smsc.lines()
  const long = 'x'.repeat(153) + 'y'.repeat(100)
  t.same(await send(client, '+41791230024', long), { kind: 'accepted', messageIds: ['ABC3', 'ABC4'] })
  const first = await readSubmission(smsc, '41791230024', since)
  t.match(first, { esm_class: '64', octets: new RegExp(`^050003[0-9a-f]{2}0201${'78'.repeat(153)}$`) })
  await smsc.waitForLine(`0202${'79'.repeat(100)}`, since)
  t.match(await waitForReceipt(client, 'ABC3'), { state: 'delivered', reason: 'stat DELIVRD' })
  t.match(await waitForReceipt(client, 'ABC4'), { state: 'delivered' })

  t.match(await send(client, '+41791230007', text), { kind: 'accepted' }, 'throttled, then accepted')
  t.same(await send(client, '+41791230008', text), { kind: 'refused', reason: 'ESME_RINVDSTADR' })
  t.match(await send(client, '+41791230009', text, 300), { kind: 'silent' })
  await client.provider.stop()
  await smsc.waitForLine('unbind')
})

t.test('a wrong password is refused', { skip }, async (t) => {
  const port = await freePort()
  const smsc = await netSmppServer(t, port)
  const client = openClient(t, { port }, { password: 'other', times: { connectWait: 500 } })
  t.match(await send(client, '+41791230001', text), { kind: 'refused', reason: /ESME_RINVPASWD/ })
  await smsc.waitForLine('"known":"0"')
})

/** SIGKILL while a message waits for its response; the next ones wait for the new process. */
async function killTwice(t: Test): Promise<void> {
  const port = await freePort()
  let smsc = await netSmppServer(t, port)
  const client = openClient(t, { port })
  for (const round of [1, 2]) {
    t.match(await send(client, `+4179123${round}001`, text), { kind: 'accepted' })
    const interrupted = send(client, `+4179123${round}009`, text)
    await smsc.waitForLine(`"phone":"4179123${round}009"`)
    smsc.signal('SIGKILL')
    t.match(await interrupted, { kind: 'silent', reason: /lost/ })
    const waiting = Promise.all([1, 2, 3].map((last) => send(client, `+4179124${round}00${last}`, text)))
    smsc = await netSmppServer(t, port)
    for (const outcome of await waiting) t.match(outcome, { kind: 'accepted' })
    t.match(await send(client, `+4179125${round}001`, text), { kind: 'accepted' })
  }
  const messages = client.listMessages()
  t.equal(messages.filter((line) => line === 'SMPP session bound').length, 3)
  t.equal(messages.filter((line) => line === 'SMPP session lost').length, 2)
}

t.test('it is killed with SIGKILL and comes back: messages go through again', { skip }, killTwice)
