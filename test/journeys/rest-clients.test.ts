/**
 * Requests of common HTTP clients arrive completely, and the messages are signed.
 *
 * One daemon, one sink; each request has a recipient of its own. Both shapes of a request carry the same email, so
 * that what arrives can be compared with the same text.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Attachment, simpleParser } from 'mailparser'
import t, { type Test } from 'tap'
import { temporaryFolder } from '../helpers/database/database.js'
import { withoutPixel } from '../helpers/mail/without-pixel.js'
import { plainNode } from '../helpers/programs/plain-node.js'
import { python, runProgram, skipWithoutModule } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink, type SinkMessage } from '../helpers/smtp/scripted-sink.js'
import { stripOurFields } from './support/peer-messages.js'
import { createReadyInstallation, serve, waitForExit } from './support/program.js'

const sink = await openSink()
t.teardown(() => sink.close())
const installed = await createReadyInstallation(t, sink.port, '127.0.0.2/32')
const daemon = await serve(t, installed)
const caFile = join(installed.dataDir, 'tls', 'cert.pem')
const scratch = temporaryFolder(t)
const url = `https://localhost:${daemon.apiPort}/v1/emails`

const subject = 'Rechnung für März ☂'
const text = 'Grüße,\n.\nFrom a line that begins so.\n'
const html = `<p>Grüße <img src="cid:logo"></p>\n<p>${'ä '.repeat(2000)}</p>\n`
const note = Buffer.from('.\r\nnote\r\n')
const allBytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => (at * 7919) % 256))
const picture = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const files = {
  attachments: [
    { filename: 'Übersicht.bin', content: allBytes.toString('base64') },
    { filename: 'note.txt', content: note.toString('base64'), content_type: 'text/plain' },
  ],
  inline_images: [
    { cid: 'logo', filename: 'logo.png', content: picture.toString('base64'), content_type: 'image/png' },
  ],
}

/** The body of a request, by the name of its shape. */
const forms: Readonly<Record<string, (to: string) => object>> = {
  plain: (to) => ({ from: 'Grüße <app@sender.test>', to, subject, text, html, ...files }),
  nested: (to) => ({
    from: { address: 'app@sender.test', name: 'Grüße' },
    to: [{ email_address: { address: to } }],
    subject,
    textbody: text,
    htmlbody: html,
    ...files,
  }),
}

interface Answer {
  readonly status?: number
  readonly body?: Readonly<Record<string, unknown>>
  readonly error?: string | number
}

interface Client {
  readonly skip: false | string
  /** How the client reports that it does not trust the certificate. */
  readonly distrust: string | number
  /** `ca` null: it trusts what the machine trusts. */
  readonly post: (body: object, more?: { headers?: Record<string, string>; ca?: null; key?: string }) => Promise<Answer>
}

const curl: Client = {
  skip: skipWithout('curl'),
  distrust: 60,
  post: async (body, { headers = {}, ca = caFile, key = installed.key } = {}) => {
    const file = join(scratch, 'body.json')
    writeFileSync(file, JSON.stringify(body))
    const fields = { ...headers, Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const { status, stdout } = await runProgram([
      ...['curl', '--silent', '--show-error', '--write-out', '\n%{http_code}', '--data-binary', `@${file}`, url],
      ...(ca === null ? [] : ['--cacert', ca]),
      ...Object.entries(fields).flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
    ])
    if (status !== 0) return { error: status ?? 'killed' }
    const end = stdout.lastIndexOf('\n')
    return { status: Number(stdout.slice(end)), body: JSON.parse(stdout.slice(0, end)) as Record<string, unknown> }
  },
}

const fetchClient = fileURLToPath(new URL('./support/fetch-client.js', import.meta.url))

const plainFetch: Client = {
  skip: false,
  distrust: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  post: async (body, { headers = {}, ca = caFile, key = installed.key } = {}) => {
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: ca ?? '' }
    const child = spawn('env', plainNode(fetchClient), { env })
    child.stdin.end(JSON.stringify({ url, key, headers, body }))
    return JSON.parse((await waitForExit(child)).stdout) as Answer
  },
}

async function waitForArrival(recipient: string): Promise<SinkMessage> {
  const found = (): SinkMessage | undefined =>
    sink.messages.find(({ rcptTo }) => rcptTo[0]?.startsWith(`<${recipient}>`))
  await sink.waitUntil(() => found() !== undefined)
  return found() as SinkMessage
}

const fileOf = ({ filename, contentType, content, cid, related }: Attachment): object => ({
  filename,
  contentType,
  same: [allBytes, note, picture].findIndex((expected) => expected.equals(content)),
  cid,
  related,
})

async function expectComplete(t: Test, to: string): Promise<void> {
  const { raw, rcptTo } = await waitForArrival(to)
  t.equal(stripOurFields(raw).protocol, 'HTTPS')
  t.equal(rcptTo.length, 1)
  const mail = await simpleParser(raw, { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true })
  t.strictSame(mail.from?.value, [{ address: 'app@sender.test', name: 'Grüße' }])
  t.equal(mail.subject, subject)
  t.equal(mail.text, text)
  t.equal(withoutPixel(mail.html), html)
  t.match(mail.messageId, /^<[\w-]+@/)
  const byName = mail.attachments.map(fileOf)
  t.match(
    byName.find((file) => 'filename' in file && file.filename === 'logo.png'),
    {
      contentType: 'image/png',
      same: 2,
      cid: 'logo',
      related: true,
    },
  )
  t.match(
    byName.filter((file) => 'filename' in file && file.filename !== 'logo.png'),
    [
      { filename: 'Übersicht.bin', contentType: 'application/octet-stream', same: 0 },
      { filename: 'note.txt', contentType: 'text/plain', same: 1 },
    ],
  )
  t.equal(mail.attachments.length, 3)
}

