// Clients of the REST API: those that submit single emails or batches, with an Idempotency-Key or without, and a recipient that
// loads pixels and follows links.
//
// A request with a key is repeated, with the same key and the same bytes, until it was
// answered; one without a key is given up when the connection breaks. 503 comes from a daemon
// that is still starting, or whose database is away: no answer yet, and nothing was accepted.
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, readTracked } from '../lib/https-client.mjs'

const BATCH = 5

/** `kind`: { batch, idempotent }. `open` makes the client. Runs until the signal aborts and, with a key, until the last answer was read. */
export async function submitByRest(signal, api, kind, ledger, open = createClient) {
  const client = open({ ...api, sockets: 1 })
  while (!signal.aborted) {
    const numbers = Array.from({ length: kind.batch ? BATCH : 1 }, () => ledger.nextNumber())
    const emails = numbers.map(emailOf)
    const body = JSON.stringify(kind.batch ? emails : emails[0])
    const headers = kind.idempotent ? { 'idempotency-key': `once-${numbers[0]}` } : {}
    for (let answered = false; !answered; ) {
      if (kind.idempotent) for (const number of numbers) ledger.expectOnce(number)
      const begun = Date.now()
      const got = await client.ask('POST', kind.batch ? '/v1/emails/batch' : '/v1/emails', body, headers)
      const answer = got?.status === 503 ? null : got
      if (got === null) ledger.unanswered()
      else if (answer === null) for (const number of numbers) ledger.refused('rest', number, '503', begun)
      if (answer !== null) record(answer, kind, numbers, ledger)
      else await sleep(20)
      answered = answer !== null || !kind.idempotent
    }
  }
  client.close()
}

function emailOf(number) {
  return {
    from: 'app@crash.test',
    to: 'someone@sink.test',
    subject: `number ${number}`,
    text: 'some text\n'.repeat(100),
    html: '<html><body><p><a href="https://shop.example/offer?a=1&amp;b=2">An offer</a></p></body></html>',
    headers: { 'X-Number': String(number) },
  }
}

function record({ status, body }, { batch }, numbers, ledger) {
  if (status !== (batch ? 200 : 201)) return ledger.strange(`REST: ${status} ${body.slice(0, 300)}`)
  const parsed = JSON.parse(body)
  const items = batch ? parsed.data : [parsed]
  for (const [at, number] of numbers.entries()) {
    const { id } = items[at] ?? {}
    if (typeof id === 'string') ledger.accepted('rest', number, id)
    else ledger.strange(`REST: ${JSON.stringify(items[at])}`)
  }
}

/**
 * Opens and clicks are answered before they are stored, so a kill may lose the last ones; but an answered link always leads to
 * its address. Resolves to the number of answers.
 */
export async function readMessages(signal, { port }, takeMessage, ledger) {
  let answers = 0
  await readTracked({ signal, port, takeMessage }, (answer, expected, astray) => {
    if (answer === null || answer.status === 503) return
    answers += 1
    if (answer.status !== expected) ledger.strange(`a pixel or a link: ${answer.status}`)
    else if (astray !== null) ledger.strange(astray)
  })
  return answers
}
