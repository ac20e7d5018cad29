/** The audit log of people: with names, for owner and admins of the workspace alone. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { addMember } from '../../../helpers/ui/add-member.js'

interface NamedActs {
  readonly data: readonly {
    readonly actor: string
    readonly action: string
    readonly target: string
    readonly details: Readonly<Record<string, unknown>>
  }[]
  readonly next_cursor: string | null
  readonly names: Readonly<Record<string, string>>
}

t.test('acts have the names of people, keys, webhooks and invitations, and no secret of a URL', async (t) => {
  const app = await testDaemon(t, { settings: { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } } })
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const key = (await browser.ask('POST', '/v1/api-keys', { body: { name: 'shop' } })).json<{
    id: string
    key: string
  }>()
  const hook = { url: 'http://127.0.0.1:8080/secret-path', events: ['email.queued'] }
  const { id: hookId } = (await app.rest('POST', '/v1/webhooks', { key: key.key, body: hook })).json<{ id: string }>()
  await browser.ask('DELETE', `/v1/api-keys/${key.id}`)
  const invitation = { email: 'bob@b.test', role: 'member', workspaceId: app.workspaceId }
  const { data } = (await browser.ask('POST', '/v1/members', { body: invitation })).json<{ data: { id: string } }>()
  await browser.ask('DELETE', `/v1/invitations/${data.id}?workspaceId=${app.workspaceId}`)

  const path = '/audit-log'
  const answer = await browser.ask('GET', path)
  t.equal(answer.status, 200, answer.text)
  t.notMatch(answer.text, /secret-path/)
  const page = answer.json<NamedActs>()
  t.match(
    page.data.map(({ action }) => action),
    ['invitation.cancelled', 'member.invited', 'api_key.revoked', 'webhook.created', 'api_key.created'],
  )
  t.equal(page.names[page.data[0]?.actor ?? ''], 'owner@a.test')
  t.match(page.names, { [key.id]: 'shop', [hookId]: 'http://127.0.0.1:8080', [data.id]: 'bob@b.test' })
  t.equal(page.data.find(({ action }) => action === 'webhook.created')?.details['by_key'], key.id)

  const first = (await browser.ask('GET', `${path}?limit=2`)).json<NamedActs>()
  const second = (await browser.ask('GET', `${path}?limit=2&cursor=${first.next_cursor}`)).json<NamedActs>()
  t.same([...first.data, ...second.data], page.data.slice(0, 4), 'pages follow each other')
  t.equal((await browser.ask('GET', `${path}?limit=0`)).status, 400)
})

t.test('members and other workspaces do not see it, and a removed admin sees it no more', async (t) => {
  const app = await testDaemon(t)
  await addMember(app, 'admin@a.test', 'admin')
  await givePassword(app, 'admin@a.test')
  const browser = openBrowser(app)
  await browser.signIn('admin@a.test')
  const ask = async (workspaceId: string): Promise<number> => {
    browser.workspaceId = workspaceId
    return (await browser.ask('GET', '/audit-log')).status
  }
  t.equal(await ask(app.workspaceId), 200)
  t.equal(await ask(app.otherWorkspaceId), 403)
  t.equal(await ask("x'; drop table members"), 403)
  const ofUser = `user_id = (select id from users where email = 'admin@a.test')`
  const { commit } = app.daemon.database
  await commit([{ sql: `update members set role = 'member' where ${ofUser}`, parameters: [] }])
  t.equal(await ask(app.workspaceId), 403, 'a member')
  await commit([{ sql: `delete from members where ${ofUser}`, parameters: [] }])
  t.equal(await ask(app.workspaceId), 403, 'removed')
  await browser.ask('DELETE', '/session')
  t.equal(await ask(app.workspaceId), 401)
  t.same(app.errors, [])
})
