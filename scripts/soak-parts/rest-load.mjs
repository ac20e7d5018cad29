// Clients of the REST interface: single emails and batches, with an Idempotency-Key or without. A request with a key is
// made again, with the same bytes, until it was answered with success.
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, isTemporary } from '../lib/https-client.mjs'
import { SENDER } from './names.mjs'
import { recipientsOf } from './smtp-load.mjs'

const BATCH = 5

/** `kind`: { batch, idempotent, pause }. */
export async function loadRest(run, kind) {
  const { port, key } = run.api
  const client = createClient({ port, key })
  while (!run.signal.aborted) {
    await sendOnce(run, kind, client)
    await sleep(kind.pause * (0.5 + run.random()))
  }
  client.close()
}

async function sendOnce(run, kind, client) {
  const numbers = Array.from({ length: kind.batch ? BATCH : 1 }, () => run.ledger.nextNumber())
  const emails = numbers.map(emailOf)
  const headers = kind.idempotent ? { 'idempotency-key': `once-${numbers[0]}` } : {}
  const path = kind.batch ? '/v1/emails/batch' : '/v1/emails'
  for (const end = Date.now() + 120_000; Date.now() < end; await sleep(300)) {
    if (kind.idempotent) for (const number of numbers) run.ledger.expectOnce(number)
    const answer = await client.ask('POST', path, kind.batch ? emails : emails[0], headers)
    const isAnswered = answer !== null && !isTemporary(answer.status) && answer.status !== 500
    if (isAnswered) record(run, kind, numbers, answer)
    else if (answer !== null) count(run, answer)
    if (isAnswered || !kind.idempotent) return
  }
}

function count({ ledger, timeline }, { status, body }) {
  const kind = `rest ${status}`
  ledger.served[kind] = (ledger.served[kind] ?? 0) + 1
  if (status === 500) ledger.surprise('rest', `500 ${body}`, timeline.name())
}

function emailOf(number) {
  return {
    from: SENDER,
    to: recipientsOf(number),
    subject: `number ${number}`,
    text: 'some text\n'.repeat(60),
    html: '<html><body><p><a href="https://shop.example/offer?a=1&amp;b=2">An offer</a></p></body></html>',
  }
}

function record({ ledger, timeline }, { batch }, numbers, { status, body }) {
  if (status !== (batch ? 200 : 201)) return ledger.surprise('rest', `${status} ${body}`, timeline.name())
  const parsed = JSON.parse(body)
  const items = batch ? parsed.data : [parsed]
  for (const [at, number] of numbers.entries()) {
    const { id } = items[at] ?? {}
    const keys = recipientsOf(number).map((address) => address.split('@')[0])
    if (typeof id === 'string') ledger.accept('rest', number, id, keys)
    else ledger.surprise('rest', JSON.stringify(items[at] ?? null), timeline.name())
  }
}
