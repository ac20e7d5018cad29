// A client of the REST API, on one kept connection: single emails or batches, with an
// Idempotency-Key or without.
//
// A request with a key is repeated, with the same key and the same bytes, until it was
// answered; one without a key is given up when the connection breaks. 503 comes from a daemon
// that is still starting: no answer yet.
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const BATCH = 5

/** `kind`: { batch, idempotent }. Runs until the signal aborts and, with a key, until the last answer was read. */
export async function submitByRest(signal, { port, ca, key }, kind, ledger) {
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 1 })
  while (!signal.aborted) {
    const numbers = Array.from({ length: kind.batch ? BATCH : 1 }, () => ledger.nextNumber())
    const emails = numbers.map(emailOf)
    const asked = {
      path: kind.batch ? '/v1/emails/batch' : '/v1/emails',
      body: JSON.stringify(kind.batch ? emails : emails[0]),
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(kind.idempotent ? { 'idempotency-key': `once-${numbers[0]}` } : {}),
      },
    }
    for (let answered = false; !answered; ) {
      if (kind.idempotent) for (const number of numbers) ledger.expectOnce(number)
      const got = await post({ port, agent }, asked).catch(() => null)
      const answer = got?.status === 503 ? null : got
      if (answer !== null) record(answer, kind, numbers, ledger)
      else await sleep(20)
      answered = answer !== null || !kind.idempotent
    }
  }
  agent.destroy()
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

/** One request on a connection of its own, repeated while the daemon is starting. */
export async function postJson({ port, ca, key }, path, value) {
  const agent = new Agent({ ca })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (;;) {
    const answer = await post({ port, agent }, { path, body: JSON.stringify(value), headers })
    if (answer.status !== 503) return answer
    await sleep(100)
  }
}

async function post({ port, agent }, { path, body, headers }) {
  const asked = request({ host: '127.0.0.1', port, agent, path, method: 'POST', headers })
  asked.end(body)
  const [answer] = await once(asked, 'response')
  return { status: answer.statusCode, body: await text(answer) }
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
