// Requests to the API of a daemon on loopback, with a time limit.
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const MAX_WAIT = 25_000

/** `key`: sent with each request. `sockets`: connections at once. */
export function createClient({ port, key, headers = {}, sockets = 2, wait = MAX_WAIT }) {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets, rejectUnauthorized: false })
  const common = { ...headers, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) }
  /** { status, headers, body }; null: there was no answer. A body that is text is sent as it is. */
  const ask = async (method, path, body, more = {}) => {
    const json = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const type =
      json === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) }
    const address = { host: '127.0.0.1', port, servername: 'localhost', agent, method, path }
    try {
      return await new Promise((done, failed) => {
        const asked = request({ ...address, headers: { ...common, ...type, ...more } }, (answer) => {
          text(answer).then((said) => done({ status: answer.statusCode, headers: answer.headers, body: said }), failed)
        })
        asked.setTimeout(wait, () => asked.destroy(new Error('late')))
        asked.on('error', failed)
        asked.end(json)
      })
    } catch {
      return null
    }
  }
  /** The body of a success as JSON; an error for any other answer. */
  const demand = async (method, path, body) => {
    const answer = await ask(method, path, body)
    if (answer === null || answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer?.status ?? 'no answer'} ${answer?.body ?? ''}`)
    return JSON.parse(answer.body)
  }
  return { ask, demand, close: () => agent.destroy() }
}

/** Resolves when the daemon of the client answers requests. */
export async function answering(client) {
  while ((await client.ask('GET', '/healthz'))?.status !== 200) await sleep(10)
}

/** Whether a status is a temporary refusal. */
export function isTemporary(status) {
  return status === 429 || status === 503
}

/** The one link of tracked messages, which those of the daemon lead to. */
const OFFER = 'https://shop.example/offer?a=1&b=2'

/**
 * A recipient of tracked messages: loads their pixels and follows their links until the signal aborts. `takeMessage`: the text of a
 * message that was not read yet, or undefined. `onAnswer` gets each answer, the expected status, and a fault of where it leads.
 */
export async function readTracked({ signal, port, takeMessage }, onAnswer) {
  const client = createClient({ port, sockets: 1 })
  while (!signal.aborted) {
    const message = takeMessage()
    if (message === undefined) await sleep(20)
    else
      for (const path of trackedPathsOf(message)) {
        const answer = await client.ask('GET', path)
        const expected = path.includes('/click/') ? 302 : 200
        const isAstray = answer?.status === 302 && answer.headers.location !== OFFER
        onAnswer(answer, expected, isAstray ? `${path} leads to ${answer.headers.location}` : null)
      }
  }
  client.close()
}

function trackedPathsOf(message) {
  const unfolded = message.replaceAll('=\r\n', '').replaceAll('=3D', '=').replaceAll('&amp;', '&')
  return new Set(unfolded.match(/\/v1\/track\/(?:open|click)\/[\w-]+(?:\?[^"\s]*)?/g) ?? [])
}
