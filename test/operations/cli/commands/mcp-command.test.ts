/** `posthorn mcp` as a process of its own, against the daemon: the session, each tool, and how it finds the server. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { programFile } from '../../../helpers/cli/command-line.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { freePort } from '../../../helpers/free-port.js'
import { openPlainApi } from '../../../helpers/http/plain-api.js'
import { plainNode } from '../../../helpers/programs/plain-node.js'

interface ToolResult {
  readonly text: string
  readonly isError: boolean
}

interface Session {
  readonly send: (line: string) => void
  readonly ask: (method: string, params?: object) => Promise<Record<string, unknown>>
  readonly call: (name: string, given?: object) => Promise<ToolResult>
  /** Ends the input; resolves to the exit status and what was written to standard error. */
  readonly end: () => Promise<{ readonly status: number | null; readonly errors: string }>
}

function openSession(t: Test, argv: readonly string[], env: Readonly<Record<string, string>>): Session {
  const words = plainNode(programFile, 'mcp', ...argv)
  const child = spawn('env', words, { env: { PATH: process.env['PATH'] ?? '', ...env } })
  t.teardown(() => child.kill())
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += String(text)
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const exited = once(child, 'close')
  const send = (line: string): void => void child.stdin.write(`${line}\n`)
  let id = 0
  const ask: Session['ask'] = async (method, params) => {
    id += 1
    send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    const { value } = await lines.next()
    const answer = JSON.parse(String(value)) as Record<string, unknown>
    t.match(answer, { jsonrpc: '2.0', id })
    return answer
  }
  const call: Session['call'] = async (name, given = {}) => {
    const { result } = await ask('tools/call', { name, arguments: given })
    const { content, isError = false } = result as { content: [{ text: string }]; isError?: boolean }
    return { text: content[0].text, isError }
  }
  const end: Session['end'] = async () => {
    child.stdin.end()
    const [status] = (await exited) as [number | null]
    return { status, errors }
  }
  return { send, ask, call, end }
}

async function readTools({ ask }: Session): Promise<readonly string[]> {
  const { result } = await ask('tools/list')
  return (result as { readonly tools: readonly { readonly name: string }[] }).tools.map(({ name }) => name)
}

const settled = async (app: TestDaemon): Promise<string> => {
  const id = await app.submitAccepted({ to: ['bob@b.test'] })
  await app.waitUntilSettled(id)
  return id
}

t.test('an agent reads, and cannot change anything', async (t) => {
  const { app, host } = await openPlainApi(t)
  const id = await settled(app)
  const session = openSession(t, [], { POSTHORN_URL: `http://${host}`, POSTHORN_API_KEY: app.key })
  t.match(await session.ask('initialize', { protocolVersion: '2025-03-26' }), {
    result: { protocolVersion: '2025-03-26' },
  })
  session.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  session.send('')
  t.same(await readTools(session), [
    ...['list_emails', 'get_email', 'explain_email', 'list_events'],
    ...['list_suppressions', 'list_domains', 'get_stats', 'list_templates'],
  ])
  t.match(await session.ask('tools/call', { name: 'send_email', arguments: {} }), { error: { code: -32602 } })
  t.match(JSON.parse((await session.call('list_emails', { limit: 5 })).text), { data: [{ id, status: 'delivered' }] })
  const { text } = await session.call('get_email', { id })
  t.match(JSON.parse(text), { id, subject: 'hello', text: /a line/, recipients: [{ attempt_log: [{ number: 1 }] }] })
  t.notMatch(text, '"html"')
  t.match(JSON.parse((await session.call('get_email', { id, include_html: true })).text), { html: null })
  t.match(
    (await session.call('explain_email', { id })).text,
    / to bob@b\.test: delivered\n[\s\S]*Attempt 1: delivered\n.*\n.*250/,
  )
  t.match(JSON.parse((await session.call('list_events', { type: 'email.delivered' })).text), {
    data: [{ email_id: id }],
  })
  t.match(JSON.parse((await session.call('list_domains')).text), { data: [{ domain: 'a.test' }] })
  t.match(JSON.parse((await session.call('get_stats', { days: 2 })).text), { summary: { total: 1 } })
  for (const name of ['list_suppressions', 'list_templates']) {
    t.same(JSON.parse((await session.call(name)).text).data, [], name)
  }
  const gone = await session.call('explain_email', { id: '01a1ff35-3880-7ef5-bbba-0d7e1de2529c' })
  t.match(gone, { isError: true, text: /^the server refused this with 404 email_not_found: / })
  t.same(await session.end(), { status: 0, errors: '' })
})

