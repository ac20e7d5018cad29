// Requests to the API, with a time limit.
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'

const MAX_WAIT = 25_000

export function createClient({ port, headers = {} }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 2, rejectUnauthorized: false })
  /** { status, headers, body }; null: there was no answer. */
  const ask = async (method, path, body, more = {}) => {
    const json = body === undefined ? undefined : JSON.stringify(body)
    const type =
      json === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) }
    const options = {
      host: '127.0.0.1',
      port,
      servername: 'localhost',
      agent,
      method,
      path,
      headers: { ...headers, ...type, ...more },
    }
    try {
      return await new Promise((done, failed) => {
        const asked = request(options, (answer) => {
          text(answer).then((said) => done({ status: answer.statusCode, headers: answer.headers, body: said }), failed)
        })
        asked.setTimeout(MAX_WAIT, () => asked.destroy(new Error('late')))
        asked.on('error', failed)
        asked.end(json)
      })
    } catch {
      return null
    }
  }
  return { ask, close: () => agent.destroy() }
}

/** Whether a status is a temporary refusal. */
export function isTemporary(status) {
  return status === 429 || status === 503
}
