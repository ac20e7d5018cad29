/**
 * Rights that end while the body of a request is still arriving: nothing of it counts. The server asks for the body
 * (100 Continue) once it has let the request in, so each right ends between the two checks.
 */
import t, { type Test } from 'tap'
import { insertMember, removeMember, setRole } from '../../src/workspaces/accounts/people/members.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { multipart, multipartType } from '../helpers/http/multipart.js'
import { openWire } from '../helpers/http/wire.js'
import { addMember } from '../helpers/ui/add-member.js'

const ADMIN = 'ann@b.test'

interface World {
  readonly app: TestDaemon
  readonly cookie: string
  readonly memberId: string
  readonly userId: string
  readonly audienceId: string
}

async function openWorld(t: Test): Promise<World> {
  const app = await testDaemon(t)
  await addMember(app, ADMIN, 'admin')
  await givePassword(app, ADMIN)
  const browser = openBrowser(app)
  t.equal((await browser.signIn(ADMIN)).status, 201)
  const { cookie } = browser
  const sql = 'select m.id, m.user_id from members m join users u on u.id = m.user_id where u.email = ?'
  const [{ id: memberId = '', user_id: userId = '' } = {}] = await app.rows<{ id: string; user_id: string }>(sql, ADMIN)
  const made = await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })
  return { app, cookie, memberId, userId, audienceId: made.json<{ id: string }>().id }
}

interface SplitRequest {
  readonly method: string
  readonly path: string
  readonly body: Buffer
  readonly type: string
}

/** Sends the head; `act`s when the body is asked for, with half of it sent; then the rest. Returns the answer. */
async function sendInHalves(
  t: Test,
  { app, cookie }: World,
  request: SplitRequest,
  act: () => Promise<void>,
): Promise<string> {
  const endpoint = app.daemon.api.find(({ kind }) => kind === 'tls')
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no REST listener')
  const wire = await openWire(t, { port: endpoint.port, ca: app.daemon.tls.cert })
  const { method, path, body, type } = request
  const head = [
    `${method} /ui/api${path} HTTP/1.1`,
    'Host: localhost',
    `Cookie: ${cookie}`,
    `X-Workspace-Id: ${app.workspaceId}`,
    'Sec-Fetch-Site: same-origin',
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
    'Expect: 100-continue',
  ]
  wire.send(`${head.join('\r\n')}\r\n\r\n`)
  t.equal((await wire.answer()).status, 100, 'the request is let in')
  const half = Math.floor(body.length / 2)
  wire.send(body.subarray(0, half))
  await act()
  wire.send(body.subarray(half))
  const answer = await wire.answer()
  const { error } = JSON.parse(answer.body) as { readonly error?: { readonly code: string } }
  return `${answer.status} ${error?.code ?? ''}`.trim()
}

const json = (value: unknown): Pick<SplitRequest, 'body' | 'type'> => ({
  body: Buffer.from(JSON.stringify(value)),
  type: 'application/json',
})

/** One of each kind of route that takes a body: of the API, for pages in a workspace, for the user, and an upload. */
function listRequests({ audienceId }: World): readonly SplitRequest[] {
  return [
    { method: 'POST', path: '/v1/api-keys', ...json({ name: 'late' }) },
    { method: 'POST', path: '/v1/webhooks', ...json({ url: 'https://late.example/', events: ['email.sent'] }) },
    { method: 'POST', path: '/template-previews', ...json({ subject: 'late' }) },
    { method: 'PATCH', path: '/profile', ...json({ full_name: 'late' }) },
    {
      method: 'POST',
      path: `/v1/audiences/${audienceId}/import`,
      body: multipart('email\nlate@b.test\n', { type: 'text/csv', filename: 'list.csv' }),
      type: multipartType['content-type'],
    },
  ]
}

/** What the requests would have left behind. */
const changes = [
  `select 1 from api_keys where name = 'late'`,
  'select 1 from webhooks',
  `select 1 from users where full_name = 'late'`,
  'select 1 from contacts where audience_id is not null',
]

async function expectNothing(t: Test, { app }: World): Promise<void> {
  for (const sql of changes) t.same(await app.rows(sql), [], sql)
  t.same(app.errors, [])
}

t.test('without an end of rights each request is accepted', async (t) => {
  const world = await openWorld(t)
  for (const request of listRequests(world)) {
    const answer = await sendInHalves(t, world, request, async () => undefined)
    t.match(answer, /^20\d$/, request.path)
  }
  for (const sql of changes) t.equal((await world.app.rows(sql)).length, 1, sql)
})

t.test('a session that ends while a body arrives changes nothing', async (t) => {
  const world = await openWorld(t)
  for (const request of listRequests(world)) {
    const browser = openBrowser(world.app)
    await browser.signIn(ADMIN)
    const { cookie } = browser
    const end = async (): Promise<void> => {
      t.equal((await browser.ask('DELETE', '/session')).status, 204)
    }
    const answer = await sendInHalves(t, { ...world, cookie }, request, end)
    t.equal(answer, '401 authentication_required', request.path)
  }
  await expectNothing(t, world)
})

t.test('a role that is lowered while a body arrives counts', async (t) => {
  const world = await openWorld(t)
  const { app, memberId } = world
  const change = (role: 'admin' | 'member') =>
    app.daemon.database.commit([setRole({ workspaceId: app.workspaceId, id: memberId, role })])
  for (const request of listRequests(world).slice(0, 2)) {
    const lower = async (): Promise<void> => void (await change('member'))
    t.equal(await sendInHalves(t, world, request, lower), '403 insufficient_permissions', request.path)
    await change('admin')
  }
  await expectNothing(t, world)
})

t.test('a membership that ends while a body arrives counts', async (t) => {
  const world = await openWorld(t)
  const { app, memberId: id, userId } = world
  const [key, , preview, , upload] = listRequests(world)
  const remove = async (): Promise<void> =>
    void (await app.daemon.database.commit(removeMember({ workspaceId: app.workspaceId, id, userId }, app.now())))
  for (const request of [key, preview, upload]) {
    if (request === undefined) throw new Error('no request')
    t.equal(await sendInHalves(t, world, request, remove), '403 insufficient_permissions', request.path)
    const member = { id, workspace_id: app.workspaceId, user_id: userId, role: 'admin', joined_at: app.now() } as const
    await app.daemon.database.commit([insertMember(member)])
  }
  await expectNothing(t, world)
})