for (const [name, { skip, distrust, post }] of Object.entries({ curl, fetch: plainFetch })) {
  t.test(`${name} sends both forms of a request, with attachments and an image inside`, { skip }, async (t) => {
    for (const [form, bodyFor] of Object.entries(forms)) {
      const to = `${name}-${form}@sink.test`
      const { status, body } = await post(bodyFor(to))
      if (status !== 201) throw new Error(JSON.stringify(body))
      t.match(body, { id: /^[0-9a-f-]{36}$/, to: [to], created_at: /^\d{4}-.*Z$/ })
      await expectComplete(t, to)
    }
  })

  t.test(`${name} may repeat a request under its key, and it is one email`, { skip }, async (t) => {
    const to = `${name}-once@sink.test`
    const headers = { 'Idempotency-Key': to }
    const email = { from: 'app@sender.test', to, subject, text }
    const first = await post(email, { headers })
    if (first.status !== 201) throw new Error(JSON.stringify(first))
    t.strictSame(await post(email, { headers }), first)
    t.match(await post({ ...email, text: 'other' }, { headers }), {
      status: 409,
      body: { error: { code: 'conflict' } },
    })
    await waitForArrival(to)
    t.equal(sink.messages.filter(({ rcptTo }) => rcptTo[0]?.includes(to)).length, 1)
  })

  t.test(`${name} gets the reason of a refusal`, { skip }, async (t) => {
    const email = { from: 'app@sender.test', to: 'nobody@sink.test', subject, text }
    t.match(await post(email, { key: 'ph_wrong' }), { status: 401, body: { error: { code: 'invalid_api_key' } } })
    const unverified = await post({ ...email, from: 'app@stranger.test' })
    t.match(unverified, { status: 400, body: { error: { code: 'invalid_from_address', message: /stranger\.test/ } } })
  })

  t.test(`${name} without the certificate does not get past the handshake`, { skip }, async (t) => {
    const email = { from: 'app@sender.test', to: 'nobody@sink.test', subject, text }
    t.strictSame(await post(email, { ca: null }), { error: distrust })
  })
}

/** The output of a program that was given an address, a key and a recipient. */
async function programSays(name: string, recipient: string): Promise<Readonly<Record<string, unknown>>> {
  const file = fileURLToPath(new URL(`./support/${name}.js`, import.meta.url))
  const mine = { BASE_URL: `https://localhost:${daemon.apiPort}`, API_KEY: installed.key, RECIPIENT: recipient }
  const child = spawn('env', plainNode(file), { env: { ...process.env, ...mine, NODE_EXTRA_CA_CERTS: caFile } })
  child.stdin.end()
  const { status, stdout, stderr } = await waitForExit(child)
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout) as Readonly<Record<string, unknown>>
}

t.test('a program written for html, to as a list, and tags works unchanged', async (t) => {
  const to = 'html-client@sink.test'
  t.match(await programSays('html-client', to), {
    email: { status: 'delivered', to: [to], html: /Welcome/, tags: [{ name: 'campaign', value: 'welcome' }] },
    list: { data: [{ to_emails: [to], subject: 'Welcome', status: 'delivered' }] },
  })
  const mail = await simpleParser((await waitForArrival(to)).raw, { skipTextToHtml: true, skipImageLinks: true })
  t.match(mail.html, '<h1>Welcome</h1>')
})

t.test('a program written for htmlbody, email_address and file_cache_key works unchanged', async (t) => {
  const to = 'htmlbody-client@sink.test'
  t.match(await programSays('htmlbody-client', to), {
    email: { status: 'delivered', to: [to], attachments: [{ filename: 'January.txt', content_type: /^text\/plain/ }] },
    list: { success: true, data: [{ to: [to], status: 'delivered' }], meta: { page: 1, page_size: 1 } },
  })
  const mail = await simpleParser((await waitForArrival(to)).raw, { skipTextToHtml: true, skipImageLinks: true })
  t.same(
    mail.attachments.map(({ filename, content, cid }) => [filename, content.toString(), cid]).sort(),
    [
      ['January.txt', 'You owe us nothing.', undefined],
      ['logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'logo'],
    ].sort(),
  )
})

t.test('nothing else arrived, and the daemon logged no error', async (t) => {
  t.notOk(sink.messages.some(({ rcptTo }) => rcptTo[0]?.includes('nobody')))
  t.strictSame(
    daemon.log.filter(({ level, msg }) => Number(level) >= 40 && msg !== 'a login failed'),
    [],
  )
})

t.test(
  'python3-dkim verifies all messages',
  { skip: skipWithoutModule([python, '-c', 'import dkim'], 'python3-dkim') },
  async (t) => {
    const questions = sink.messages.map(({ raw }) =>
      JSON.stringify({ raw: raw.toString('base64'), record: installed.dkimRecord }),
    )
    const script = join('test', 'fixtures', 'dkim-verify.py')
    const { stdout } = await runProgram([python, script], `${questions.join('\n')}\n`)
    t.ok(questions.length >= 3, `${questions.length} messages`)
    t.equal(stdout, 'true\n'.repeat(questions.length))
  },
)
