// Answers of the HTTP listeners, errors included: their header fields, and what they give away.
import { request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { hostname } from './daemon.mjs'

const asked = {
  api: [
    ['GET', '/'],
    ['GET', '/', { accept: 'text/html' }],
    ['GET', '/ui/'],
    ['GET', '/ui/docs'],
    ['GET', '/ui/sign-in'],
    ['GET', '/ui/no-such-page'],
    ['GET', '/ui/api/v1/emails'],
    ['GET', '/openapi.json'],
    ['GET', '/healthz'],
    ['GET', '/readyz'],
    ['GET', '/v1/emails'],
    ['GET', '/v1/emails', { authorization: 'Bearer wrong' }],
    ['DELETE', '/v1/events'],
    ['GET', `/${'a'.repeat(9_000)}`],
    ['GET', '/v1/emails', { 'x-large': 'a'.repeat(20_000) }],
    ['TRACE', '/'],
    ['OPTIONS', '*'],
    ['GET', '/../../../../etc/passwd'],
    ['GET', '/ui/assets/..%2f..%2f..%2fetc%2fpasswd'],
  ],
  challenges: [
    ['GET', '/'],
    ['POST', '/'],
    ['GET', '/.well-known/acme-challenge/none'],
    ['GET', '/.well-known/acme-challenge/../../../etc/passwd'],
  ],
  metrics: [
    ['GET', '/'],
    ['GET', '/metrics'],
    ['POST', '/metrics'],
    ['GET', '/../etc/passwd'],
  ],
}

export async function scanHeaders(kind, port) {
  const found = []
  for (const [method, path, headers = {}] of asked[kind]) {
    const answer = await ask(kind, port, { method, path, headers })
    found.push(...judge(kind, `${method} ${path.slice(0, 40)}`, answer))
  }
  const garbage = await sendGarbage(kind, port)
  return [...found, ...judge(kind, 'a line that is not HTTP', garbage)]
}

function judge(kind, id, { status, headers, body }) {
  const faults = []
  const text = headers['content-type'] ?? ''
  if (headers['server'] !== undefined || headers['x-powered-by'] !== undefined) faults.push('names its software')
  if (status >= 500 && status !== 503) faults.push(`answered ${status}`)
  if (/^root:[^:\n]*:0:|node:internal|\.js:\d+/m.test(body)) faults.push('shows a file or a stack')
  // Node.js answers what it cannot parse with an empty body there.
  if (body !== '' && headers['x-content-type-options'] !== 'nosniff') faults.push('no X-Content-Type-Options')
  if (kind === 'api') {
    if (!/^max-age=\d{8}/.test(headers['strict-transport-security'] ?? '')) faults.push('no HSTS')
    if (headers['cache-control'] === undefined) faults.push('no Cache-Control')
  }
  if (/html/.test(text) && !/default-src 'none'/.test(headers['content-security-policy'] ?? '')) faults.push('no CSP')
  return faults.map((fault) => ({ id: `headers ${id}`, text: `${status}: ${fault}` }))
}

function ask(kind, port, { method, path, headers }) {
  const target = { host: '127.0.0.1', port, method, path, headers: { host: hostname, ...headers }, agent: false }
  const options = { ...target, servername: hostname, rejectUnauthorized: false }
  return new Promise((resolve, reject) => {
    const sent = kind === 'api' ? tlsRequest(options) : plainRequest(target)
    sent.once('error', reject)
    sent.once('response', async (answer) => {
      let body = ''
      for await (const part of answer) body += part
      resolve({ status: answer.statusCode, headers: answer.headers, body })
    })
    sent.end()
  })
}

function sendGarbage(kind, port) {
  const target = { host: '127.0.0.1', port }
  return new Promise((resolve, reject) => {
    const socket =
      kind === 'api' ? connectTls({ ...target, servername: hostname, rejectUnauthorized: false }) : connectPlain(target)
    let text = ''
    socket.once('error', reject)
    socket.on('data', (part) => (text += part))
    socket.once('close', () => resolve(parseAnswer(text)))
    socket.write('\u0001 no request\r\n\r\n')
  })
}

function parseAnswer(text) {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const headers = fields.map((field) => [
    field.slice(0, field.indexOf(':')).toLowerCase(),
    field.slice(field.indexOf(':') + 2),
  ])
  // An empty answer: the connection was closed.
  return {
    status: Number(line.split(' ')[1] ?? 0),
    headers:
      text === ''
        ? { 'strict-transport-security': 'max-age=00000000', 'cache-control': '' }
        : Object.fromEntries(headers),
    body,
  }
}
