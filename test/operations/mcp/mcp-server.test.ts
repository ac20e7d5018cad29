/** What the server of the Model Context Protocol answers to single lines; `mcp-command.test.ts` has the tools. */
import t, { type Test } from 'tap'
import { createHttpClient } from '../../../src/base/platform/http/http-client.js'
import { version } from '../../../src/base/platform/version.js'
import { ApiAccess } from '../../../src/operations/mcp/api-access.js'
import { changingTools } from '../../../src/operations/mcp/changing-tools.js'
import { McpServer } from '../../../src/operations/mcp/mcp-server.js'
import { readingTools } from '../../../src/operations/mcp/reading-tools.js'

type Ask = (message: unknown) => Promise<unknown>

async function openServer(t: Test, tools = readingTools): Promise<{ readonly ask: Ask; readonly say: Ask }> {
  const http = await createHttpClient({ maxConnections: 1, maxBodyBytes: 1_000, maxDroppedBytes: 0 })
  t.teardown(() => http.close())
  // Port 9 has no server.
  const api = new ApiAccess(http, { url: new URL('http://127.0.0.1:9'), addresses: null, key: 'ph_x' })
  const server = new McpServer(api, tools)
  const say = async (line: unknown): Promise<unknown> => {
    const answer = await server.answer(line === null ? null : String(line))
    return answer === null ? null : (JSON.parse(answer) as unknown)
  }
  return { say, ask: (message) => say(JSON.stringify(message)) }
}

const request = (method: string, params?: unknown, id: unknown = 1): object => ({
  ...{ jsonrpc: '2.0', id, method },
  ...(params === undefined ? {} : { params }),
})

t.test('the version of the protocol is negotiated', async (t) => {
  const { ask } = await openServer(t)
  for (const protocolVersion of ['2025-06-18', '2025-03-26', '2024-11-05']) {
    const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'posthorn', version } }
    t.match(await ask(request('initialize', { protocolVersion })), { jsonrpc: '2.0', id: 1, result })
  }
  for (const params of [{ protocolVersion: '2099-01-01' }, { protocolVersion: 7 }, {}, undefined]) {
    t.match(await ask(request('initialize', params)), { result: { protocolVersion: '2025-06-18' } })
  }
  t.equal(await ask({ jsonrpc: '2.0', method: 'notifications/initialized' }), null)
  t.same(await ask(request('ping', undefined, 'p-1')), { jsonrpc: '2.0', id: 'p-1', result: {} })
})

t.test('each tool has a schema and says whether it changes something', async (t) => {
  const { ask } = await openServer(t, [...readingTools, ...changingTools])
  const { result } = (await ask(request('tools/list'))) as {
    readonly result: { readonly tools: readonly { readonly name: string }[] }
  }
  t.equal(result.tools.length, 11)
  for (const tool of result.tools) {
    t.match(tool, {
      name: /^[a-z_]+$/,
      description: /\.$/,
      inputSchema: { type: 'object', additionalProperties: false },
    })
  }
  const find = (name: string): unknown => result.tools.find((tool) => tool.name === name)
  t.match(find('send_email'), { annotations: { readOnlyHint: false }, inputSchema: { required: ['from', 'to'] } })
  t.match(find('get_email'), { annotations: { readOnlyHint: true }, inputSchema: { required: ['id'] } })
})

t.test('a malformed message is answered with an error of JSON-RPC', async (t) => {
  const { say, ask } = await openServer(t)
  const refused = (code: number, id: unknown = null): object => ({ jsonrpc: '2.0', id, error: { code } })
  for (const line of ['{', 'hello', '{"jsonrpc":"2.0","id":1,"method":"ping"', `${'['.repeat(200_000)}`, null]) {
    t.match(await say(line), refused(-32700), String(line).slice(0, 50))
  }
  for (const value of [
    1,
    'text',
    null,
    true,
    {},
    [],
    [request('ping')],
    { id: 4 },
    { jsonrpc: '1.0', method: 'ping' },
  ]) {
    t.match(await ask(value), { error: { code: -32600 } }, JSON.stringify(value))
  }
  t.match(await ask({ jsonrpc: '2.0', id: 5, method: 7 }), refused(-32600, 5))
  t.match(await ask({ jsonrpc: '2.0', id: { a: 1 }, method: 'ping' }), refused(-32600))
  t.match(await ask(request('tools/list', ['a'])), refused(-32602, 1))
  t.match(await ask(request('tools/call', { name: 'rm' })), refused(-32602, 1))
  t.match(await ask(request('tools/call', { name: '__proto__' })), refused(-32602, 1))
  t.match(await ask(request('resources/list')), refused(-32601, 1))
  t.match(await ask(request('constructor')), refused(-32601, 1))
  for (const line of ['', '  ', '\r']) t.equal(await say(line), null, 'an empty line')
  t.equal(await ask({ jsonrpc: '2.0', id: 1, result: {} }), null, 'an answer')
  t.equal(await ask({ jsonrpc: '2.0', method: 'tools/call', params: { name: 'rm' } }), null, 'a notification')
})

t.test('several messages come as a list in the version that has them', async (t) => {
  const { ask } = await openServer(t)
  await ask(request('initialize', { protocolVersion: '2025-03-26' }))
  const list = [request('ping'), { jsonrpc: '2.0', method: 'notifications/initialized' }, 7]
  t.match(await ask(list), [
    { id: 1, result: {} },
    { id: null, error: { code: -32600 } },
  ])
  t.equal(await ask([{ jsonrpc: '2.0', method: 'notifications/initialized' }]), null)
  t.match(await ask([]), { error: { code: -32600 } })
  t.match(await ask(Array.from({ length: 101 }, () => request('ping'))), { error: { code: -32600 } })
})

t.test('what a tool cannot do is a result that the model sees', async (t) => {
  const { ask } = await openServer(t, [...readingTools, ...changingTools])
  const call = (name: string, given?: unknown): Promise<unknown> =>
    ask(request('tools/call', given === undefined ? { name } : { name, arguments: given }))
  const refused = (text: RegExp): object => ({ result: { isError: true, content: [{ type: 'text', text }] } })
  t.match(await call('get_email'), refused(/^id: /))
  t.match(await call('get_email', { id: '../domains' }), refused(/^id: must be the id of an email$/))
  t.match(await call('list_emails', { limit: 1000, colour: 'red' }), refused(/^limit: .*\n.*colour/))
  t.match(await call('list_emails', 'text'), refused(/^arguments: /))
  t.match(await call('send_email', { from: 'a@b.test', to: 7 }), refused(/^to: must be an address or a list/))
  t.match(await call('list_emails'), refused(/^http:\/\/127\.0\.0\.1:9 gives no answer: /))
})