t.test('with changes allowed it sends once, suppresses and verifies, as far as the key may', async (t) => {
  const { app, host } = await openPlainApi(t)
  const env = { POSTHORN_API_KEY: app.key }
  const session = openSession(t, ['--allow-changes', '--url', `http://${host}/`, '--json'], env)
  t.equal((await readTools(session)).length, 11)
  const email = { from: 'app@a.test', to: ['bob@b.test'], subject: 'hello', text: 'a line', idempotency_key: 'k1' }
  const first = JSON.parse((await session.call('send_email', email)).text) as { readonly id: string }
  t.equal(JSON.parse((await session.call('send_email', email)).text).id, first.id)
  await app.waitUntilSettled(first.id)
  t.match(JSON.parse((await session.call('add_suppression', { email: 'carol@b.test' })).text), { reason: 'manual' })
  const { text, isError } = await session.call('send_email', { ...email, to: 'carol@b.test', idempotency_key: 'k2' })
  t.match({ text, isError }, { isError: true, text: /422 all_recipients_suppressed: [\s\S]*details: .*carol@b\.test/ })
  const [domain] = await app.rows<{ id: string }>("select id from domains where domain = 'a.test'")
  t.match(await session.call('verify_domain', { id: domain?.id }), { isError: true, text: /verification_failed/ })
  const sent = await session.call('send_email', { ...email, text: 'ü'.repeat(60_000), idempotency_key: 'k3' })
  const long = await session.call('get_email', { id: (JSON.parse(sent.text) as { readonly id: string }).id })
  t.ok(Buffer.byteLength(long.text) < 50_200)
  t.match(long.text, /\nThis answer was cut after \d+ of \d+ bytes\./)
  t.notMatch(long.text, /\uFFFD/, 'no character is divided')
  t.same(await session.end(), { status: 0, errors: '' })
  const made = await app.rest('POST', '/v1/api-keys', { body: { name: 'agent', scopes: ['read'] } })
  const { key } = JSON.parse(made.text) as { readonly key: string }
  const reader = openSession(t, ['--allow-changes', '--url', `http://${host}`], { POSTHORN_API_KEY: key })
  t.match(await reader.call('send_email', email), { isError: true, text: /403 insufficient_permissions/ })
})

t.test('beside the daemon it finds the listener of the configuration, and trusts its certificate', async (t) => {
  const port = await freePort()
  const app = await testDaemon(t, { settings: { api: { listen: [`127.0.0.1:${port}`] } } })
  const keyFile = join(app.folder, 'key')
  writeFileSync(keyFile, `${app.key}\n`)
  const session = openSession(t, ['--config', app.configFile, '--key-file', keyFile], {})
  t.match(JSON.parse((await session.call('list_domains')).text), { data: [{ domain: 'a.test' }] })
  session.send('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"get_stats","arguments":{}}}')
  t.same(await session.end(), { status: 0, errors: '' }, 'a call is answered before it ends')
})

t.test('without a key, or with a wrong URL, it says what to do', async (t) => {
  const app = await testDaemon(t)
  const refused = async (argv: readonly string[], env = {}): Promise<string> => {
    const { status, errors } = await openSession(t, ['--config', app.configFile, ...argv], env).end()
    t.equal(status, 1)
    return errors
  }
  t.match(await refused([]), /there is no API key: set POSTHORN_API_KEY, or name a file/)
  t.match(await refused(['--url', 'ftp://x'], { POSTHORN_API_KEY: 'ph_x' }), /the URL "ftp:\/\/x" needs an address/)
  t.match(await refused(['--url', 'http://192.0.2.7'], { POSTHORN_API_KEY: 'ph_x' }), /without encryption: use https/)
  t.notMatch(await refused(['--url', 'https://u:secret@x.test'], { POSTHORN_API_KEY: 'ph_x' }), /secret/)
  t.match(await refused([], { POSTHORN_API_KEY: 'ph x' }), /has characters that no key has/)
})
