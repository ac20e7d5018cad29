/** The listener of challenges by hostile requests: what it answers, and what one client can hold. */
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { ChallengeAnswers } from '../../../src/operations/certificates/challenge-answers.js'
import { openChallengeListener } from '../../../src/operations/certificates/challenge-listener.js'
import { ChallengeRows } from '../../../src/operations/certificates/challenge-rows.js'
import { SharedAnswers } from '../../../src/operations/certificates/shared-answers.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const PREFIX = '/.well-known/acme-challenge/'

const noRows = { readAll: async () => new Map<string, string>() }

async function openListener(
  t: Test,
  publicUrl = 'https://mail.example.test:8443/base',
  rows: Pick<ChallengeRows, 'readAll'> = noRows,
): Promise<number> {
  const own = new ChallengeAnswers()
  own.addText('token', 'token.thumbprint')
  const answers = new SharedAnswers({ own, rows })
  const listener = await openChallengeListener([{ host: '0.0.0.0', port: 0 }], { answers, publicUrl })
  t.teardown(listener.stop)
  return listener.endpoints[0]?.port ?? 0
}

/** `from`: another address of loopback counts as another client. */
async function send(port: number, bytes: string | Buffer, from = '127.0.0.1'): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  socket.on('error', () => undefined)
  socket.write(bytes)
  return text(socket.setEncoding('latin1')).catch(() => '')
}

const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())))

const get = (port: number, path: string, from?: string): Promise<string> =>
  send(port, `GET ${path} HTTP/1.1\r\nHost: evil.test\r\n\r\n`, from)

t.test('challenges are answered, and everything else leads to public_url, whatever Host says', async (t) => {
  const port = await openListener(t)
  t.match(await get(port, `${PREFIX}token`), /^HTTP\/1\.1 200 [\s\S]*nosniff[\s\S]*\r\n\r\ntoken\.thumbprint$/)
  for (const token of ['', 'other', '__proto__', 'constructor', '../../etc/passwd', 'token/', 'a'.repeat(300)]) {
    t.match(await get(port, PREFIX + token), /^HTTP\/1\.1 404 /, token)
  }
  for (const path of ['/', '//evil.test/x', '/@evil.test', '/\\evil.test', '/?a=b']) {
    const answer = await get(port, path)
    t.match(answer, /^HTTP\/1\.1 308 /)
    t.ok(answer.includes(`Location: https://mail.example.test:8443${path}\r\n`), path)
  }
  t.match(await get(port, 'http://evil.test/'), /^HTTP\/1\.1 404 /)
  const plain = await openListener(t, 'http://mail.example.test')
  t.match(await get(plain, '/'), /^HTTP\/1\.1 404 /)
})

t.test('no byte in the path of a request ends the listener or gets into a header field of its own', async (t) => {
  const port = await openListener(t)
  for (let byte = 0; byte < 256; byte += 1) {
    const request = Buffer.from(`GET /a_b HTTP/1.1\r\nHost: x\r\n\r\n`)
    request[6] = byte
    const answer = await send(port, request)
    t.ok(answer === '' || /^HTTP\/1\.1 (?:308|404|400) /.test(answer), `byte ${byte}`)
    t.equal(answer.split('\r\n').filter((line) => line.startsWith('Location:')).length <= 1, true)
  }
  t.match(await get(port, '/'), /^HTTP\/1\.1 308 /)
})

t.test('one client that holds its connections leaves room for the others', async (t) => {
  const port = await openListener(t)
  const held: Socket[] = []
  t.teardown(() => held.forEach((socket) => void socket.destroy()))
  for (let count = 0; count < 300; count += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    socket.on('error', () => undefined)
    socket.write('GET / HT')
    held.push(socket)
  }
  await Promise.all(held.slice(32).map(closed))
  t.equal(held.filter((socket) => !socket.destroyed).length, 32, 'of one address 32 stay open')
  t.match(await get(port, `${PREFIX}token`, '127.0.0.3'), /^HTTP\/1\.1 200 /, 'another client is answered')
  t.equal(await get(port, '/', '127.0.0.2'), '', 'one more of the same address is not')
  for (const socket of held.slice(0, 32)) socket.destroy()
  await Promise.all(held.slice(0, 32).map(closed))
  let answer = ''
  for (let tries = 0; answer === '' && tries < 100; tries += 1) answer = await get(port, '/', '127.0.0.2')
  t.match(answer, /^HTTP\/1\.1 308 /, 'and is again when it has closed them')
})

t.test('a challenge of another daemon on the same database is answered', async (t) => {
  const { database, openAgain } = await temporaryDatabase(t)
  const port = await openListener(t, undefined, new ChallengeRows(await openAgain(), Date.now))
  const token = 'x'.repeat(43)
  t.match(await get(port, PREFIX + token), /^HTTP\/1\.1 404 /)
  await new ChallengeRows(database, Date.now).add(token, `${token}.thumbprint`)
  t.match(await get(port, PREFIX + token), new RegExp(`^HTTP/1\\.1 200 [\\s\\S]*\\r\\n\\r\\n${token}\\.thumbprint$`))
  t.match(await send(port, `POST ${PREFIX}${token} HTTP/1.1\r\nHost: x\r\n\r\n`), /^HTTP\/1\.1 404 /)
})

t.test('while the database cannot be read, only challenges of other daemons are not answered', async (t) => {
  const readAll = (): Promise<never> => Promise.reject(new Error('the database is away'))
  const port = await openListener(t, undefined, { readAll })
  t.match(await get(port, PREFIX + 'x'.repeat(43)), /^HTTP\/1\.1 503 /)
  t.match(await get(port, `${PREFIX}token`), /^HTTP\/1\.1 200 /)
  t.match(await get(port, '/'), /^HTTP\/1\.1 308 /)
})
