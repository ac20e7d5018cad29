/** Answers of an ACME server that are no part of an order, over real TLS. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { systemClock } from '../../../src/base/platform/clock.js'
import { createHttpClient } from '../../../src/base/platform/http/http-client.js'
import { type AcmeDirectory, openAcmeDirectory } from '../../../src/operations/certificates/acme-directory.js'
import { readCertificateFacts } from '../../../src/operations/certificates/renewal-plan.js'
import { RenewalWindows } from '../../../src/operations/certificates/renewal-windows.js'
import { createSelfSigned } from '../../helpers/certificates.js'

const pair = await createSelfSigned(['localhost'])

/** `answer` is given the URL of the server, without a slash. */
async function open(
  t: Test,
  answer: (base: string) => RequestListener,
  authorities = pair.cert,
): Promise<AcmeDirectory> {
  const server = createServer({ cert: pair.cert, key: pair.key }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const base = `https://localhost:${typeof address === 'object' ? address?.port : 0}`
  server.on('request', answer(base))
  const limits = { maxConnections: 2, maxBodyBytes: 10_000, maxDroppedBytes: 0 }
  const http = await createHttpClient({ ...limits, authorities })
  t.teardown(() => http.close())
  return openAcmeDirectory({ url: new URL(`${base}/dir`), http, clock: systemClock, userAgent: 'Posthorn/test' })
}

function sendJson(value: unknown, status = 200): RequestListener {
  return (_request, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(value))
  }
}

t.test('the renewal window of a certificate', async (t) => {
  const asked: string[] = []
  const directory = await open(t, (base) => (request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers['user-agent']}`)
    const window = { start: '2026-12-01T00:00:00Z', end: '2026-12-03T00:00:00Z' }
    const body = request.url === '/dir' ? { renewalInfo: `${base}/ari` } : { suggestedWindow: window }
    sendJson(body)(request, response)
  })
  const window = { start: Date.UTC(2026, 11, 1), end: Date.UTC(2026, 11, 3) }
  t.same(await directory.readRenewalWindow('id.serial'), window)
  t.same(asked, ['GET /dir Posthorn/test', 'GET /ari/id.serial Posthorn/test'])
})

t.test('a server without renewal information, or with a wrong one', async (t) => {
  t.equal(await (await open(t, () => sendJson({}))).readRenewalWindow('id'), null)
  const reversed = { suggestedWindow: { start: '2026-12-03T00:00:00Z', end: '2026-12-01T00:00:00Z' } }
  for (const body of [{}, [], { suggestedWindow: 'soon' }, { suggestedWindow: { start: 'x', end: 'y' } }, reversed]) {
    const directory = await open(t, (base) => sendJson({ renewalInfo: base, ...body }))
    t.equal(await directory.readRenewalWindow('id'), null)
  }
})

t.test('renewal windows are asked for twice a day', async (t) => {
  let now = Date.UTC(2026, 10, 23)
  let asked = 0
  const name = parseDomainName('a.test')
  const cert = readFileSync('test/fixtures/certificates/key-identifier.pem', 'utf8')
  const facts = readCertificateFacts(cert)
  const window = { start: now, end: now + 1 }
  const readRenewalWindow = async () => {
    asked += 1
    if (asked === 2) throw new Error('no answer')
    return window
  }
  const windows = new RenewalWindows({
    directory: { readRenewalWindow },
    read: async <Row>() => [{ cert, key: '' } as Row],
    clock: () => now,
  })
  t.equal(windows.windowOf(name, facts), null)
  await windows.refresh(name, facts)
  await windows.refresh(name, facts)
  t.same([asked, windows.windowOf(name, facts)], [1, window])
  t.equal(windows.replacedId(name), 'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE')
  now += 12 * 3_600_000
  await windows.refresh(name, facts)
  t.same([asked, windows.windowOf(name, facts), windows.replacedId(name)], [2, null, null], 'a server that fails')
  const other = parseDomainName('b.test')
  await windows.refresh(other, facts)
  t.equal(asked, 2, 'it is not asked about the next name at once')
  now += 3_600_000
  await windows.refresh(other, facts)
  t.same([asked, windows.windowOf(other, facts)], [3, window])
  now -= 365 * 24 * 3_600_000
  await windows.refresh(other, facts)
  t.equal(asked, 4, 'a time that was noted before the clock was set back does not count')
  const renewed = { ...facts, fingerprint: 'another' }
  t.equal(windows.windowOf(other, renewed), null, 'another daemon has replaced the certificate')
  await windows.refresh(other, renewed)
  t.same([asked, windows.windowOf(other, renewed)], [5, window])
})

t.test('what a server may not do', async (t) => {
  const create = async (answer: (base: string) => RequestListener, authorities?: string): Promise<string> =>
    (await open(t, answer, authorities)).createAccount((await createSelfSigned(['x'])).key, null)
  const plain: unknown = await create(() => sendJson({ newNonce: 'http://127.0.0.1/nonce', newAccount: 'x' })).catch(
    (error: unknown) => error,
  )
  t.match(plain, { subject: 'server' })
  await t.rejects(
    create(() => sendJson({ padding: 'x'.repeat(20_000) })),
    { message: /too large/ },
  )
  const html: RequestListener = (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.end('<html>')
  }
  await t.rejects(
    create(() => html),
    { message: 'the answer of the server is not JSON' },
  )
  const redirect: RequestListener = (_request, response) => {
    response.writeHead(302, { Location: 'https://127.0.0.1/' })
    response.end()
  }
  await t.rejects(
    create(() => redirect),
    'redirects are not followed',
  )
  await t.rejects(
    create(() => sendJson({}, 503)),
    { message: 'the server answered 503' },
  )
  const other = await createSelfSigned(['localhost'])
  await t.rejects(
    create(() => sendJson({}), other.cert),
    { name: 'HttpFault' },
    'its certificate is not trusted',
  )
})
