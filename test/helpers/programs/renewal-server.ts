/**
 * Pebble with renewal information (RFC 9773), which Debian's version does not have: a proxy in front of it adds the service
 * to its directory, answers it, and notes which certificate each order replaces. Everything else is Pebble's.
 */
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { createSelfSigned } from '../certificates.js'
import { temporaryFolder } from '../database/database.js'
import type { Pebble } from './pebble.js'

const ALREADY_REPLACED = 'urn:ietf:params:acme:error:alreadyReplaced'

/** Epoch milliseconds. */
interface Window {
  readonly start: number
  readonly end: number
}

interface RenewalServer {
  /** For the daemon, in place of the Pebble behind it. */
  readonly pebble: Pebble
  /** Ids of certificates that were asked about. */
  readonly asked: readonly string[]
  /** What each order said that it replaces; undefined: nothing. */
  readonly orders: readonly (string | undefined)[]
  /** The answer about the certificate that is asked about first; null, and for those after it: there is none. */
  suggest: (window: Window | null) => void
  /** Orders that replace a certificate are refused: it was replaced before. */
  refuseReplacements: () => void
}

export async function renewalServer(t: Test, pebble: Pebble): Promise<RenewalServer> {
  const pair = await createSelfSigned(['localhost'])
  const caFile = join(temporaryFolder(t), 'proxy.pem')
  writeFileSync(caFile, pair.cert)
  const asked: string[] = []
  const orders: (string | undefined)[] = []
  let suggested: Window | null = null
  let refuses = false
  const server = createServer(pair, (incoming, response) => {
    void answer(incoming, response)
  })
  t.teardown(() => server.close().closeAllConnections())
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = '' } = incoming
    const body = await text(incoming)
    if (url.startsWith('/ari/')) {
      const id = url.slice('/ari/'.length)
      asked.push(id)
      const window = id === asked[0] ? suggested : null
      return window === null ? sendJson(response, 404, {}) : sendJson(response, 200, toAnswer(window))
    }
    const replaces = url === '/order-plz' ? readPayload(body).replaces : undefined
    if (refuses && replaces !== undefined) {
      orders.push(replaces)
      return sendJson(response, 409, { type: ALREADY_REPLACED, detail: 'replaced before' })
    }
    const forwarded = await forward(pebble, incoming, body)
    // Pebble refuses one request in twenty because of its nonce, and it is made again.
    if (url === '/order-plz' && forwarded.answer.statusCode === 201) orders.push(replaces)
    const { host = '' } = incoming.headers
    if (url !== '/dir') return send(response, forwarded)
    sendJson(response, 200, { ...JSON.parse(forwarded.body), renewalInfo: `https://${host}/ari` })
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  return {
    pebble: { ...pebble, directory: `https://localhost:${port}/dir`, caFile },
    ...{ asked, orders },
    suggest: (window) => {
      suggested = window
    },
    refuseReplacements: () => {
      refuses = true
    },
  }
}

function toAnswer({ start, end }: Window): unknown {
  return { suggestedWindow: { start: new Date(start).toISOString(), end: new Date(end).toISOString() } }
}

/** Of a request that is signed (RFC 7515): Pebble checks the signature. */
function readPayload(body: string): { readonly replaces?: string } {
  const { payload } = JSON.parse(body) as { readonly payload: string }
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly replaces?: string }
}

interface Forwarded {
  readonly answer: IncomingMessage
  readonly body: string
}

/** With its field Host: Pebble makes its URLs of it. */
function forward(pebble: Pebble, { method, url, headers }: IncomingMessage, body: string): Promise<Forwarded> {
  const ca = readFileSync(pebble.caFile, 'utf8')
  const { port } = new URL(pebble.directory)
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', servername: 'localhost', port, method, path: url, headers, ca }
    const sent = request(options, (answer) => {
      text(answer).then((read) => resolve({ answer, body: read }), reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function send(response: ServerResponse, { answer, body }: Forwarded): void {
  response.writeHead(answer.statusCode ?? 500, answer.headers)
  response.end(body)
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': status < 400 ? 'application/json' : 'application/problem+json' })
  response.end(JSON.stringify(value))
}
